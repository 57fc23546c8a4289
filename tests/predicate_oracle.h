// What a predicate says of one value, word for word: what pruning and filtering are compared with.

#pragma once

#include <algorithm>

#include "petalite/predicate.h"

namespace petalite {

inline bool Matches(const Predicate& predicate, const Value& value) {
  const auto matches = [&](const Predicate& child) { return Matches(child, value); };
  switch (predicate.kind) {
    case PredicateKind::kAlways:
      return true;
    case PredicateKind::kIsNull:
      return value.is_null();
    case PredicateKind::kIsNotNull:
      return !value.is_null();
    case PredicateKind::kAnd:
      return std::all_of(predicate.children.begin(), predicate.children.end(), matches);
    case PredicateKind::kOr:
      return std::any_of(predicate.children.begin(), predicate.children.end(), matches);
    default:
      break;
  }
  if (value.is_null()) return false;
  if (predicate.kind == PredicateKind::kIn) {
    return std::any_of(predicate.values.begin(), predicate.values.end(),
                       [&](const Value& each) { return Value::Compare(value, each) == 0; });
  }
  const auto order = Value::Compare(value, predicate.values[0]);
  switch (predicate.kind) {
    case PredicateKind::kEqual:
      return order == 0;
    case PredicateKind::kNotEqual:
      return order != 0;
    case PredicateKind::kLess:
      return order < 0;
    case PredicateKind::kLessEqual:
      return order <= 0;
    case PredicateKind::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

}  // namespace petalite
