#include "parquet/value_hash.h"

#include "base/hash.h"

namespace petalite::parquet {
namespace {

// The constant size lets the compiler keep only XXH64's road for it.
template <size_t kWidth>
void HashFixed(const uint8_t* data, size_t count, uint64_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = Xxh64(data + i * kWidth, kWidth);
}

}  // namespace

void HashValues(const ColumnBuffer& buffer, size_t begin, size_t end, uint64_t* out) {
  const size_t count = end - begin;
  const uint8_t* fixed = buffer.fixed<uint8_t>() + begin * buffer.width();
  switch (buffer.width()) {
    case 4:
      return HashFixed<4>(fixed, count, out);
    case 8:
      return HashFixed<8>(fixed, count, out);
    case 16:
      return HashFixed<16>(fixed, count, out);
    default:
      for (size_t i = begin; i < end; ++i) *out++ = Xxh64(buffer.value(i));
  }
}

}  // namespace petalite::parquet
