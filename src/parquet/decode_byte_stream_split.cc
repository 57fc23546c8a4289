// BYTE_STREAM_SPLIT: the first bytes of all values, then the second bytes of all, and so on.

#include "parquet/decoders.h"

namespace petalite::parquet {
namespace {

// With the width known the inner loop is straight-line code: one load per stream, one store.
template <typename T>
void Join(const uint8_t* in, size_t stride, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    T value = 0;
    for (size_t byte = 0; byte < sizeof(T); ++byte) value |= static_cast<T>(T{in[byte * stride + i]} << (8 * byte));
    StoreLe(out + i * sizeof(T), value);
  }
}

}  // namespace

Status DecodeByteStreamSplit(Bytes in, size_t width, size_t count, uint8_t* out) {
  const size_t stride = in.size() / width;  // padding, if any, lengthens every stream
  if (stride < count) {
    return Corruption("BYTE_STREAM_SPLIT: {} bytes hold no {} values of {} bytes", in.size(), count, width);
  }
  if (width == 4) {
    Join<uint32_t>(in.data(), stride, count, out);
  } else if (width == 8) {
    Join<uint64_t>(in.data(), stride, count, out);
  } else {
    for (size_t byte = 0; byte < width; ++byte) {
      for (size_t i = 0; i < count; ++i) out[i * width + byte] = in[byte * stride + i];
    }
  }
  return Status::Ok();
}

}  // namespace petalite::parquet
