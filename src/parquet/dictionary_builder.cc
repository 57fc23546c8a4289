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

constexpr size_t kBatch = 256;            // values
constexpr size_t kEarlyFraction = 8;      // of the values, after which a useless dictionary shows
constexpr double kUselessDistinct = 0.8;  // distinct share at that point
// Before that, stretches of values from everywhere tell whether a value is hardly ever repeated.
constexpr size_t kStretches = 256;
constexpr size_t kStretch = 8;
constexpr double kUniqueDistinct = 0.99;

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

// Codes by key: open addressing with linear probing.
class CodeTable {
 public:
  struct Slot {
    uint64_t key;
    uint32_t next_code;  // the code plus one; 0 marks an empty slot
  };

  CodeTable() : slots_(kInitialSlots) {}

  // Where the search for a key begins; it goes on to the next slot, and from the last to the first.
  static size_t Start(uint64_t key, size_t mask) {
    const uint64_t product = key * 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: mixes upwards …
    return (product ^ product >> 32) & mask;            // … and back down
  }
  const Slot* slots() const { return slots_.data(); }
  size_t mask() const { return slots_.size() - 1; }
  size_t size() const { return size_; }

  // The code of a known entry of that key for which `equal(code)` holds; after entering it, the
  // next code if there is none.
  template <typename Equal>
  uint32_t FindOrInsert(uint64_t key, Equal equal) {
    size_t at = Start(key, mask());
    for (; slots_[at].next_code != 0; at = (at + 1) & mask()) {
      if (slots_[at].key == key && equal(slots_[at].next_code - 1)) return slots_[at].next_code - 1;
    }
    slots_[at] = {key, static_cast<uint32_t>(++size_)};
    if (2 * size_ > slots_.size()) Grow();
    return static_cast<uint32_t>(size_ - 1);
  }

 private:
  static constexpr size_t kInitialSlots = 1024;

  void Grow() {
    std::vector<Slot> old(4 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.next_code == 0) continue;
      size_t at = Start(slot.key, mask());
      while (slots_[at].next_code != 0) at = (at + 1) & mask();
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

// Gives codes to the values [begin, begin + count), whose keys are `batch`, and notes where entries
// occur first. Nearly all are found in the first slot: that road keeps to registers.
template <typename Keys>
void AssignBatch(const Keys& keys, const uint64_t* batch, size_t begin, size_t count, CodeTable* table,
                 ChunkDictionary* out) {
  const CodeTable::Slot* slots = table->slots();
  size_t mask = table->mask();
  uint32_t* codes = out->codes.data() + begin;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = batch[i];
    const auto equal = [&](uint32_t code) { return keys.Equal(key, out->first[code], begin + i); };
    const CodeTable::Slot slot = slots[CodeTable::Start(key, mask)];
    if (slot.key == key && slot.next_code != 0 && equal(slot.next_code - 1)) [[likely]] {
      codes[i] = slot.next_code - 1;
      continue;
    }
    codes[i] = table->FindOrInsert(key, equal);
    if (codes[i] == out->first.size()) out->first.push_back(static_cast<uint32_t>(begin + i));
    slots = table->slots();
    mask = table->mask();
  }
}

// Whether hardly any value occurs twice: next to each other, or anywhere among a few thousand.
template <typename Keys>
bool LooksUnique(const Keys& keys, size_t count) {
  const size_t between = count / kStretches;
  CodeTable table;
  for (size_t i = 0; i < kStretches; ++i) {
    const size_t begin = i * between + Remix(i) % (between - kStretch);
    for (size_t at = begin; at < begin + kStretch; ++at) {
      table.FindOrInsert(keys[at], [](uint32_t) { return true; });
    }
  }
  return static_cast<double>(table.size()) > kUniqueDistinct * kStretches * kStretch;
}

// False if the limits are exceeded. Works in batches: the keys of one first, so that their loads do
// not wait for the table's.
template <typename Keys>
bool AssignCodes(const Keys& keys, size_t count, const DictionaryLimits& limits, ChunkDictionary* out) {
  const size_t early = limits.give_up_early ? count / kEarlyFraction : count;
  if (early > kStretches * kStretch && early < count && LooksUnique(keys, count)) return false;
  CodeTable table;
  size_t bytes = 0;
  for (size_t begin = 0; begin < count; begin += kBatch) {
    const size_t end = std::min(begin + kBatch, count);
    uint64_t batch[kBatch];
    for (size_t i = begin; i < end; ++i) batch[i - begin] = keys[i];
    const size_t known = table.size();
    AssignBatch(keys, batch, begin, end - begin, &table, out);
    for (size_t code = known; code < table.size(); ++code) bytes += keys.PlainSize(out->first[code]);
    if (bytes > limits.max_bytes || table.size() > limits.max_entries) return false;
    const bool at_early = begin < early && early <= end && early < count;
    if (at_early && static_cast<double>(table.size()) > kUselessDistinct * static_cast<double>(end)) return false;
  }
  return true;
}

// The entries' bytes and hashes, from where they occur first.
void CollectEntries(const ColumnBuffer& buffer, ChunkDictionary* out) {
  out->hashes.resize(out->first.size());
  for (size_t code = 0; code < out->first.size(); ++code) {
    const size_t first = out->first[code];
    AppendBytes(out->plain, buffer.Plain(first, first + 1));
    HashValues(buffer, first, first + 1, &out->hashes[code]);
  }
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
  const auto assign = [&](const auto& keys) { return AssignCodes(keys, buffer.values(), limits, out); };
  out->codes.resize(buffer.values());
  bool built;
  if (buffer.width() == 4) {
    built = assign(FixedKeys<uint32_t>{buffer.fixed<uint32_t>()});
  } else if (buffer.width() == 8) {
    built = assign(FixedKeys<uint64_t>{buffer.fixed<uint64_t>()});
  } else {
    built = assign(BytesKeys{buffer});
  }
  if (built) CollectEntries(buffer, out);
  return built;
}

bool BuildDenseDictionary(const ColumnBuffer& buffer, uint64_t min, uint64_t range, const DictionaryLimits& limits,
                          ChunkDictionary* out) {
  if (buffer.width() == 4) {
    return AssignDenseCodes(buffer.fixed<uint32_t>(), buffer.values(), static_cast<uint32_t>(min), range, limits, out);
  }
  return AssignDenseCodes(buffer.fixed<uint64_t>(), buffer.values(), min, range, limits, out);
}

}  // namespace petalite::parquet
