// The hybrid of RLE and bit packing: runs, each behind a varint whose lowest bit says which kind it
// is and whose other bits its length (repetitions, or groups of eight values).
//
// Tolerated, because writers do it: runs of length 0, a last bit-packed run that is longer than the
// values asked for or that lacks its padding, and no bytes at all for indices of width 0.

#include <algorithm>

#include "parquet/bit_unpack.h"
#include "parquet/decoders.h"

namespace petalite::parquet {
namespace {

// Walks over the runs and hands them to `sink`: sink.Repeat(value, count) and
// sink.Unpack(bytes, count).
template <typename Sink>
Status ForEachRun(Bytes in, int bit_width, size_t count, Sink& sink) {
  ByteReader reader(in);
  const auto width = static_cast<size_t>(bit_width);
  while (count != 0) {
    uint64_t header;
    if (!reader.ReadVarint(&header)) return Corruption("RLE: the runs end {} values too early", count);
    if ((header & 1) == 0) {
      Bytes value_bytes;
      if (!reader.Take((width + 7) / 8, &value_bytes)) return Corruption("RLE: a run lacks its value");
      uint32_t value = 0;
      std::copy(value_bytes.begin(), value_bytes.end(), reinterpret_cast<uint8_t*>(&value));
      const size_t length = std::min<uint64_t>(header >> 1, count);
      sink.Repeat(value, length);
      count -= length;
      continue;
    }
    const uint64_t groups = std::min<uint64_t>(header >> 1, (count + 7) / 8);
    const size_t length = std::min<size_t>(groups * 8, count);
    if (reader.remaining() < (length * width + 7) / 8) return Corruption("RLE: a bit-packed run is cut off");
    Bytes packed;
    if (!reader.Take(std::min<size_t>(groups * width, reader.remaining()), &packed)) return Corruption("RLE: cut off");
    sink.Unpack(packed, length);
    count -= length;
  }
  return Status::Ok();
}

struct IndexSink {
  int bit_width;
  uint32_t* out;

  void Repeat(uint32_t value, size_t count) { out = std::fill_n(out, count, value); }
  void Unpack(Bytes packed, size_t count) {
    BitUnpack(packed, bit_width, count, out);
    out += count;
  }
};

struct BooleanSink {
  uint8_t* out;

  void Repeat(uint32_t value, size_t count) { out = std::fill_n(out, count, static_cast<uint8_t>(value & 1)); }
  void Unpack(Bytes packed, size_t count) {
    // Bit packing with one bit is PLAIN, and ForEachRun has seen that the bytes are there.
    (void)DecodePlainBooleans(packed, count, out);
    out += count;
  }
};

// Appends bits to a bitmap that is clear from `at` on.
struct BitmapSink {
  uint64_t* words;
  size_t at = 0;

  void Append(uint64_t bits, size_t count) {
    if (count < 64) bits &= (uint64_t{1} << count) - 1;
    const size_t shift = at % 64;
    words[at / 64] |= bits << shift;
    if (shift + count > 64) words[at / 64 + 1] |= bits >> (64 - shift);
    at += count;
  }
  void Repeat(uint32_t value, size_t count) {
    if ((value & 1) == 0) {
      at += count;
      return;
    }
    for (size_t step; count != 0; count -= step) {
      step = std::min<size_t>(count, 64);
      Append(~uint64_t{0}, step);
    }
  }
  void Unpack(Bytes packed, size_t count) {
    while (count >= 64) {
      Append(LoadLe<uint64_t>(packed.data()), 64);
      packed = packed.subspan(8);
      count -= 64;
    }
    if (count == 0) return;
    uint64_t bits = 0;
    std::copy_n(packed.data(), (count + 7) / 8, reinterpret_cast<uint8_t*>(&bits));
    Append(bits, count);
  }
};

}  // namespace

Status DecodeHybrid(Bytes in, int bit_width, size_t count, uint32_t* out) {
  if (bit_width == 0) {
    std::fill_n(out, count, 0);
    return Status::Ok();
  }
  IndexSink sink{bit_width, out};
  return ForEachRun(in, bit_width, count, sink);
}

Status DecodeRleBooleans(Bytes in, size_t count, uint8_t* out) {
  if (count == 0) return Status::Ok();
  ByteReader reader(in);
  uint32_t size;
  Bytes runs;
  if (!reader.Read(&size) || !reader.Take(size, &runs)) return Corruption("RLE: the booleans' length exceeds the page");
  BooleanSink sink{out};
  return ForEachRun(runs, 1, count, sink);
}

Status DecodeLevelBits(Bytes in, size_t count, uint64_t* bits) {
  std::fill_n(bits, (count + 63) / 64, 0);
  BitmapSink sink{bits};
  return ForEachRun(in, 1, count, sink);
}

Status DecodeBitPackedLevelBits(Bytes in, size_t count, uint64_t* bits) {
  if (in.size() < (count + 7) / 8) return Corruption("BIT_PACKED: {} bytes hold no {} levels", in.size(), count);
  std::fill_n(bits, (count + 63) / 64, 0);
  for (size_t i = 0; i < count; ++i) {
    bits[i / 64] |= static_cast<uint64_t>(in[i / 8] >> (7 - i % 8) & 1) << (i % 64);
  }
  return Status::Ok();
}

}  // namespace petalite::parquet
