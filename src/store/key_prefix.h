// The first eight bytes of an encoded key, as a number that orders like them: most comparisons end with it.

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace petalite::store {

inline uint64_t KeyPrefix(std::string_view key) {
  uint64_t prefix = 0;
  if (key.size() >= sizeof prefix) [[likely]] {
    std::memcpy(&prefix, key.data(), sizeof prefix);
  } else {
    std::memcpy(&prefix, key.data(), key.size());
  }
  return __builtin_bswap64(prefix);
}

}  // namespace petalite::store
