#include "base/checksum.h"

#include <algorithm>

#include <isa-l/crc.h>

namespace petalite {

uint32_t Crc32(Bytes bytes, uint32_t seed) { return crc32_gzip_refl(seed, bytes.data(), bytes.size()); }

uint32_t Crc32c(Bytes bytes, uint32_t seed) {
  // isa-l leaves the customary inversions to its caller, takes an int length and does not write to
  // its input.
  uint32_t crc = ~seed;
  while (!bytes.empty()) {
    const Bytes part = bytes.first(std::min<size_t>(bytes.size(), 1u << 30));
    crc = crc32_iscsi(const_cast<uint8_t*>(part.data()), static_cast<int>(part.size()), crc);
    bytes = bytes.subspan(part.size());
  }
  return ~crc;
}

}  // namespace petalite
