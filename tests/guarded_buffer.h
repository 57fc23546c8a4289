// Bytes that end where an inaccessible page begins: touching one too many ends the test.

#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/status.h"

namespace petalite {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t size) : size_(size) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t usable = (size + page - 1) / page * page;
    mapped_ = usable + page;
    void* const start = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(start != MAP_FAILED);
    start_ = static_cast<uint8_t*>(start);
    CHECK(::mprotect(start_ + usable, page, PROT_NONE) == 0);
    data_ = start_ + usable - size;
  }
  ~GuardedBuffer() { ::munmap(start_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  uint8_t* data() { return data_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  size_t mapped_;
  uint8_t* start_;
  uint8_t* data_;
};

}  // namespace petalite
