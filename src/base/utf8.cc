#include "base/utf8.h"

#include <cstdint>

#include "base/bytes.h"

namespace petalite {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080ull;

// The length of the leading run of ASCII, at least `at`, in steps that a compiler turns into vector
// loads: most text is ASCII, and imports validate every byte.
size_t SkipAscii(const char* data, size_t at, size_t size) {
  for (; at + 16 <= size; at += 16) {
    if (((LoadLe<uint64_t>(data + at) | LoadLe<uint64_t>(data + at + 8)) & kHighBits) != 0) break;
  }
  for (; at + 8 <= size; at += 8) {
    const uint64_t high = LoadLe<uint64_t>(data + at) & kHighBits;
    if (high != 0) return at + static_cast<size_t>(__builtin_ctzll(high)) / 8;
  }
  while (at < size && static_cast<uint8_t>(data[at]) < 0x80) ++at;
  return at;
}

bool IsContinuation(char byte) { return (static_cast<uint8_t>(byte) & 0xc0) == 0x80; }

// The length of the code point of several bytes that begins `data`; 0 if it is not valid.
size_t MultiByteLength(const char* data, size_t size) {
  const auto lead = static_cast<uint8_t>(data[0]);
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || size < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(data[i])) return 0;
  }
  // The second byte's range tells overlong forms (e0, f0), surrogates (ed) and what is beyond
  // U+10FFFF (f4).
  const auto second = static_cast<uint8_t>(data[1]);
  if (lead == 0xe0 && second < 0xa0) return 0;
  if (lead == 0xed && second > 0x9f) return 0;
  if (lead == 0xf0 && second < 0x90) return 0;
  if (lead == 0xf4 && second > 0x8f) return 0;
  return length;
}

}  // namespace

size_t Utf8ValidPrefix(std::string_view text) {
  size_t at = 0;
  for (;;) {
    at = SkipAscii(text.data(), at, text.size());
    if (at == text.size()) return at;
    // Text that is not ASCII comes in runs: stay here until the run ends.
    do {
      const size_t length = MultiByteLength(text.data() + at, text.size() - at);
      if (length == 0) return at;
      at += length;
    } while (at < text.size() && static_cast<uint8_t>(text[at]) >= 0x80);
  }
}

}  // namespace petalite
