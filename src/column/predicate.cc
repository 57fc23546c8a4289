#include "column/predicate.h"

#include <algorithm>

namespace petalite {
namespace {

bool RangeMayContain(const ZoneMap& zone, const Value& value) {
  if (value.is_nan()) return zone.may_have_nan;
  if (!zone.min.is_null() && Value::Compare(value, zone.min) < 0) return false;
  if (!zone.max.is_null() && Value::Compare(value, zone.max) > 0) return false;
  return true;
}

// Whether a value less than (or, if `or_equal`, equal to) the constant may be there.
bool MayBeLess(const ZoneMap& zone, const Value& value, bool or_equal) {
  if (zone.min.is_null() || value.is_nan()) return true;
  const auto order = Value::Compare(zone.min, value);
  return order < 0 || (or_equal && order == 0);
}

// NaN is greater than every number and is not within the bounds.
bool MayBeGreater(const ZoneMap& zone, const Value& value, bool or_equal) {
  const bool floating = std::holds_alternative<double>(value.storage());
  if (floating && zone.may_have_nan && (or_equal || !value.is_nan())) return true;
  if (value.is_nan()) return false;
  if (zone.max.is_null()) return true;
  const auto order = Value::Compare(zone.max, value);
  return order > 0 || (or_equal && order == 0);
}

bool MayDiffer(const ZoneMap& zone, const Value& value) {
  // Only a piece whose one value is the constant is free of others; inexact bounds can still be equal to each other
  // only if the values between them are.
  if (zone.min.is_null() || zone.max.is_null() || value.is_nan()) return true;
  if (std::holds_alternative<double>(value.storage()) && zone.may_have_nan) return true;
  return Value::Compare(zone.min, value) != 0 || Value::Compare(zone.max, value) != 0;
}

bool AllNull(const ZoneMap& zone) { return zone.has_null_count && zone.null_count >= zone.rows; }

}  // namespace

bool MayMatch(const Predicate& predicate, const ZoneMap& zone) {
  if (zone.rows == 0) return false;
  const auto matches_child = [&](const Predicate& child) { return MayMatch(child, zone); };
  switch (predicate.kind) {
    case PredicateKind::kAlways:
      return true;
    case PredicateKind::kAnd:
      return std::all_of(predicate.children.begin(), predicate.children.end(), matches_child);
    case PredicateKind::kOr:
      return std::any_of(predicate.children.begin(), predicate.children.end(), matches_child);
    case PredicateKind::kIsNull:
      return !zone.has_null_count || zone.null_count > 0;
    case PredicateKind::kIsNotNull:
      return !AllNull(zone);
    default:
      break;
  }
  if (AllNull(zone)) return false;
  const auto within = [&](const Value& value) { return RangeMayContain(zone, value); };
  switch (predicate.kind) {
    case PredicateKind::kEqual:
      return within(predicate.values[0]);
    case PredicateKind::kIn:
      return std::any_of(predicate.values.begin(), predicate.values.end(), within);
    case PredicateKind::kNotEqual:
      return MayDiffer(zone, predicate.values[0]);
    case PredicateKind::kLess:
      return MayBeLess(zone, predicate.values[0], false);
    case PredicateKind::kLessEqual:
      return MayBeLess(zone, predicate.values[0], true);
    case PredicateKind::kGreater:
      return MayBeGreater(zone, predicate.values[0], false);
    case PredicateKind::kGreaterEqual:
      return MayBeGreater(zone, predicate.values[0], true);
    default:
      return true;
  }
}

}  // namespace petalite
