// DELTA_BINARY_PACKED: the first value, then blocks of differences, each block with its least
// difference and miniblocks of bit-packed remainders. Arithmetic wraps around in the width of the
// type.

#include <algorithm>
#include <array>

#include "parquet/bit_unpack.h"
#include "parquet/decoders.h"

namespace petalite::parquet {
namespace {

constexpr std::string_view kName = "DELTA_BINARY_PACKED";
constexpr size_t kStep = 32;  // values unpacked at once

uint64_t UnZigzag(uint64_t value) { return value >> 1 ^ (~(value & 1) + 1); }

struct Header {
  uint64_t miniblocks = 0;            // per block
  uint64_t values_per_miniblock = 0;  // a multiple of 32
  uint64_t first = 0;
};

Status ReadHeader(ByteReader& in, size_t count, Header* header) {
  uint64_t block_size;
  uint64_t total;
  if (!in.ReadVarint(&block_size) || !in.ReadVarint(&header->miniblocks) || !in.ReadVarint(&total) ||
      !in.ReadVarint(&header->first)) {
    return Corruption("{}: the header is cut off", kName);
  }
  header->first = UnZigzag(header->first);
  if (total != count) return Corruption("{}: {} values where the page has {}", kName, total, count);
  // 2^31 keeps the arithmetic on sizes far from overflow; pages are smaller.
  const bool plausible = header->miniblocks != 0 && block_size != 0 && block_size < uint64_t{1} << 31 &&
                         block_size % header->miniblocks == 0 && block_size / header->miniblocks % kStep == 0;
  if (!plausible) return Corruption("{}: blocks of {} values in {} parts", kName, block_size, header->miniblocks);
  header->values_per_miniblock = block_size / header->miniblocks;
  return Status::Ok();
}

// Adds up one miniblock's differences onto `last`; writes `count` values.
template <typename T>
T* SumMiniblock(Bytes packed, int width, T min_delta, size_t count, T last, T* out) {
  if (width == 0) {
    for (size_t i = 0; i < count; ++i) *out++ = last += min_delta;
    return out;
  }
  std::array<T, kStep> deltas;
  const size_t step_bytes = kStep / 8 * static_cast<size_t>(width);
  while (count != 0) {
    const size_t taken = std::min(count, kStep);
    BitUnpack(packed, width, kStep, deltas.data());
    for (size_t i = 0; i < taken; ++i) *out++ = last += min_delta + deltas[i];
    packed = packed.subspan(std::min(step_bytes, packed.size()));
    count -= taken;
  }
  return out;
}

template <typename T>
Status Decode(Bytes bytes, size_t count, T* out, size_t* consumed) {
  if (consumed != nullptr) *consumed = 0;
  if (count == 0 && bytes.empty()) return Status::Ok();
  ByteReader in(bytes);
  Header header;
  RETURN_IF_ERROR(ReadHeader(in, count, &header));
  T* const end = out + count;
  if (count != 0) *out++ = static_cast<T>(header.first);
  while (out != end) {
    uint64_t min_delta;
    Bytes widths;
    if (!in.ReadVarint(&min_delta) || !in.Take(header.miniblocks, &widths)) {
      return Corruption("{}: ends {} values too early", kName, end - out);
    }
    for (const uint8_t width : widths) {
      if (out == end) break;  // widths of miniblocks that hold nothing may be anything
      if (width > sizeof(T) * 8) return Corruption("{}: differences of {} bits", kName, width);
      const size_t values = std::min<size_t>(header.values_per_miniblock, static_cast<size_t>(end - out));
      const size_t size = std::min<size_t>(header.values_per_miniblock / 8 * width, in.remaining());
      Bytes packed;
      if (size < (values * width + 7) / 8 || !in.Take(size, &packed)) {
        return Corruption("{}: ends {} values too early", kName, end - out);
      }
      out = SumMiniblock(packed, width, static_cast<T>(UnZigzag(min_delta)), values, out[-1], out);
    }
  }
  if (consumed != nullptr) *consumed = in.position();
  return Status::Ok();
}

}  // namespace

Status DecodeDeltaBinaryPacked(Bytes in, size_t count, uint32_t* out, size_t* consumed) {
  return Decode(in, count, out, consumed);
}
Status DecodeDeltaBinaryPacked(Bytes in, size_t count, uint64_t* out, size_t* consumed) {
  return Decode(in, count, out, consumed);
}

}  // namespace petalite::parquet
