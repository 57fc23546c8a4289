// Putting dense values in the rows they belong to.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "column/types.h"

namespace petalite::parquet {

// `valid ? value : null` without a branch, which half of the rows of a column with nulls would
// mispredict, and which compilers make of the plain expression.
template <typename T>
T Select(bool valid, T value, T null) {
  const auto mask = static_cast<T>(-static_cast<T>(valid));
  return static_cast<T>((value & mask) | (null & static_cast<T>(~mask)));
}
inline Int128 Select(bool valid, Int128 value, Int128 null) {
  return {Select<uint64_t>(valid, value.low, null.low),
          static_cast<int64_t>(Select(valid, static_cast<uint64_t>(value.high), static_cast<uint64_t>(null.high)))};
}

// Moves the first `count` of `rows` slots to the rows whose bit in `validity` is set, in order, and
// puts `null` in the others. Exactly `count` bits are set, and count < rows.
template <typename T>
void SpreadToRows(const uint64_t* validity, size_t rows, size_t count, T null, T* slots) {
  // From the back, so that no value is overwritten before it has moved. slots[count] is within the
  // array even where no value is taken, so that there is nothing to branch on.
  for (size_t row = rows; row != 0;) {
    const size_t begin = (row - 1) / 64 * 64;
    const uint64_t word = validity[begin / 64];
    if (word == ~uint64_t{0}) {  // whole words without nulls are the common case
      count -= 64;
      std::memmove(slots + begin, slots + count, 64 * sizeof(T));
      row = begin;
      continue;
    }
    while (row != begin) {
      --row;
      const bool valid = (word >> (row - begin) & 1) != 0;
      count -= valid;
      slots[row] = Select(valid, slots[count], null);
    }
  }
}

// The row of the value that is at `position` among those whose bit is set.
inline size_t RowOfValue(const uint64_t* validity, size_t position) {
  if (validity == nullptr) return position;
  for (size_t word = 0;; ++word) {
    uint64_t bits = validity[word];
    const auto here = static_cast<size_t>(__builtin_popcountll(bits));
    if (position >= here) {
      position -= here;
      continue;
    }
    for (; position != 0; --position) bits &= bits - 1;
    return word * 64 + static_cast<size_t>(__builtin_ctzll(bits));
  }
}

}  // namespace petalite::parquet
