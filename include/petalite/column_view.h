// Rows of one column that somebody else owns: what a writer takes and what a page hands out.
//
// Row i's value is values[selection[i]], or values[i] without a selection; it is null if validity
// is given and the bit of that same position is clear. A null's value may be anything.

#pragma once

#include <cstddef>
#include <cstdint>

namespace petalite {

struct ColumnView {
  const void* values = nullptr;         // an array in the type's layout (type.h)
  const uint64_t* validity = nullptr;   // bit set = valid, least significant bit first; null: all valid
  const uint32_t* selection = nullptr;  // positions in values and validity; null: the identity
  size_t size = 0;                      // rows

  size_t Position(size_t row) const { return selection != nullptr ? selection[row] : row; }
  bool IsValid(size_t row) const {
    if (validity == nullptr) return true;
    const size_t at = Position(row);
    return (validity[at / 64] >> (at % 64) & 1) != 0;
  }
  template <typename T>
  const T& Value(size_t row) const {
    return static_cast<const T*>(values)[Position(row)];
  }
};

}  // namespace petalite
