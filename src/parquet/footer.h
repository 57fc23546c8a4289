// The end of a Parquet file: metadata, its length, the magic.

#pragma once

#include <optional>
#include <vector>

#include "base/file_system.h"
#include "parquet/metadata.h"
#include "parquet/schema_mapping.h"

namespace petalite::parquet {

struct Footer {
  FileMetadata metadata;
  std::vector<LeafColumn> leaves;
};

// Reads and checks it: every row group has a chunk for each leaf, of its physical type, and nothing
// is encrypted or in another file. Offsets within chunks are checked by who follows them.
// `expected_crc`: CRC-32C over the metadata, its length and the magic.
Result<Footer> ReadFooter(const RandomFile& file, uint64_t file_size, std::optional<uint32_t> expected_crc);

}  // namespace petalite::parquet
