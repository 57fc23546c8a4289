#include "store/row_index.h"

#include "base/hash.h"

namespace petalite::store {
namespace {

constexpr int kFirstBits = 12;

// Three slots of four: beyond, runs of used slots become long.
size_t LimitFor(int bits) { return (size_t{3} << bits) / 4; }

}  // namespace

RowIndex::Slots::Slots(int bits)
    : shift(32 - bits),
      mask((size_t{1} << bits) - 1),
      memory((mask + 1) * sizeof(uint64_t)),
      data(reinterpret_cast<std::atomic<uint64_t>*>(memory.data())) {
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));  // zeroes are zeroes
}

RowIndex::RowIndex() : slots_(std::make_shared<Slots>(kFirstBits)), bits_(kFirstBits), limit_(LimitFor(kFirstBits)) {}

// The filter takes the hash as it is, so the index takes it remixed.
uint32_t RowIndex::TagOf(uint64_t hash) { return static_cast<uint32_t>(Remix(hash) >> 32); }

void RowIndex::Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_->data[slots_->Start(TagOf(hash))], 1); }

std::shared_ptr<const RowIndex::Slots> RowIndex::Current() const {
  const std::lock_guard lock(mutex_);
  return slots_;
}

// Readers that hold the old slots go on with them: what they miss came after what they may see.
void RowIndex::Grow() {
  auto grown = std::make_shared<Slots>(++bits_);
  for (size_t i = 0; i <= slots_->mask; ++i) {
    const uint64_t entry = slots_->data[i].load(std::memory_order_relaxed);
    if (entry == 0) continue;
    size_t at = grown->Start(static_cast<uint32_t>(entry >> 32));
    while (grown->data[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & grown->mask;
    grown->data[at].store(entry, std::memory_order_relaxed);
  }
  limit_ = LimitFor(bits_);
  const std::lock_guard lock(mutex_);
  slots_ = std::move(grown);
}

}  // namespace petalite::store
