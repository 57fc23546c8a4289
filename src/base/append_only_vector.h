// A vector that grows at its end while others read it. One thread at a time appends (who takes turns synchronizes);
// any number of threads read [0, size()) meanwhile, without locks. Elements never move and never change.
//
// They stand in segments, each twice as long as the one before, which a directory of fixed size points to. The size is
// published with release after the elements it covers, so a reader that loads it with acquire sees them whole. What one
// call appends appears at once.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "base/status.h"

namespace petalite {

template <typename T>
class AppendOnlyVector {
 public:
  AppendOnlyVector() = default;
  ~AppendOnlyVector() {
    for (size_t s = 0, left = size(); s < kSegments; ++s) {
      T* segment = segments_[s].load(std::memory_order_relaxed);
      if (segment == nullptr) break;
      const size_t used = std::min(left, SegmentSize(s));
      std::destroy_n(segment, used);
      std::allocator<T>().deallocate(segment, SegmentSize(s));
      left -= used;
    }
  }
  AppendOnlyVector(const AppendOnlyVector&) = delete;
  AppendOnlyVector& operator=(const AppendOnlyVector&) = delete;

  size_t size() const { return size_.load(std::memory_order_acquire); }
  bool empty() const { return size() == 0; }

  // `index` < a size() that this thread has seen.
  const T& operator[](size_t index) const {
    DCHECK(index < size());
    const size_t s = SegmentOf(index);
    return segments_[s].load(std::memory_order_relaxed)[index - SegmentBegin(s)];
  }

  // The elements from `begin` that stand side by side, `end` at the most; for loops over many. begin < end ≤ size().
  std::span<const T> Run(size_t begin, size_t end) const {
    DCHECK(begin < end && end <= size());
    const size_t s = SegmentOf(begin);
    const size_t run_end = std::min(end, SegmentBegin(s) + SegmentSize(s));
    return {segments_[s].load(std::memory_order_relaxed) + (begin - SegmentBegin(s)), run_end - begin};
  }

  // The writer's.
  void Append(T value) {
    const size_t at = size_.load(std::memory_order_relaxed);
    std::construct_at(Slot(at), std::move(value));
    size_.store(at + 1, std::memory_order_release);
  }
  void Append(std::span<const T> values) {
    size_t at = size_.load(std::memory_order_relaxed);
    for (const T& value : values) std::construct_at(Slot(at++), value);
    size_.store(at, std::memory_order_release);
  }

  // Of the elements and what was rounded up to hold them. The tail of a large segment that was never written costs
  // address space and no memory, so it does not count. What elements own elsewhere does not either.
  size_t memory_bytes() const {
    size_t bytes = sizeof(*this);
    for (size_t s = 0, left = size(); s < kSegments && left > 0; ++s) {
      const size_t used = std::min(left, SegmentSize(s));
      left -= used;
      bytes += std::min(SegmentSize(s) * sizeof(T), (used * sizeof(T) + kPageBytes - 1) / kPageBytes * kPageBytes);
    }
    return bytes;
  }

 private:
  static constexpr size_t kFirstBits = 4;  // the first segment holds 2^4 elements
  static constexpr size_t kSegments = 36;
  static constexpr size_t kPageBytes = 4096;

  // Segment s holds the indexes i with 2^(s+4) ≤ i + 2^4 < 2^(s+5).
  static size_t SegmentOf(size_t index) { return std::bit_width(index + (size_t{1} << kFirstBits)) - 1 - kFirstBits; }
  static size_t SegmentSize(size_t s) { return size_t{1} << (s + kFirstBits); }
  static size_t SegmentBegin(size_t s) { return SegmentSize(s) - (size_t{1} << kFirstBits); }

  T* Slot(size_t index) {
    const size_t s = SegmentOf(index);
    CHECK(s < kSegments);
    T* segment = segments_[s].load(std::memory_order_relaxed);
    if (segment == nullptr) {
      segment = std::allocator<T>().allocate(SegmentSize(s));
      // Relaxed will do: a reader comes here only by way of the size that is published later.
      segments_[s].store(segment, std::memory_order_relaxed);
    }
    return segment + (index - SegmentBegin(s));
  }

  std::array<std::atomic<T*>, kSegments> segments_{};
  std::atomic<size_t> size_{0};
};

}  // namespace petalite
