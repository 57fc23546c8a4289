// Compression codecs of Parquet behind one interface, with the numbers and quirks of
// parquet-format's Compression.md.
//
// A Codec is immutable and may be used by any number of threads at once. Input and output never
// overlap.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace petalite {

// parquet-format's CompressionCodec, same numbers. kLzo is not supported and kLz4Hadoop (code 5) is
// only read.
enum class CodecId : uint8_t {
  kUncompressed = 0,
  kSnappy = 1,
  kGzip = 2,
  kLzo = 3,
  kBrotli = 4,
  kLz4Hadoop = 5,
  kZstd = 6,
  kLz4Raw = 7,
};

std::string_view CodecName(CodecId id);  // "LZ4_RAW", as parquet-format spells it

// A codec and its level as the option `codec` has them: uncompressed, lz4, snappy, zstd, zstd:-7 …
// zstd:22.
struct CodecSpec {
  CodecId id = CodecId::kLz4Raw;
  int level = 0;  // zstd only

  bool operator==(const CodecSpec&) const = default;
  std::string ToString() const;                           // what Parse reads back
  static Result<CodecSpec> Parse(std::string_view text);  // the error names the nearest codec, or the range of levels
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual CodecId id() const = 0;
  // Replaces `out` by the compressed form. Writes at most one frame or block, as the format wants
  // it.
  virtual Status Compress(Bytes in, ByteBuffer* out) const = 0;
  // Fills `out` exactly: the stream must hold out.size() bytes, no more and no fewer; kCorruption
  // otherwise. Safe on any input.
  virtual Status Decompress(Bytes in, MutableBytes out) const = 0;
};

// The codec that writes `spec`.
Result<std::shared_ptr<const Codec>> MakeCodec(const CodecSpec& spec);
// The codec that reads pages of `id`; kUnsupported for LZO and unknown numbers.
Result<const Codec*> DecoderFor(CodecId id);

}  // namespace petalite
