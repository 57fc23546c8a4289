// Decodes the pages of one column chunk: body, levels, encodings, conversion, nulls.

#pragma once

#include <memory>

#include "base/status.h"
#include "codec/codec.h"
#include "parquet/conversion.h"
#include "parquet/metadata.h"
#include "parquet/page.h"
#include "parquet/schema_mapping.h"

namespace petalite::parquet {

// Immutable; refers to the leaf and the codec, which must outlive it. Errors name the structure
// and, where there is one, the row; the caller adds file, column and offset.
class PageDecoder {
 public:
  // The leaf is supported.
  PageDecoder(const LeafColumn& leaf, const Codec& codec) : leaf_(leaf), codec_(codec), conversion_(leaf) {}

  // `raw` is the page with its header, of `header_size` bytes, as it lies in the file.
  Result<std::shared_ptr<const Dictionary>> DecodeDictionary(const PageHeader& header, ByteBuffer raw,
                                                             size_t header_size) const;
  // `first_row` is the page's, for messages. `dictionary` may be null.
  Result<std::shared_ptr<const DecodedPage>> DecodePage(const PageHeader& header, ByteBuffer raw, size_t header_size,
                                                        uint64_t first_row,
                                                        std::shared_ptr<const Dictionary> dictionary) const;

 private:
  // Fills the page's validity and null count; clears validity where no row is null.
  Status DecodeLevels(Bytes levels, Encoding encoding, DecodedPage* page) const;
  // Decodes `count` values that are not null to the front of `values`, in the type's layout.
  // Strings point into `in` or into `arena`. A value that the type cannot hold is reported through
  // `bad`, its position.
  Status DecodeValues(Encoding encoding, Bytes in, size_t count, ByteBuffer* values, ByteBuffer* arena,
                      size_t* bad) const;
  // The same, for each kind of physical type; `out` has room in the physical layout.
  Status DecodeBooleans(Encoding encoding, Bytes in, size_t count, uint8_t* out) const;
  Status DecodeFixed(Encoding encoding, Bytes in, size_t count, uint8_t* out) const;
  Status DecodeByteArrays(Encoding encoding, Bytes in, size_t count, StringRef* out, ByteBuffer* arena) const;

  Status DecodeFlat(Encoding encoding, Bytes in, uint64_t first_row, DecodedPage* page) const;
  Status DecodeIndices(Bytes in, std::shared_ptr<const Dictionary> dictionary, DecodedPage* page) const;

  const LeafColumn& leaf_;
  const Codec& codec_;
  Conversion conversion_;
};

}  // namespace petalite::parquet
