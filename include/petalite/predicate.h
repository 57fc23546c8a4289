// A condition on one column.

#pragma once

#include <vector>

#include "petalite/value.h"

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

}  // namespace petalite
