// A condition on one column, as far as pruning can use it: a conservative tree. Whatever a query
// engine cannot express here it leaves out (kAlways), because pruning may keep too much and must
// never drop a row.

#pragma once

#include <vector>

#include "column/value.h"

namespace petalite {

enum class PredicateKind : uint8_t {
  kAlways,  // says nothing
  kEqual,   // column = values[0]; the comparisons are false for nulls
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,  // column = any of values
  kIsNull,
  kIsNotNull,
  kAnd,  // of children
  kOr,
};

// Constants have the column's type and are not null; order is that of Value::Compare (NaN
// greatest).
struct Predicate {
  PredicateKind kind = PredicateKind::kAlways;
  std::vector<Value> values;
  std::vector<Predicate> children;

  static Predicate Compare(PredicateKind kind, Value value) { return {kind, {std::move(value)}, {}}; }
};

// What is known of the values of a column in some piece of it (a file, a row group, a page).
struct ZoneMap {
  uint64_t rows = 0;
  bool has_null_count = false;
  uint64_t null_count = 0;
  Value min;  // null: unknown; otherwise ≤ every value that is neither null nor NaN
  Value max;
  bool min_exact = false;  // the bound is a value that is there
  bool max_exact = false;
  bool may_have_nan = true;  // only looked at for floating-point columns
};

// False only if no row of the piece can satisfy the predicate.
bool MayMatch(const Predicate& predicate, const ZoneMap& zone);

}  // namespace petalite
