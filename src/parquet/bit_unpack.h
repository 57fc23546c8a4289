// Unpacking of integers of a fixed number of bits, least significant bit first, as Parquet's hybrid
// and delta encodings pack them.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace petalite::parquet {

// Unpacks `count` values of `width` bits (0…32, 0…64). Reads nothing beyond `in`: bits that are
// not there are zero, which is what the padding of a last group may leave out.
void BitUnpack(Bytes in, int width, size_t count, uint32_t* out);
void BitUnpack(Bytes in, int width, size_t count, uint64_t* out);

}  // namespace petalite::parquet
