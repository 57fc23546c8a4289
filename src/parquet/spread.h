// Putting dense values in the rows they belong to.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace petalite::parquet {

// Moves the first `count` of `rows` slots to the rows whose bit in `validity` is set, in order, and
// puts `null` in the others. Exactly `count` bits are set, and count < rows.
template <typename T>
void SpreadToRows(const uint64_t* validity, size_t rows, size_t count, T null, T* slots) {
  // From the back, so that no value is overwritten before it has moved. slots[count] is within the
  // array even where no value is taken, so that there is nothing to branch on.
  size_t row = rows;
  while (row != 0) {
    const size_t word_begin = (row - 1) / 64 * 64;
    const uint64_t word = validity[word_begin / 64];
    while (row != word_begin) {
      --row;
      const bool valid = (word >> (row - word_begin) & 1) != 0;
      count -= valid;
      slots[row] = valid ? slots[count] : null;
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
