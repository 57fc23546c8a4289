// Packs integers at a fixed bit width, least significant bit first, as Parquet's bit-packed runs and
// delta miniblocks have them (Encodings.md).

#pragma once

#include <cstddef>
#include <cstdint>

namespace petalite::parquet {

// Writes `count` values, each below 2^width (0…32), into ceil(count · width / 8) bytes.
void PackBits(const uint32_t* values, size_t count, int width, uint8_t* out);
// The same for width 0…64.
void PackBits(const uint64_t* values, size_t count, int width, uint8_t* out);

// The bits that `value` needs.
inline int BitWidth(uint64_t value) { return value == 0 ? 0 : 64 - __builtin_clzll(value); }

}  // namespace petalite::parquet
