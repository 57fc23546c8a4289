#include "parquet/dictionary_builder.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "parquet/bit_packing.h"
#include "parquet/value_hash.h"

namespace petalite::parquet {
namespace {

constexpr size_t kHashBatch = 1024;       // values hashed at a time, to stay in the first-level cache
constexpr size_t kEarlyFraction = 8;      // of the values, after which a useless dictionary shows
constexpr double kUselessDistinct = 0.8;  // distinct share at that point

// Open addressing with linear probing over hashes that are there already. A slot holds the hash's
// upper half, which the position does not use, and the code plus one; zero is an empty slot.
class CodeTable {
 public:
  CodeTable() : slots_(kInitialSlots), mask_(kInitialSlots - 1) {}

  // The code of an entry with that hash for which `equals(code)` holds; `next` after inserting it
  // if there is none.
  template <typename Equals>
  uint32_t FindOrInsert(uint64_t hash, uint32_t next, Equals equals) {
    const uint64_t tag = hash & kTagMask;
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const uint64_t slot = slots_[at];
      if (slot == 0) {
        slots_[at] = tag | (next + 1);
        return next;
      }
      const auto code = static_cast<uint32_t>(slot) - 1;
      if ((slot & kTagMask) == tag && equals(code)) return code;
    }
  }

  bool IsFull(size_t entries) const { return 2 * entries > mask_; }

  void Grow(const std::vector<uint64_t>& hashes) {
    slots_.assign(4 * slots_.size(), 0);
    mask_ = slots_.size() - 1;
    for (size_t code = 0; code < hashes.size(); ++code) {
      size_t at = hashes[code] & mask_;
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = (hashes[code] & kTagMask) | (code + 1);
    }
  }

 private:
  static constexpr size_t kInitialSlots = 4096;
  static constexpr uint64_t kTagMask = ~uint64_t{0xffffffff};

  std::vector<uint64_t> slots_;
  size_t mask_;
};

// How values of a kind are compared, and how many dictionary bytes one takes.
template <typename T>
struct FixedValues {
  const T* values;
  bool Equal(size_t a, size_t b) const { return values[a] == values[b]; }
  size_t PlainSize(size_t) const { return sizeof(T); }
};
struct AnyValues {
  const ColumnBuffer& buffer;
  bool Equal(size_t a, size_t b) const { return buffer.value(a) == buffer.value(b); }
  size_t PlainSize(size_t i) const { return buffer.Plain(i, i + 1).size(); }
};

template <typename Values>
bool AssignCodes(const ColumnBuffer& buffer, const Values& values, const DictionaryLimits& limits, ValueHashes* hashes,
                 ChunkDictionary* out) {
  const size_t count = buffer.values();
  const size_t early = limits.give_up_early ? count / kEarlyFraction : count;
  CodeTable table;
  size_t bytes = 0;
  for (size_t begin = 0; begin < count; begin += kHashBatch) {
    const size_t end = std::min(begin + kHashBatch, count);
    HashValues(buffer, begin, end, hashes->values.data() + begin);
    hashes->done = end;
    for (size_t i = begin; i < end; ++i) {
      const uint64_t hash = hashes->values[i];
      const auto next = static_cast<uint32_t>(out->entries());
      const uint32_t code =
          table.FindOrInsert(hash, next, [&](uint32_t known) { return values.Equal(out->first[known], i); });
      out->codes[i] = code;
      if (code == next) {
        out->hashes.push_back(hash);
        out->first.push_back(static_cast<uint32_t>(i));
        bytes += values.PlainSize(i);
        if (table.IsFull(out->entries())) table.Grow(out->hashes);
      }
    }
    if (bytes > limits.max_bytes || out->entries() > limits.max_entries) return false;
    const bool at_early = begin < early && end >= early;
    if (limits.give_up_early && at_early &&
        static_cast<double>(out->entries()) > kUselessDistinct * static_cast<double>(end)) {
      return false;
    }
  }
  out->plain.reserve(bytes);
  for (const uint32_t first : out->first) AppendBytes(out->plain, buffer.Plain(first, first + 1));
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
    out->first.push_back(slot);
    slot = static_cast<uint32_t>(out->entries());
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

bool BuildDictionary(const ColumnBuffer& buffer, const DictionaryLimits& limits, ValueHashes* hashes,
                     ChunkDictionary* out) {
  out->codes.resize(buffer.values());
  switch (buffer.width()) {
    case 4:
      return AssignCodes(buffer, FixedValues<uint32_t>{buffer.fixed<uint32_t>()}, limits, hashes, out);
    case 8:
      return AssignCodes(buffer, FixedValues<uint64_t>{buffer.fixed<uint64_t>()}, limits, hashes, out);
    default:
      return AssignCodes(buffer, AnyValues{buffer}, limits, hashes, out);
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
