#include "parquet/bit_packing.h"

#include <array>
#include <utility>

#include "base/bytes.h"

namespace petalite::parquet {
namespace {

constexpr size_t kStep = 32;  // values: whatever the width, they fill whole 32-bit words

// Unrolled, so that every shift is by a constant.
template <int kWidth>
void Pack32(const uint32_t* in, uint8_t* out) {
  uint64_t pending = 0;
  int bits = 0;
#pragma GCC unroll 32
  for (size_t i = 0; i < kStep; ++i) {
    pending |= static_cast<uint64_t>(in[i]) << bits;
    bits += kWidth;
    if (bits >= 32) {
      StoreLe(out, static_cast<uint32_t>(pending));
      out += 4;
      pending >>= 32;
      bits -= 32;
    }
  }
}

using PackFunction = void (*)(const uint32_t*, uint8_t*);

template <int... kWidths>
constexpr std::array<PackFunction, sizeof...(kWidths)> PackFunctions(std::integer_sequence<int, kWidths...>) {
  return {Pack32<kWidths>...};
}

constexpr auto kPack32 = PackFunctions(std::make_integer_sequence<int, 33>());

// Any count and width, a byte at a time.
template <typename T>
void PackTail(const T* values, size_t count, int width, uint8_t* out) {
  unsigned __int128 pending = 0;
  int bits = 0;
  for (size_t i = 0; i < count; ++i) {
    pending |= static_cast<unsigned __int128>(values[i]) << bits;
    for (bits += width; bits >= 8; bits -= 8) {
      *out++ = static_cast<uint8_t>(pending);
      pending >>= 8;
    }
  }
  if (bits > 0) *out = static_cast<uint8_t>(pending);
}

}  // namespace

void PackBits(const uint32_t* values, size_t count, int width, uint8_t* out) {
  const PackFunction pack = kPack32[static_cast<size_t>(width)];
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    pack(values + i, out);
    out += kStep / 8 * static_cast<size_t>(width);
  }
  PackTail(values + i, count - i, width, out);
}

void PackBits(const uint64_t* values, size_t count, int width, uint8_t* out) {
  size_t i = 0;
  for (; width <= 32 && i + kStep <= count; i += kStep) {
    uint32_t narrow[kStep];
    for (size_t k = 0; k < kStep; ++k) narrow[k] = static_cast<uint32_t>(values[i + k]);
    kPack32[static_cast<size_t>(width)](narrow, out);
    out += kStep / 8 * static_cast<size_t>(width);
  }
  PackTail(values + i, count - i, width, out);
}

}  // namespace petalite::parquet
