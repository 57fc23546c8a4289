// XXH64 with seed 0, the hash of Parquet's Bloom filters and of Petalite's keys (xxhash, BSD
// licence; its 64-bit variant is frozen), inlined because values of 4 and 8 bytes are hashed by the
// hundred million.

#pragma once

#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"

namespace petalite {

inline uint64_t Xxh64(const void* data, size_t size) { return XXH64(data, size, 0); }
inline uint64_t Xxh64(Bytes bytes) { return XXH64(bytes.data(), bytes.size(), 0); }
inline uint64_t Xxh64(std::string_view text) { return XXH64(text.data(), text.size(), 0); }

// Spreads a hash whose bits somebody else uses too (murmur3's finalizer).
inline uint64_t Remix(uint64_t hash) {
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdull;
  hash ^= hash >> 33;
  hash *= 0xc4ceb9fe1a85ec53ull;
  return hash ^ (hash >> 33);
}

}  // namespace petalite
