// PLAIN: values one after another; booleans as bits; byte arrays behind their length.

#include <algorithm>

#include "parquet/decoders.h"
#include "parquet/string_ref_load.h"

namespace petalite::parquet {
namespace {

// Eight bits to eight bytes of 0 or 1. Byte i keeps bit i alone, of which the sum makes the byte's top
// bit; no byte carries into the next.
uint64_t SpreadBits(uint8_t bits) {
  const uint64_t selected = bits * 0x0101010101010101ull & 0x8040201008040201ull;
  return ((selected + 0x7f7f7f7f7f7f7f7full) & 0x8080808080808080ull) >> 7;
}

}  // namespace

Status DecodePlainBooleans(Bytes in, size_t count, uint8_t* out) {
  if (in.size() < (count + 7) / 8) return Corruption("PLAIN: {} bytes hold no {} booleans", in.size(), count);
  const size_t whole = count / 8;
  for (size_t i = 0; i < whole; ++i) StoreLe(out + 8 * i, SpreadBits(in[i]));
  for (size_t i = whole * 8; i < count; ++i) out[i] = in[i / 8] >> (i % 8) & 1;
  return Status::Ok();
}

Status DecodePlainByteArrays(Bytes in, size_t count, StringRef* out) {
  constexpr size_t kPrefix = sizeof(uint32_t);
  const uint8_t* at = in.data();
  const uint8_t* const end = at + in.size();
  size_t i = 0;
  while (i < count && static_cast<size_t>(end - at) >= kPrefix + kStringRefReads) {
    const auto size = LoadLe<uint32_t>(at);
    at += kPrefix;
    if (size > static_cast<size_t>(end - at)) [[unlikely]]
      return Corruption("PLAIN: byte array {} of {} bytes exceeds the page", i, size);
    out[i++] = LoadStringRef(at, size);
    at += size;
  }
  for (; i < count; ++i) {
    if (static_cast<size_t>(end - at) < kPrefix) return Corruption("PLAIN: {} byte arrays of {} are there", i, count);
    const auto size = LoadLe<uint32_t>(at);
    at += kPrefix;
    if (size > static_cast<size_t>(end - at)) {
      return Corruption("PLAIN: byte array {} of {} bytes exceeds the page", i, size);
    }
    out[i] = StringRef(at, size);
    at += size;
  }
  return Status::Ok();
}

}  // namespace petalite::parquet
