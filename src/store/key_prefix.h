// The first eight bytes of an encoded key, as a number that orders like them: most comparisons end with it.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace petalite::store {

inline uint64_t KeyPrefix(std::string_view key) {
  uint64_t prefix = 0;
  std::memcpy(&prefix, key.data(), std::min<size_t>(sizeof prefix, key.size()));
  return __builtin_bswap64(prefix);
}

}  // namespace petalite::store
