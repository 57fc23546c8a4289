// Which row of a memrowset holds a key: a hash index from 32 bits of the key's hash to the newest row with that key.
// One writer at a time; readers look up while it grows and never wait for it. No library that Debian serves has a
// table with one writer and lock-free readers (docs/architecture.md), hence our own.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "base/huge_buffer.h"

namespace petalite::store {

inline constexpr uint32_t kNoRow = UINT32_MAX;

// Linear probing over slots of 8 bytes, as many as are needed and no power of two: the upper half the hash's tag, the
// lower the row + 1; 0 is empty. A slot's place follows from its tag alone, so that growing needs no keys. Nothing is
// removed.
class RowIndex {
 public:
  // `expected`: about how many rows may come; once there are some, it grows to the room for all of them at once.
  explicit RowIndex(size_t expected = 0);

  // Bits that nothing else that Petalite does with the hash depends on.
  static uint32_t TagOf(uint64_t hash);

  // Calls is_same(row) for each row whose tag is the hash's; gives the first for which it says true, or kNoRow.
  template <typename IsSame>
  uint32_t Find(uint64_t hash, IsSame&& is_same) const {
    const std::shared_ptr<const Slots> slots = Current();
    return FindIn(*slots, TagOf(hash), is_same);
  }

  // For the writer alone: without the cost of holding the slots.
  template <typename IsSame>
  uint32_t FindAsWriter(uint64_t hash, IsSame&& is_same) const {
    return FindIn(*slots_, TagOf(hash), is_same);
  }
  void Prefetch(uint64_t hash) const;

  // Puts `row` in the place of the row with the same key, or adds it. link(before) is called first where there was one.
  template <typename IsSame, typename Link>
  void Put(uint64_t hash, uint32_t row, IsSame&& is_same, Link&& link) {
    if (used_ >= limit_) Grow();
    const uint32_t tag = TagOf(hash);
    for (size_t at = slots_->Start(tag);; at = slots_->Next(at)) {
      std::atomic<uint64_t>& slot = slots_->data[at];
      const uint64_t entry = slot.load(std::memory_order_relaxed);
      const bool is_new = entry == 0;
      if (!is_new && (entry >> 32 != tag || !is_same(Row(entry)))) continue;
      if (!is_new) link(Row(entry));
      slot.store(static_cast<uint64_t>(tag) << 32 | (row + 1), std::memory_order_release);
      used_ += is_new ? 1 : 0;
      return;
    }
  }

  size_t memory_bytes() const { return slots_->size * sizeof(uint64_t); }

 private:
  struct Slots {
    explicit Slots(size_t size);
    size_t Start(uint32_t tag) const { return tag * size >> 32; }
    size_t Next(size_t at) const { return at + 1 == size ? 0 : at + 1; }

    size_t size;
    HugeBuffer memory;  // every look-up would miss the translation buffer too
    std::atomic<uint64_t>* data;
  };

  static uint32_t Row(uint64_t entry) { return static_cast<uint32_t>(entry) - 1; }

  template <typename IsSame>
  static uint32_t FindIn(const Slots& slots, uint32_t tag, IsSame&& is_same) {
    for (size_t at = slots.Start(tag);; at = slots.Next(at)) {
      const uint64_t entry = slots.data[at].load(std::memory_order_acquire);
      if (entry == 0) return kNoRow;
      if (entry >> 32 == tag && is_same(Row(entry))) return Row(entry);
    }
  }

  std::shared_ptr<const Slots> Current() const;
  void Grow();

  mutable std::mutex mutex_;  // guards the pointer against readers that copy it while it changes
  std::shared_ptr<Slots> slots_;
  const size_t expected_;
  size_t used_ = 0;
  size_t limit_;
};

}  // namespace petalite::store
