#include "parquet/bit_unpack.h"

#include <algorithm>
#include <array>
#include <utility>

namespace petalite::parquet {
namespace {

constexpr size_t kGroup = 32;  // values of any width then end at a byte

// Every value is an unaligned load of the eight bytes in which it starts, a shift and a mask, all
// with constant distances, so that the unrolled group has no dependencies. It reads up to nine bytes
// from where the last value starts: within kSlack bytes behind the group.
constexpr size_t kSlack = 9;

template <typename T, int kWidth, size_t kIndex>
inline void UnpackOne(const uint8_t* in, T* out) {
  constexpr size_t kBit = kIndex * kWidth;
  constexpr int kShift = kBit % 8;
  uint64_t bits = LoadLe<uint64_t>(in + kBit / 8) >> kShift;
  if constexpr (kShift + kWidth > 64) bits |= static_cast<uint64_t>(in[kBit / 8 + 8]) << (64 - kShift);
  if constexpr (kWidth < 64) bits &= (uint64_t{1} << kWidth) - 1;
  out[kIndex] = static_cast<T>(bits);
}

template <typename T, int kWidth>
void UnpackGroup(const uint8_t* in, T* out) {
  if constexpr (kWidth == 0) {
    std::fill_n(out, kGroup, T{0});
  } else {
    [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
      (UnpackOne<T, kWidth, kIndex>(in, out), ...);
    }(std::make_index_sequence<kGroup>());
  }
}

template <typename T>
using GroupUnpacker = void (*)(const uint8_t*, T*);

template <typename T, size_t... kWidth>
constexpr auto MakeUnpackers(std::index_sequence<kWidth...>) {
  return std::array<GroupUnpacker<T>, sizeof...(kWidth)>{UnpackGroup<T, kWidth>...};
}

template <typename T>
constexpr auto kUnpackers = MakeUnpackers<T>(std::make_index_sequence<sizeof(T) * 8 + 1>());

template <typename T>
void Unpack(Bytes in, int width, size_t count, T* out) {
  const GroupUnpacker<T> unpack = kUnpackers<T>[static_cast<size_t>(width)];
  const size_t group_bytes = kGroup / 8 * static_cast<size_t>(width);
  size_t at = 0;
  while (count >= kGroup && in.size() - at >= group_bytes + kSlack) {
    unpack(in.data() + at, out);
    at += group_bytes;
    out += kGroup;
    count -= kGroup;
  }
  while (count != 0) {
    std::array<uint8_t, kGroup / 8 * 64 + kSlack> bytes{};
    std::array<T, kGroup> values;
    const size_t there = std::min(in.size() - at, group_bytes);
    std::copy_n(in.data() + at, there, bytes.data());
    unpack(bytes.data(), values.data());
    const size_t taken = std::min(count, kGroup);
    std::copy_n(values.data(), taken, out);
    at += there;
    out += taken;
    count -= taken;
  }
}

}  // namespace

void BitUnpack(Bytes in, int width, size_t count, uint32_t* out) { Unpack(in, width, count, out); }
void BitUnpack(Bytes in, int width, size_t count, uint64_t* out) { Unpack(in, width, count, out); }

}  // namespace petalite::parquet
