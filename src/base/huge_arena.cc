#include "base/huge_arena.h"

#include <algorithm>

namespace petalite {

uint8_t* HugeArena::Allocate(size_t bytes) {
  bytes = (bytes + HugeBuffer::kCacheLine - 1) / HugeBuffer::kCacheLine * HugeBuffer::kCacheLine;
  if (bytes > left_) {
    // The first pieces come as they are wanted, so that what stays small takes little.
    left_ = bytes_ < HugeBuffer::kHugePageSize ? bytes : std::max(bytes, HugeBuffer::kHugePageSize);
    next_ = slabs_.emplace_back(left_).data();
    bytes_ += left_;
  }
  uint8_t* const piece = next_;
  next_ += bytes;
  left_ -= bytes;
  return piece;
}

}  // namespace petalite
