#include "base/huge_buffer.h"

#include <cstring>
#include <new>

#include <sys/mman.h>

namespace petalite {
namespace {

std::align_val_t AlignmentFor(size_t size) {
  return std::align_val_t{size >= HugeBuffer::kHugePageSize ? HugeBuffer::kHugePageSize : HugeBuffer::kCacheLine};
}

}  // namespace

HugeBuffer::HugeBuffer(size_t size) : size_(size) {
  if (size == 0) return;
  data_ = static_cast<uint8_t*>(::operator new(size, AlignmentFor(size)));
  // Before the first touch, which decides the kind of page. A refusal leaves small pages, which work.
  if (size >= kHugePageSize) (void)::madvise(data_, size, MADV_HUGEPAGE);
  std::memset(data_, 0, size);
}

HugeBuffer::~HugeBuffer() {
  if (data_ != nullptr) ::operator delete(data_, AlignmentFor(size_));
}

}  // namespace petalite
