// Loading a chunk's Bloom filter.

#pragma once

#include <memory>

#include "parquet/chunk_pages.h"
#include "parquet/reader.h"

namespace petalite::parquet {

// Null if the chunk has no filter, or one about which there is any doubt; fails only where the file
// cannot be read.
Result<std::shared_ptr<const ColumnFilter>> ReadFilter(const ChunkSource& source);

}  // namespace petalite::parquet
