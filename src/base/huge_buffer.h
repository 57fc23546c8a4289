// Memory for large tables that are read at random: zeroed, of a fixed size, never straddling cache
// lines at its start, and from kHugePageSize upward on huge pages where the system grants them. A
// probe of a filter of 1 GiB takes half again as long on small pages, because each one misses the
// translation buffer too.

#pragma once

#include <cstddef>
#include <utility>

#include "base/bytes.h"

namespace petalite {

class HugeBuffer {
 public:
  static constexpr size_t kHugePageSize = size_t{2} << 20;
  static constexpr size_t kCacheLine = 64;

  HugeBuffer() = default;
  explicit HugeBuffer(size_t size);
  ~HugeBuffer();
  HugeBuffer(HugeBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  HugeBuffer& operator=(HugeBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  Bytes bytes() const { return {data_, size_}; }
  MutableBytes bytes() { return {data_, size_}; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace petalite
