// The section "checksums" of a Petalite file: a CRC-32C of every structure that Parquet itself does
// not checksum (page headers, filters, indexes; the pages' bytes carry Parquet's own CRC-32).
//
//   "PCS1"
//   for each row group, for each column:
//     u32  filter: its header and bits; 0 without a filter
//     u32  column index; 0 without one
//     u32  offset index
//     u32  header of the dictionary page; 0 without one
//     u32  count of data pages
//     u32  header of each data page, in order
//
// Little-endian, without padding; nothing follows. Whether a structure is there, the footer says.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace petalite::parquet {

inline constexpr std::string_view kChecksumsSection = "checksums";
// AddSection puts "petalite.<name>" into the footer's key-value metadata.
inline constexpr std::string_view kSectionKeyPrefix = "petalite.";

struct ChunkChecksums {
  uint32_t filter = 0;
  uint32_t column_index = 0;
  uint32_t offset_index = 0;
  uint32_t dictionary_header = 0;
  std::vector<uint32_t> page_headers;

  bool operator==(const ChunkChecksums&) const = default;
};

// Of all chunks: columns of the first row group, then of the second, and so on.
using FileChecksums = std::vector<ChunkChecksums>;

ByteBuffer SerializeChecksums(const FileChecksums& checksums);
// Expects exactly `chunks` (row groups × columns); kCorruption for anything else. What it allocates
// is bounded by the size of `bytes`.
Result<FileChecksums> ParseChecksums(Bytes bytes, size_t chunks);

}  // namespace petalite::parquet
