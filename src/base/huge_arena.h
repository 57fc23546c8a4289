// Memory that is handed out piece by piece and given back all at once: on huge pages, and straight to the system, where
// there is much of it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/huge_buffer.h"

namespace petalite {

// Not thread-safe; what it has handed out is anybody's.
class HugeArena {
 public:
  // At a cache line's start. Its contents are unspecified.
  uint8_t* Allocate(size_t bytes);
  // Of all that the system gave.
  size_t memory_bytes() const { return bytes_; }

 private:
  std::vector<HugeBuffer> slabs_;
  size_t bytes_ = 0;
  uint8_t* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace petalite
