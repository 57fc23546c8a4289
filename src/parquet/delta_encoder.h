// DELTA_BINARY_PACKED (Encodings.md): blocks of differences from one value to the next, each packed
// at the width that its miniblock needs above the block's smallest difference.

#pragma once

#include <span>

#include "base/bytes.h"

namespace petalite::parquet {

// Of int32_t or int64_t; unsigned columns pass their bits, because the arithmetic wraps.
template <typename T>
void AppendDelta(std::span<const T> values, ByteBuffer* out);

struct DeltaEstimate {
  size_t bytes = 0;        // that AppendDelta would write, about
  double ascending = 0.0;  // the share of differences that are not negative
};

// Looks at a sample of the blocks.
template <typename T>
DeltaEstimate EstimateDelta(std::span<const T> values);

}  // namespace petalite::parquet
