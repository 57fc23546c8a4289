// The RLE / bit-packed hybrid of Parquet (Encodings.md, RLE = 3): runs of one value, and groups of
// eight values packed at a fixed width.

#pragma once

#include <span>

#include "base/bytes.h"

namespace petalite::parquet {

// Appends values below 2^width (0…32), such as dictionary indices.
void AppendRleHybrid(std::span<const uint32_t> values, int width, ByteBuffer* out);

// Appends `count` values of width 1, which are the first bits of `words`: definition levels of a
// flat column, or booleans. Bits beyond `count` are ignored.
void AppendRleBits(const uint64_t* words, size_t count, ByteBuffer* out);
// The same for `count` times one bit.
void AppendRleConstantBits(bool bit, size_t count, ByteBuffer* out);

}  // namespace petalite::parquet
