#include <algorithm>

#include "parquet/reader.h"

namespace petalite::parquet {
namespace {

bool FilterMayContain(const Value& value, const LeafColumn& leaf, const bloom::FilterView& filter) {
  if (value.is_nan()) return true;  // NaN has many representations, and as many hashes
  const auto* number = std::get_if<double>(&value.storage());
  if (number != nullptr && *number == 0) {
    return filter.MayContain(FilterHash(leaf, Value(0.0))) || filter.MayContain(FilterHash(leaf, Value(-0.0)));
  }
  return filter.MayContain(FilterHash(leaf, value));
}

}  // namespace

bool FilterMayMatch(const Predicate& predicate, const LeafColumn& leaf, const bloom::FilterView& filter) {
  if (!leaf.can_filter) return true;
  const auto may_match = [&](const Predicate& child) { return FilterMayMatch(child, leaf, filter); };
  const auto may_contain = [&](const Value& value) { return FilterMayContain(value, leaf, filter); };
  switch (predicate.kind) {
    case PredicateKind::kEqual:
    case PredicateKind::kIn:
      return std::any_of(predicate.values.begin(), predicate.values.end(), may_contain);
    case PredicateKind::kAnd:
      return std::all_of(predicate.children.begin(), predicate.children.end(), may_match);
    case PredicateKind::kOr:
      return std::any_of(predicate.children.begin(), predicate.children.end(), may_match);
    default:
      return true;
  }
}

}  // namespace petalite::parquet
