#include "column/row_filter.h"

#include <algorithm>
#include <iterator>

#include "column/types.h"

namespace petalite {
namespace {

// Value::Compare's order, on values as they lie in memory.
template <typename T>
bool Less(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, StringRef>) {
    return a.view() < b.view();
  } else if constexpr (std::is_same_v<T, Int128>) {
    return ToNative(a) < ToNative(b);
  } else if constexpr (std::is_floating_point_v<T>) {
    return b != b ? a == a : a < b;  // NaN is the greatest
  } else {
    return a < b;
  }
}

template <typename T>
T Constant(const Type& type, const Value& value) {
  alignas(16) uint8_t slot[16] = {};
  value.ToSlot(type, slot);
  return *reinterpret_cast<const T*>(slot);
}

template <typename Condition>
void Keep(std::vector<uint32_t>* rows, const Condition& condition) {
  std::erase_if(*rows, [&](uint32_t row) { return !condition(row); });
}

template <typename T>
void KeepCompared(const Predicate& predicate, const Type& type, const ColumnView& view, std::vector<uint32_t>* rows) {
  std::vector<T> constants;
  for (const Value& value : predicate.values) constants.push_back(Constant<T>(type, value));
  std::sort(constants.begin(), constants.end(), Less<T>);
  const T constant = constants.empty() ? T{} : constants[0];
  const auto keep = [&](const auto& compare) {
    Keep(rows, [&](uint32_t row) { return view.IsValid(row) && compare(view.Value<T>(row)); });
  };
  switch (predicate.kind) {
    case PredicateKind::kEqual:
      return keep([&](const T& v) { return !Less(v, constant) && !Less(constant, v); });
    case PredicateKind::kNotEqual:
      return keep([&](const T& v) { return Less(v, constant) || Less(constant, v); });
    case PredicateKind::kLess:
      return keep([&](const T& v) { return Less(v, constant); });
    case PredicateKind::kLessEqual:
      return keep([&](const T& v) { return !Less(constant, v); });
    case PredicateKind::kGreater:
      return keep([&](const T& v) { return Less(constant, v); });
    case PredicateKind::kGreaterEqual:
      return keep([&](const T& v) { return !Less(v, constant); });
    case PredicateKind::kIn:
      return keep([&](const T& v) { return std::binary_search(constants.begin(), constants.end(), v, Less<T>); });
    default:
      CHECK(false);
  }
}

void KeepAny(const Predicate& predicate, const Type& type, const ColumnView& view, std::vector<uint32_t>* rows) {
  std::vector<uint32_t> left = std::move(*rows);
  rows->clear();
  for (const Predicate& child : predicate.children) {
    std::vector<uint32_t> matching = left;
    KeepMatching(child, type, view, &matching);
    std::vector<uint32_t> other, all;
    std::set_difference(left.begin(), left.end(), matching.begin(), matching.end(), std::back_inserter(other));
    std::merge(rows->begin(), rows->end(), matching.begin(), matching.end(), std::back_inserter(all));
    left = std::move(other);
    *rows = std::move(all);
  }
}

}  // namespace

void KeepMatching(const Predicate& predicate, const Type& type, const ColumnView& view, std::vector<uint32_t>* rows) {
  switch (predicate.kind) {
    case PredicateKind::kAlways:
      return;
    case PredicateKind::kIsNull:
      return Keep(rows, [&](uint32_t row) { return !view.IsValid(row); });
    case PredicateKind::kIsNotNull:
      return Keep(rows, [&](uint32_t row) { return view.IsValid(row); });
    case PredicateKind::kAnd:
      for (const Predicate& child : predicate.children) KeepMatching(child, type, view, rows);
      return;
    case PredicateKind::kOr:
      return KeepAny(predicate, type, view, rows);
    default:
      VisitLayout(type, [&]<typename T>(T) {
        if constexpr (!std::is_same_v<T, Interval>) KeepCompared<T>(predicate, type, view, rows);
      });
  }
}

Status CheckPredicate(const Predicate& predicate, const Type& type) {
  const bool junction = predicate.kind == PredicateKind::kAnd || predicate.kind == PredicateKind::kOr;
  const bool bare = junction || predicate.kind == PredicateKind::kAlways || predicate.kind == PredicateKind::kIsNull ||
                    predicate.kind == PredicateKind::kIsNotNull;
  if (predicate.kind > PredicateKind::kOr) return InvalidArgument("there is no such kind of predicate");
  if (!junction && !predicate.children.empty()) return InvalidArgument("only and, or have predicates below them");
  if (!bare && !type.IsOrdered()) return InvalidArgument("values of type {} do not compare", type.ToString());
  const size_t values = predicate.values.size();
  if (bare ? values != 0 : (predicate.kind != PredicateKind::kIn && values != 1)) {
    return InvalidArgument("a predicate has {} constants where {} is expected", values, bare ? 0 : 1);
  }
  for (const Value& value : predicate.values) {
    if (value.is_null() || !value.Fits(type))
      return InvalidArgument("a constant is no value of type {}", type.ToString());
  }
  for (const Predicate& child : predicate.children) RETURN_IF_ERROR(CheckPredicate(child, type));
  return Status::Ok();
}

}  // namespace petalite
