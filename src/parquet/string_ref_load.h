// Making StringRefs of bytes in a buffer without a branch or a call per string: decoders make them
// by the hundred million.

#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/bytes.h"
#include "column/types.h"

namespace petalite::parquet {

// How many bytes LoadStringRef reads, whatever the size of the string.
inline constexpr size_t kStringRefReads = StringRef::kInlineSize;

// StringRef(data, size), where at least kStringRefReads bytes can be read at `data`.
inline StringRef LoadStringRef(const uint8_t* data, uint32_t size) {
  // The layout that column/types.h documents: the size, then twelve bytes inside, or four and the
  // pointer.
  struct Layout {
    uint32_t size;
    uint32_t prefix;
    uint64_t rest;
  };
  static_assert(sizeof(Layout) == sizeof(StringRef));
  // Masks of the bytes 0…3 and 4…11 that belong to a string of 0…12 bytes.
  static constexpr auto kMasks = [] {
    std::array<std::pair<uint32_t, uint64_t>, StringRef::kInlineSize + 1> masks{};
    for (size_t i = 0; i < masks.size(); ++i) {
      masks[i].first = i >= 4 ? ~uint32_t{0} : (uint32_t{1} << (8 * i)) - 1;
      masks[i].second = i >= 12 ? ~uint64_t{0} : i <= 4 ? 0 : (uint64_t{1} << (8 * (i - 4))) - 1;
    }
    return masks;
  }();
  const bool fits = size <= StringRef::kInlineSize;
  const auto& [prefix_mask, rest_mask] = kMasks[fits ? size : 4];
  const uint64_t inside = LoadLe<uint64_t>(data + 4) & rest_mask;
  const Layout layout = {size, LoadLe<uint32_t>(data) & prefix_mask, fits ? inside : reinterpret_cast<uint64_t>(data)};
  return std::bit_cast<StringRef>(layout);
}

}  // namespace petalite::parquet
