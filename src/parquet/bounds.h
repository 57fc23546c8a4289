// Smallest and largest values of pages and chunks, as the writer computes, compares, shortens and
// publishes them. A bound is the PLAIN bytes of a value, without a length prefix.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "parquet/column_buffer.h"
#include "parquet/dictionary_builder.h"
#include "petalite/value.h"

namespace petalite::parquet {

// By what order a column's values have bounds.
enum class BoundOrder : uint8_t {
  kNone,  // interval
  kUInt8,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat,
  kDouble,
  kBytes,           // unsigned, a shorter prefix first
  kBigEndianSigned  // of equal lengths
};

BoundOrder OrderOf(const Type& type);

// Negative, zero or positive, as `a` is less than, equal to or greater than `b`. NaN is no bound.
int CompareBounds(BoundOrder order, std::string_view a, std::string_view b);

struct Bounds {
  std::string min;
  std::string max;
};

// What a look at some of a column's values yields. NaN is left out of the bounds; a minimum that is
// a zero is −0.0, a maximum that is one +0.0, because readers may take either for both.
struct BoundsScan {
  std::optional<Bounds> bounds;  // none: no values, or no order, or only NaN
  bool has_nan = false;
  bool has_zero = false;  // floating-point only
};

// Of the values [begin, end) of the buffer.
BoundsScan ScanBounds(const ColumnBuffer& buffer, BoundOrder order, size_t begin, size_t end);

// The same for byte strings of which the dictionary is known: looks at each entry once per page.
class DictionaryBoundsScanner {
 public:
  DictionaryBoundsScanner(const ColumnBuffer& buffer, const ChunkDictionary& dictionary)
      : buffer_(buffer), dictionary_(dictionary), seen_in_(dictionary.entries(), 0) {}

  BoundsScan Scan(size_t begin, size_t end);

 private:
  const ColumnBuffer& buffer_;
  const ChunkDictionary& dictionary_;
  std::vector<uint32_t> seen_in_;  // the last scan that met each entry
  uint32_t scan_ = 0;
};

// Bounds longer than this are shortened in statistics and column indexes.
inline constexpr size_t kMaxBoundBytes = 64;

// Shorten a bound of kBytes order; true if it still is the value itself. UTF-8 is cut between code
// points. A maximum is raised so that it stays one; where that is impossible it stays whole.
bool ShortenMin(bool utf8, std::string* bound);
bool ShortenMax(bool utf8, std::string* bound);

// The bound in the canonical form of its type.
Value BoundValue(const Type& type, std::string_view bound);

}  // namespace petalite::parquet
