// CRC-32 (gzip's polynomial, what Parquet's pages carry) and CRC-32C (Castagnoli, what Petalite's
// own structures carry), from isa-l, which picks the fastest road of the processor.

#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace petalite {

// `seed` is the checksum of the bytes before, 0 at the start.
uint32_t Crc32(Bytes bytes, uint32_t seed = 0);
uint32_t Crc32c(Bytes bytes, uint32_t seed = 0);

}  // namespace petalite
