#include "store/row_index.h"

#include <algorithm>

#include "base/hash.h"
#include "base/status.h"

namespace petalite::store {
namespace {

constexpr size_t kFirstSlots = 4096;
constexpr size_t kMostSlots = size_t{1} << 32;  // as many as tags

// Three slots of four: beyond, runs of used slots become long.
size_t LimitFor(size_t slots) { return slots / 4 * 3; }

// A table that has come to this part of what is expected is believed to go on, to a little more.
constexpr size_t kBelieved = 64;
size_t SlotsFor(size_t rows) { return (rows + rows / 16) / 3 * 4; }

}  // namespace

RowIndex::Slots::Slots(size_t size)
    : size(size), memory(size * sizeof(uint64_t)), data(reinterpret_cast<std::atomic<uint64_t>*>(memory.data())) {
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));  // zeroes are zeroes
}

RowIndex::RowIndex(size_t expected)
    : slots_(std::make_shared<Slots>(kFirstSlots)), expected_(expected), limit_(LimitFor(kFirstSlots)) {}

// The filter takes the hash as it is, so the index takes it remixed.
uint32_t RowIndex::TagOf(uint64_t hash) { return static_cast<uint32_t>(Remix(hash) >> 32); }

void RowIndex::Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_->data[slots_->Start(TagOf(hash))], 1); }

std::shared_ptr<const RowIndex::Slots> RowIndex::Current() const {
  const std::lock_guard lock(mutex_);
  return slots_;
}

// Readers that hold the old slots go on with them: what they miss came after what they may see.
void RowIndex::Grow() {
  const size_t size = slots_->size;
  const size_t wanted = SlotsFor(expected_);
  const bool is_believed = wanted > size && wanted / kBelieved <= size;
  auto grown = std::make_shared<Slots>(std::min(is_believed ? wanted : size + size / 2, kMostSlots));
  CHECK(grown->size > size);
  for (size_t i = 0; i < size; ++i) {
    const uint64_t entry = slots_->data[i].load(std::memory_order_relaxed);
    if (entry == 0) continue;
    size_t at = grown->Start(static_cast<uint32_t>(entry >> 32));
    while (grown->data[at].load(std::memory_order_relaxed) != 0) at = grown->Next(at);
    grown->data[at].store(entry, std::memory_order_relaxed);
  }
  limit_ = LimitFor(grown->size);
  const std::lock_guard lock(mutex_);
  slots_ = std::move(grown);
}

}  // namespace petalite::store
