#include "parquet/rle_encoder.h"

#include <algorithm>

#include "parquet/bit_packing.h"

namespace petalite::parquet {
namespace {

constexpr size_t kGroup = 8;  // values that a bit-packed run is counted in

// A run shorter than this many packed bits would cost about as many bytes as it saves, and cut the
// packed values around it in two.
constexpr size_t kMinRunBits = 128;

void AppendRunHeader(size_t count, ByteBuffer* out) { AppendVarint(*out, static_cast<uint64_t>(count) << 1); }

void AppendPackedHeader(size_t count, ByteBuffer* out) {
  AppendVarint(*out, static_cast<uint64_t>((count + kGroup - 1) / kGroup) << 1 | 1);
}

void AppendRun(uint32_t value, size_t count, int width, ByteBuffer* out) {
  AppendRunHeader(count, out);
  for (int shift = 0; shift < width; shift += 8) out->push_back(static_cast<uint8_t>(value >> shift));
}

void AppendPacked(std::span<const uint32_t> values, int width, ByteBuffer* out) {
  if (values.empty()) return;
  AppendPackedHeader(values.size(), out);
  const size_t at = out->size();
  const size_t groups = (values.size() + kGroup - 1) / kGroup;
  out->resize(at + groups * static_cast<size_t>(width));  // zeroes pad the last group
  PackBits(values.data(), values.size(), width, out->data() + at);
}

bool IsUniform(const uint32_t* group) {
  uint32_t difference = 0;
  for (size_t i = 1; i < kGroup; ++i) difference |= group[i] ^ group[0];
  return difference == 0;
}

}  // namespace

// Runs are sought from group to group only, because a packed run before one must hold whole groups;
// that also leaves one well predicted branch for eight values.
void AppendRleHybrid(std::span<const uint32_t> values, int width, ByteBuffer* out) {
  const size_t min_run = width == 0 ? kGroup : std::max(kGroup, kMinRunBits / static_cast<size_t>(width));
  size_t packed_from = 0;
  size_t at = 0;
  while (at + kGroup <= values.size()) {
    if (!IsUniform(values.data() + at)) {
      at += kGroup;
      continue;
    }
    size_t end = at + kGroup;
    while (end < values.size() && values[end] == values[at]) ++end;
    if (end - at < min_run) {
      at += (end - at) / kGroup * kGroup;
      continue;
    }
    AppendPacked(values.subspan(packed_from, at - packed_from), width, out);
    AppendRun(values[at], end - at, width, out);
    at = packed_from = end;
  }
  AppendPacked(values.subspan(packed_from), width, out);
}

void AppendRleConstantBits(bool bit, size_t count, ByteBuffer* out) { AppendRun(bit ? 1 : 0, count, 1, out); }

// A packed run of width 1 is the bitmap itself. Only whole words of equal bits become runs, which
// keeps sparse nulls small and everything else a copy.
void AppendRleBits(const uint64_t* words, size_t count, ByteBuffer* out) {
  constexpr size_t kBits = 64;
  const size_t whole = count / kBits;
  const auto is_constant = [](uint64_t word) { return word == 0 || word == ~uint64_t{0}; };
  const auto append_packed = [&](size_t first, size_t bits) {
    if (bits == 0) return;
    AppendPackedHeader(bits, out);
    AppendBytes(*out, {reinterpret_cast<const uint8_t*>(words + first), (bits + 7) / 8});
  };
  size_t packed_from = 0;
  size_t at = 0;
  while (at < whole) {
    size_t end = at;
    while (end < whole && is_constant(words[at]) && words[end] == words[at]) ++end;
    if (end - at < kMinRunBits / kBits) {
      ++at;
      continue;
    }
    append_packed(packed_from, (at - packed_from) * kBits);
    AppendRleConstantBits(words[at] != 0, (end - at) * kBits, out);
    at = packed_from = end;
  }
  append_packed(packed_from, count - packed_from * kBits);
}

}  // namespace petalite::parquet
