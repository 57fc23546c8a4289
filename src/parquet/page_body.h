// What stands behind a page header: levels and encoded values, decompressed.

#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "codec/codec.h"
#include "parquet/metadata.h"

namespace petalite::parquet {

// More rows than any page holds in earnest: Arrow's largest row group. A run of nulls is a few bytes
// for any number of rows, so that only such a bound keeps a small file from asking for gigabytes.
inline constexpr int32_t kMaxPageRows = 1 << 26;

class PageBody {
 public:
  // `raw` is the page with its header, of `header_size` bytes, as it lies in the file. Fails with
  // kCorruption if sizes contradict each other.
  static Result<PageBody> Open(const PageHeader& header, ByteBuffer raw, size_t header_size, const Codec& codec,
                               bool optional);

  // Definition levels without a length prefix, in `level_encoding`; empty for required columns.
  Bytes levels() const { return levels_; }
  Encoding level_encoding() const { return level_encoding_; }
  Bytes values() const { return values_; }
  // The buffer in which values() lies: moving it moves no bytes. Drops the other one.
  ByteBuffer ReleaseValues() && { return decompressed_.empty() ? std::move(raw_) : std::move(decompressed_); }

 private:
  Status OpenV1(const PageHeader& header, Bytes stored, const Codec& codec, bool optional);
  Status OpenV2(const PageHeader& header, Bytes stored, const Codec& codec);
  Status SplitLevelsV1(const PageHeader& header, bool optional);
  // Sets values_.
  Status Decompress(Bytes stored, size_t size, const Codec& codec);

  ByteBuffer raw_;
  ByteBuffer decompressed_;  // empty where raw_ has the values
  Bytes levels_;
  Bytes values_;
  Encoding level_encoding_ = Encoding::kRle;
};

}  // namespace petalite::parquet
