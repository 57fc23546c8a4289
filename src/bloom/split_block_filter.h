// The split-block Bloom filter of parquet-format (BloomFilter.md; Putze, Sanders and Singler,
// "Cache-, Hash- and Space-Efficient Bloom Filters", 2007): a block is eight little-endian 32-bit
// words; a key's hash picks one block by its upper half and sets one bit in each word by its lower
// half times eight odd salts. It never denies a key that was inserted.
//
// Keys come as 64-bit hashes (Parquet: XXH64 of the value's PLAIN bytes). Kernels are chosen once
// by ActiveIsa().

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/huge_buffer.h"

namespace petalite::bloom {

inline constexpr size_t kBlockBytes = 32;
// The largest filter that readers of other systems accept (Arrow C++, Impala).
inline constexpr size_t kMaxColumnFilterBytes = size_t{128} << 20;

// The true false-positive probability of a filter that spends `bits_per_key`: the block loads are
// Poisson distributed, so sum over i of P(load i) · (1 − (31/32)^i)^8. Monotone falling. (The usual
// closed formula is too optimistic.)
double FppForBitsPerKey(double bits_per_key);
// Its inverse, for 0 < fpp < 1.
double BitsPerKeyForFpp(double fpp);

// Blocks for `keys` distinct keys so that the true FPP is `fpp` or less: as few as possible, at
// least 1. For key filters.
size_t BlocksFor(uint64_t keys, double fpp);
// The same rounded up to a power of two, at most kMaxColumnFilterBytes. For column filters.
size_t PowerOfTwoBlocksFor(uint64_t keys, double fpp);

namespace internal {
// The kernel that single probes call, chosen at the first one; a pointer, so that a probe costs one
// indirect call.
using ProbeFunction = bool (*)(const uint8_t* bits, size_t blocks, uint64_t hash);
extern std::atomic<ProbeFunction> probe;
}  // namespace internal

// Probes of a filter that lies in memory. Copyable; does not own. Thread-safe.
class FilterView {
 public:
  FilterView() = default;
  // A multiple of kBlockBytes, not empty; no alignment is asked for.
  explicit FilterView(Bytes bits) : bits_(bits), blocks_(bits.size() / kBlockBytes) {}

  bool MayContain(uint64_t hash) const {
    return internal::probe.load(std::memory_order_relaxed)(bits_.data(), blocks_, hash);
  }
  // results[i] = 1 if hashes[i] may be present, else 0. Overlaps the cache misses of a batch; the
  // best road for more than a few keys.
  void MayContain(std::span<const uint64_t> hashes, uint8_t* results) const;
  // Whether any of `hashes` may be present.
  bool MayContainAny(std::span<const uint64_t> hashes) const;

  size_t blocks() const { return blocks_; }
  Bytes bits() const { return bits_; }

 private:
  Bytes bits_;
  size_t blocks_ = 0;
};

// The probability that a filter as it is lets an absent key through, from the bits that are set.
double MeasuredFpp(const FilterView& filter);

// A filter being built. Not thread-safe.
class SplitBlockFilter {
 public:
  explicit SplitBlockFilter(size_t blocks);

  void Insert(uint64_t hash);
  void Insert(std::span<const uint64_t> hashes);
  // Halves a filter with an even number of blocks by OR-ing blocks 2i and 2i+1: the result is the
  // filter of half the blocks over the same keys.
  void Fold();
  // Folds while the filter stays at a power of two that still holds `keys` distinct keys at `fpp`
  // or less.
  void FoldFor(uint64_t keys, double fpp);

  size_t blocks() const { return blocks_; }
  Bytes bits() const { return {buffer_.data(), blocks_ * kBlockBytes}; }
  FilterView view() const { return FilterView(bits()); }

 private:
  HugeBuffer buffer_;  // a folded filter occupies its front
  size_t blocks_;
};

}  // namespace petalite::bloom
