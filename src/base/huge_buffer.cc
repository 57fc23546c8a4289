#include "base/huge_buffer.h"

#include <cstring>
#include <new>

#include <sys/mman.h>

namespace petalite {
namespace {

constexpr std::align_val_t kSmallAlignment{HugeBuffer::kCacheLine};

size_t MappedSize(size_t size) {
  return (size + HugeBuffer::kHugePageSize - 1) / HugeBuffer::kHugePageSize * HugeBuffer::kHugePageSize;
}

// From the system and not from the allocator, which would keep what is given back and fill it with zeroes itself.
uint8_t* Map(size_t size) {
  void* const mapped = ::mmap(nullptr, size + HugeBuffer::kHugePageSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<uint8_t*>(mapped);
  const size_t in_front = -reinterpret_cast<uintptr_t>(begin) % HugeBuffer::kHugePageSize;
  uint8_t* const data = begin + in_front;
  if (in_front != 0) (void)::munmap(begin, in_front);
  (void)::munmap(data + size, HugeBuffer::kHugePageSize - in_front);
  // Before the first touch, which decides the kind of page. A refusal leaves small pages, which work.
  (void)::madvise(data, size, MADV_HUGEPAGE);
  return data;
}

}  // namespace

HugeBuffer::HugeBuffer(size_t size) : size_(size) {
  if (size == 0) return;
  if (size >= kHugePageSize) {
    data_ = Map(MappedSize(size));
    return;
  }
  data_ = static_cast<uint8_t*>(::operator new(size, kSmallAlignment));
  std::memset(data_, 0, size);
}

HugeBuffer::~HugeBuffer() {
  if (data_ == nullptr) return;
  if (size_ >= kHugePageSize) {
    (void)::munmap(data_, MappedSize(size_));
  } else {
    ::operator delete(data_, kSmallAlignment);
  }
}

}  // namespace petalite
