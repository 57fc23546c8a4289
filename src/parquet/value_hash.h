// XXH64 of the values in a column buffer: the hash that column filters hold. It is computed once per
// value, or per entry of a dictionary, and serves the filter and the distinct count.

#pragma once

#include <cstdint>

#include "parquet/column_buffer.h"

namespace petalite::parquet {

// Writes the hashes of the values [begin, end) to out[0 …].
void HashValues(const ColumnBuffer& buffer, size_t begin, size_t end, uint64_t* out);

}  // namespace petalite::parquet
