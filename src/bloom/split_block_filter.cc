#include "bloom/split_block_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/cpu.h"
#include "base/status.h"
#include "bloom/split_block_kernels.h"

namespace petalite::bloom {
namespace {

constexpr double kBlockBits = 8 * kBlockBytes;
// The upper half of a hash cannot tell more blocks apart.
constexpr size_t kMaxBlocks = size_t{1} << 32;

// Inlined into every probe, where a call to the function of the table is all that should happen.
inline const SplitBlockKernels& Kernels() {
  static const SplitBlockKernels& kernels = KernelsFor(ActiveIsa());
  return kernels;
}

}  // namespace

const SplitBlockKernels& ActiveKernels() { return Kernels(); }

const SplitBlockKernels& KernelsFor(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return kAvx512Kernels;
  if (isa == Isa::kAvx2) return kAvx2Kernels;
#endif
  return kScalarKernels;
}

double FppForBitsPerKey(double bits_per_key) {
  CHECK(bits_per_key > 0);
  const long double mean = kBlockBits / bits_per_key;  // keys in a block
  if (mean > 2000) return 1;                           // nearer than a double can tell
  long double probability = std::exp(-mean);           // of a load of i keys; long, or it would underflow
  long double clear = 1;                               // probability that i keys leave a bit of a word clear
  long double fpp = 0;
  const int end = static_cast<int>(mean + 12 * std::sqrt(mean)) + 20;  // loads beyond have no weight
  for (int i = 0; i < end; i++) {
    const long double two_words = (1 - clear) * (1 - clear);  // probability that a bit is set in both
    const long double four_words = two_words * two_words;
    fpp += probability * four_words * four_words;
    probability *= mean / (i + 1);
    clear *= 31.0L / 32;
  }
  return static_cast<double>(fpp);
}

double BitsPerKeyForFpp(double fpp) {
  CHECK(fpp > 0 && fpp < 1);
  double enough = 1;
  while (FppForBitsPerKey(enough) > fpp) enough *= 2;
  double too_few = enough == 1 ? 0 : enough / 2;
  for (int i = 0; i < 50; i++) {
    const double middle = (too_few + enough) / 2;
    (FppForBitsPerKey(middle) <= fpp ? enough : too_few) = middle;
  }
  return enough;
}

double MeasuredFpp(const FilterView& filter) {
  double sum = 0;
  for (size_t at = 0; at < filter.bits().size(); at += kBlockBytes) {
    double block = 1;
    for (size_t word = 0; word < kBlockBytes; word += 4) {
      block *= std::popcount(LoadLe<uint32_t>(filter.bits().data() + at + word)) / 32.0;
    }
    sum += block;
  }
  return sum / static_cast<double>(filter.blocks());
}

size_t BlocksFor(uint64_t keys, double fpp) {
  const double blocks = std::ceil(static_cast<double>(keys) * BitsPerKeyForFpp(fpp) / kBlockBits);
  return static_cast<size_t>(std::clamp(blocks, 1.0, static_cast<double>(kMaxBlocks)));
}

size_t PowerOfTwoBlocksFor(uint64_t keys, double fpp) {
  return std::min(std::bit_ceil(BlocksFor(keys, fpp)), kMaxColumnFilterBytes / kBlockBytes);
}

namespace {

bool ChooseAndProbe(const uint8_t* bits, size_t blocks, uint64_t hash) {
  internal::probe.store(Kernels().probe, std::memory_order_relaxed);
  return Kernels().probe(bits, blocks, hash);
}

}  // namespace

std::atomic<internal::ProbeFunction> internal::probe = ChooseAndProbe;

void FilterView::MayContain(std::span<const uint64_t> hashes, uint8_t* results) const {
  DCHECK(blocks_ != 0);
  Kernels().probe_batch(bits_.data(), blocks_, hashes.data(), hashes.size(), results);
}

bool FilterView::MayContainAny(std::span<const uint64_t> hashes) const {
  DCHECK(blocks_ != 0);
  return Kernels().probe_any(bits_.data(), blocks_, hashes.data(), hashes.size());
}

SplitBlockFilter::SplitBlockFilter(size_t blocks) : blocks_(blocks) {
  CHECK(blocks >= 1 && blocks <= kMaxBlocks);
  buffer_ = HugeBuffer(blocks * kBlockBytes);
}

void SplitBlockFilter::Insert(uint64_t hash) { Kernels().insert(buffer_.data(), blocks_, hash); }

void SplitBlockFilter::Insert(std::span<const uint64_t> hashes) {
  Kernels().insert_batch(buffer_.data(), blocks_, hashes.data(), hashes.size());
}

void SplitBlockFilter::Fold() {
  CHECK(blocks_ % 2 == 0);
  blocks_ /= 2;
  uint8_t* const bits = buffer_.data();
  for (size_t block = 0; block < blocks_; block++) {
    const uint8_t* const even = bits + 2 * block * kBlockBytes;
    const uint8_t* const odd = even + kBlockBytes;
    for (size_t i = 0; i < kBlockBytes; i += sizeof(uint64_t)) {
      StoreLe(bits + block * kBlockBytes + i, LoadLe<uint64_t>(even + i) | LoadLe<uint64_t>(odd + i));
    }
  }
}

void SplitBlockFilter::FoldFor(uint64_t keys, double fpp) {
  if (!std::has_single_bit(blocks_)) return;
  const size_t wanted = PowerOfTwoBlocksFor(keys, fpp);
  if (blocks_ <= wanted) return;
  while (blocks_ > wanted) Fold();
  HugeBuffer folded(blocks_ * kBlockBytes);
  std::memcpy(folded.data(), buffer_.data(), folded.size());
  buffer_ = std::move(folded);
}

}  // namespace petalite::bloom
