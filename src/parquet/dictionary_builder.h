// The dictionary of a column chunk: its distinct values, and a code for each value.

#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "parquet/column_buffer.h"

namespace petalite::parquet {

struct DictionaryLimits {
  size_t max_bytes = 0;    // of the dictionary's PLAIN bytes
  size_t max_entries = 0;  // more make the building stop
  // Stop before the first if a sample has hardly a value twice, and after an eighth of the values if most of them are
  // distinct: a column of (nearly) unique values then costs little.
  bool give_up_early = true;
};

struct ChunkDictionary {
  ByteBuffer plain;              // the dictionary page's body
  std::vector<uint64_t> hashes;  // XXH64 of each entry
  std::vector<uint32_t> codes;   // of each value
  std::vector<uint32_t> first;   // an occurrence of each entry among the values

  size_t entries() const { return first.size(); }
  // Of a code in a data page; at least 1, because some readers refuse indices of no width.
  int code_width() const;
};

// Builds the dictionary of the buffer's values (not of booleans, and not of none) into an empty
// `out`. False when it exceeds the limits.
bool BuildDictionary(const ColumnBuffer& buffer, const DictionaryLimits& limits, ChunkDictionary* out);

// The same for values of 32 or 64 bits that lie close together, at most kMaxDenseRange apart, whose
// smallest is `min` (as its bits): a table over the range does without hashing. Its entries are
// sorted.
inline constexpr uint64_t kMaxDenseRange = 1 << 16;
bool BuildDenseDictionary(const ColumnBuffer& buffer, uint64_t min, uint64_t range, const DictionaryLimits& limits,
                          ChunkDictionary* out);

}  // namespace petalite::parquet
