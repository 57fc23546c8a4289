#include "parquet/delta_encoder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "parquet/bit_packing.h"

namespace petalite::parquet {
namespace {

constexpr size_t kMiniblock = 32;
constexpr size_t kMiniblocks = 4;
constexpr size_t kBlock = kMiniblock * kMiniblocks;

uint64_t ZigZag(int64_t value) { return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63); }

size_t VarintBytes(uint64_t value) { return static_cast<size_t>(std::max(BitWidth(value), 1) + 6) / 7; }

// The differences of a block, above its smallest.
template <typename T>
struct Block {
  using Unsigned = std::make_unsigned_t<T>;

  T min = 0;
  std::array<Unsigned, kBlock> above{};  // zeroes behind the last
  std::array<uint8_t, kMiniblocks> widths{};

  // Of values[1 … count] to the one before each; 0 < count ≤ kBlock.
  Block(const T* values, size_t count) {
    std::array<T, kBlock> deltas;
    min = std::numeric_limits<T>::max();
    for (size_t i = 0; i < count; ++i) {
      deltas[i] = static_cast<T>(static_cast<Unsigned>(values[i + 1]) - static_cast<Unsigned>(values[i]));
      min = std::min(min, deltas[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      above[i] = static_cast<Unsigned>(deltas[i]) - static_cast<Unsigned>(min);
    }
    for (size_t m = 0; m < kMiniblocks; ++m) {
      Unsigned all = 0;
      for (size_t i = 0; i < kMiniblock; ++i) all |= above[m * kMiniblock + i];
      widths[m] = static_cast<uint8_t>(BitWidth(all));
    }
  }
};

}  // namespace

template <typename T>
void AppendDelta(std::span<const T> values, ByteBuffer* out) {
  AppendVarint(*out, kBlock);
  AppendVarint(*out, kMiniblocks);
  AppendVarint(*out, values.size());
  AppendVarint(*out, ZigZag(values.empty() ? 0 : values[0]));
  for (size_t at = 1; at < values.size(); at += kBlock) {
    const size_t count = std::min(kBlock, values.size() - at);
    const Block<T> block(values.data() + at - 1, count);
    AppendVarint(*out, ZigZag(block.min));
    AppendBytes(*out, block.widths);
    // A miniblock that has begun is written whole; those behind the last value have no bytes.
    for (size_t m = 0; m * kMiniblock < count; ++m) {
      const size_t begin = out->size();
      out->resize(begin + kMiniblock / 8 * block.widths[m]);
      PackBits(block.above.data() + m * kMiniblock, kMiniblock, block.widths[m], out->data() + begin);
    }
  }
}

template <typename T>
DeltaEstimate EstimateDelta(std::span<const T> values) {
  constexpr size_t kSampledBlocks = 16;
  if (values.size() < 2) return {};
  const size_t blocks = (values.size() - 1 + kBlock - 1) / kBlock;
  const size_t step = std::max<size_t>(1, blocks / kSampledBlocks);
  size_t bytes = 0;
  size_t sampled = 0;
  size_t ascending = 0;
  for (size_t b = 0; b < blocks; b += step) {
    const T* first = values.data() + b * kBlock;
    const size_t count = std::min(kBlock, values.size() - 1 - b * kBlock);
    const Block<T> block(first, count);
    bytes += VarintBytes(ZigZag(block.min)) + kMiniblocks;
    for (size_t m = 0; m * kMiniblock < count; ++m) bytes += kMiniblock / 8 * block.widths[m];
    for (size_t i = 0; i < count; ++i) ascending += first[i + 1] >= first[i] ? 1 : 0;
    sampled += count;
  }
  const auto of_sample = static_cast<double>(sampled);
  return {.bytes = static_cast<size_t>(static_cast<double>(bytes) / of_sample * static_cast<double>(values.size())),
          .ascending = static_cast<double>(ascending) / of_sample};
}

template void AppendDelta(std::span<const int32_t>, ByteBuffer*);
template void AppendDelta(std::span<const int64_t>, ByteBuffer*);
template DeltaEstimate EstimateDelta(std::span<const int32_t>);
template DeltaEstimate EstimateDelta(std::span<const int64_t>);

}  // namespace petalite::parquet
