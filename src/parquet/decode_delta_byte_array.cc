// DELTA_BYTE_ARRAY: for each string the length of the prefix that it shares with the one before, and
// the rest in DELTA_LENGTH_BYTE_ARRAY.

#include <cstring>
#include <vector>

#include "parquet/decoders.h"

namespace petalite::parquet {
namespace {

// Prefixes make the strings of a page longer than its bytes: n bytes can describe about n²/4. Pages
// of writers stay near a mebibyte; this bound only stops those that were made to exhaust memory.
constexpr uint64_t kMaxExpansion = uint64_t{1} << 30;

}  // namespace

Status DecodeDeltaByteArray(Bytes in, size_t count, StringRef* out, ByteBuffer* arena) {
  constexpr std::string_view kName = "DELTA_BYTE_ARRAY";
  std::vector<uint32_t> prefixes(count);
  size_t consumed = 0;
  RETURN_IF_ERROR(DecodeDeltaBinaryPacked(in, count, prefixes.data(), &consumed));
  std::vector<StringRef> suffixes(count);
  RETURN_IF_ERROR(DecodeDeltaLengthByteArray(in.subspan(consumed), count, suffixes.data()));
  uint64_t total = 0;
  uint64_t previous = 0;
  for (size_t i = 0; i < count; ++i) {
    if (prefixes[i] > previous) {
      return Corruption("{}: string {} shares {} bytes with one of {}", kName, i, prefixes[i], previous);
    }
    previous = uint64_t{prefixes[i]} + suffixes[i].size();
    total += previous;
    if (total > kMaxExpansion) return Corruption("{}: the strings of a page exceed {} bytes", kName, kMaxExpansion);
  }
  arena->resize(total);
  uint8_t* at = arena->data();
  const uint8_t* before = at;
  for (size_t i = 0; i < count; ++i) {
    uint8_t* const string = at;
    if (prefixes[i] != 0) std::memcpy(at, before, prefixes[i]);
    at += prefixes[i];
    if (suffixes[i].size() != 0) std::memcpy(at, suffixes[i].data(), suffixes[i].size());
    at += suffixes[i].size();
    out[i] = StringRef(string, static_cast<size_t>(at - string));
    before = string;
  }
  return Status::Ok();
}

}  // namespace petalite::parquet
