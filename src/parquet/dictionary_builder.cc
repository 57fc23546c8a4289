#include "parquet/dictionary_builder.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "parquet/bit_packing.h"
#include "parquet/value_hash.h"

namespace petalite::parquet {
namespace {

constexpr size_t kEarlyFraction = 8;      // of the values, after which a useless dictionary shows
constexpr double kUselessDistinct = 0.8;  // distinct share at that point

// A value's key stands for it in the table. Values of up to seven bytes, and fixed-width ones of up
// to eight, are their key; for others it is a hash, and equal keys leave the bytes to be compared.
// XXH64, which filters want, is slower for short values and is left to the few distinct ones.
template <typename T>
struct FixedKeys {
  const T* values;

  uint64_t operator[](size_t i) const { return values[i]; }
  bool Equal(uint64_t, size_t, size_t) const { return true; }
  size_t PlainSize(size_t) const { return sizeof(T); }
};

struct BytesKeys {
  const ColumnBuffer& buffer;

  static constexpr int kSizeShift = 56;  // the key's highest byte: the size, or kHashed
  static constexpr uint64_t kHashed = uint64_t{0xff} << kSizeShift;

  uint64_t operator[](size_t i) const {
    const std::string_view value = buffer.value(i);
    const size_t size = value.size();
    if (size < 8) {  // ColumnBuffer lets us read on
      const uint64_t mask = (uint64_t{1} << (8 * size)) - 1;
      return (LoadLe<uint64_t>(value.data()) & mask) | uint64_t{size} << kSizeShift;
    }
    if (size > 16) return XXH3_64bits(value.data(), size) | kHashed;
    const uint64_t front = LoadLe<uint64_t>(value.data());
    const uint64_t back = LoadLe<uint64_t>(value.data() + size - 8);
    return Remix(front * 0x9e3779b97f4a7c15 + back + size) | kHashed;
  }
  bool Equal(uint64_t key, size_t a, size_t b) const {
    return (key & kHashed) != kHashed || buffer.value(a) == buffer.value(b);
  }
  size_t PlainSize(size_t i) const { return buffer.Plain(i, i + 1).size(); }
};

// Codes by key: open addressing with linear probing. A slot is the code plus one, under the half of
// the key's hash that does not give the position; zero is empty.
class CodeTable {
 public:
  CodeTable() : slots_(kInitialSlots), mask_(kInitialSlots - 1) {}

  // The code of a known entry of that key for which `equal(code)` holds; after entering it, the
  // next code if there is none.
  template <typename Equal>
  uint32_t FindOrInsert(uint64_t key, Equal equal) {
    const uint64_t hash = Hash(key);
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const uint64_t slot = slots_[at];
      if (slot == 0) {
        const auto code = static_cast<uint32_t>(keys_.size());
        keys_.push_back(key);
        slots_[at] = SlotOf(hash, code);
        if (2 * keys_.size() > mask_) Grow();
        return code;
      }
      const auto code = static_cast<uint32_t>(slot) - 1;
      if ((slot ^ hash) >> 32 == 0 && keys_[code] == key && equal(code)) return code;
    }
  }

  size_t size() const { return keys_.size(); }

 private:
  static constexpr size_t kInitialSlots = 2048;

  static uint64_t Hash(uint64_t key) {
    const uint64_t product = key * 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: mixes upwards …
    return product ^ product >> 32;                     // … and back down to where positions come from
  }
  static uint64_t SlotOf(uint64_t hash, uint32_t code) { return (hash >> 32 << 32) | (uint64_t{code} + 1); }

  void Grow() {
    slots_.assign(4 * slots_.size(), 0);
    mask_ = slots_.size() - 1;
    for (size_t code = 0; code < keys_.size(); ++code) {
      const uint64_t hash = Hash(keys_[code]);
      size_t at = hash & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = SlotOf(hash, static_cast<uint32_t>(code));
    }
  }

  std::vector<uint64_t> slots_;
  size_t mask_;
  std::vector<uint64_t> keys_;  // of each code
};

template <typename Keys>
bool AssignCodes(const ColumnBuffer& buffer, const Keys& keys, const DictionaryLimits& limits, ChunkDictionary* out) {
  const size_t count = buffer.values();
  const size_t early = limits.give_up_early ? count / kEarlyFraction : count;
  CodeTable table;
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = keys[i];
    const size_t entries = table.size();
    const uint32_t code =
        table.FindOrInsert(key, [&](uint32_t known) { return keys.Equal(key, out->first[known], i); });
    out->codes[i] = code;
    if (code == entries) {
      out->first.push_back(static_cast<uint32_t>(i));
      bytes += keys.PlainSize(i);
      if (bytes > limits.max_bytes || entries >= limits.max_entries) return false;
    }
    const bool at_early = i + 1 == early && early < count;
    if (at_early && static_cast<double>(table.size()) > kUselessDistinct * static_cast<double>(early)) return false;
  }
  out->plain.reserve(bytes);
  out->hashes.reserve(out->first.size());
  for (const uint32_t first : out->first) {
    AppendBytes(out->plain, buffer.Plain(first, first + 1));
    HashValues(buffer, first, first + 1, &out->hashes.emplace_back());
  }
  return true;
}

template <typename T>
bool AssignDenseCodes(const T* values, size_t count, T min, uint64_t range, const DictionaryLimits& limits,
                      ChunkDictionary* out) {
  std::vector<uint32_t> table(range + 1, UINT32_MAX);  // an occurrence of each value, later its code
  for (size_t i = 0; i < count; ++i) table[static_cast<T>(values[i] - min)] = static_cast<uint32_t>(i);
  for (uint32_t& slot : table) {
    if (slot == UINT32_MAX) continue;
    if (out->entries() == limits.max_entries) return false;
    const T value = values[slot];
    const auto code = static_cast<uint32_t>(out->entries());
    out->first.push_back(std::exchange(slot, code));
    out->hashes.push_back(Xxh64(&value, sizeof value));
    AppendLe(out->plain, value);
  }
  if (out->plain.size() > limits.max_bytes) return false;
  out->codes.resize(count);
  for (size_t i = 0; i < count; ++i) out->codes[i] = table[static_cast<T>(values[i] - min)];
  return true;
}

}  // namespace

int ChunkDictionary::code_width() const { return std::max(1, BitWidth(entries() - 1)); }

bool BuildDictionary(const ColumnBuffer& buffer, const DictionaryLimits& limits, ChunkDictionary* out) {
  out->codes.resize(buffer.values());
  switch (buffer.width()) {
    case 4:
      return AssignCodes(buffer, FixedKeys<uint32_t>{buffer.fixed<uint32_t>()}, limits, out);
    case 8:
      return AssignCodes(buffer, FixedKeys<uint64_t>{buffer.fixed<uint64_t>()}, limits, out);
    default:
      return AssignCodes(buffer, BytesKeys{buffer}, limits, out);
  }
}

bool BuildDenseDictionary(const ColumnBuffer& buffer, uint64_t min, uint64_t range, const DictionaryLimits& limits,
                          ChunkDictionary* out) {
  if (buffer.width() == 4) {
    return AssignDenseCodes(buffer.fixed<uint32_t>(), buffer.values(), static_cast<uint32_t>(min), range, limits, out);
  }
  return AssignDenseCodes(buffer.fixed<uint64_t>(), buffer.values(), min, range, limits, out);
}

}  // namespace petalite::parquet
