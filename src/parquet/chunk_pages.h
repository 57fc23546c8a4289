// Where the pages of a column chunk are.

#pragma once

#include <span>
#include <vector>

#include "base/file_system.h"
#include "parquet/checksums.h"
#include "parquet/metadata.h"
#include "parquet/reader.h"
#include "parquet/zones.h"

namespace petalite::parquet {

// What is known of a chunk before its pages are.
struct ChunkSource {
  const RandomFile& file;
  uint64_t file_size;
  const LeafColumn& leaf;
  const ColumnMetadata& chunk;
  uint64_t rows;
  const ChunkChecksums* checksums;  // null where the file has none
};

// Locations and rows, from the offset index if it is consistent, otherwise from the page headers.
Result<ChunkPages> LocatePages(const ChunkSource& source);

// What the column index says of the pages; empty if there is none that can be trusted.
Result<std::vector<ZoneMap>> ReadPageZones(const ChunkSource& source, BoundsTrust trust,
                                           std::span<const uint32_t> rows);

// The bytes in front of the first data page, where a dictionary page may be; size 0 if there are
// none.
struct FileRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};
FileRange DictionaryRange(const ColumnMetadata& chunk, const ChunkPages& pages);

}  // namespace petalite::parquet
