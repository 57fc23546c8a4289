// The time of commits.

#pragma once

#include <chrono>
#include <cstdint>

namespace petalite::store {

// Microseconds since 1970.
inline int64_t NowMicros() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace petalite::store
