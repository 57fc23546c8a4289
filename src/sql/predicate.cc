#include "sql/predicate.h"

#include <algorithm>

#include "duckdb/planner/expression.hpp"
#include "duckdb/planner/filter/conjunction_filter.hpp"
#include "duckdb/planner/filter/constant_filter.hpp"
#include "duckdb/planner/filter/dynamic_filter.hpp"
#include "duckdb/planner/filter/expression_filter.hpp"
#include "duckdb/planner/filter/in_filter.hpp"
#include "duckdb/planner/filter/optional_filter.hpp"

#include "sql/types.h"

namespace petalite::sql {
namespace {

using duckdb::ExpressionType;
using duckdb::TableFilterType;

PredicateKind ComparisonKind(ExpressionType comparison) {
  switch (comparison) {
    case ExpressionType::COMPARE_EQUAL:
      return PredicateKind::kEqual;
    case ExpressionType::COMPARE_NOTEQUAL:
      return PredicateKind::kNotEqual;
    case ExpressionType::COMPARE_LESSTHAN:
      return PredicateKind::kLess;
    case ExpressionType::COMPARE_LESSTHANOREQUALTO:
      return PredicateKind::kLessEqual;
    case ExpressionType::COMPARE_GREATERTHAN:
      return PredicateKind::kGreater;
    case ExpressionType::COMPARE_GREATERTHANOREQUALTO:
      return PredicateKind::kGreaterEqual;
    default:
      return PredicateKind::kAlways;
  }
}

// Constants of another type than the column's say nothing that pruning could use.
bool CanUse(const duckdb::Value& constant, const Type& type) {
  return !constant.IsNull() && type.IsOrdered() && constant.type() == ToDuck(type);
}

Predicate FromConstant(const duckdb::ConstantFilter& filter, const Type& type) {
  const PredicateKind kind = ComparisonKind(filter.comparison_type);
  if (kind == PredicateKind::kAlways || !CanUse(filter.constant, type)) return {};
  return Predicate::Compare(kind, FromDuck(filter.constant, type));
}

Predicate FromIn(const duckdb::InFilter& filter, const Type& type) {
  Predicate predicate{PredicateKind::kIn, {}, {}};
  for (const duckdb::Value& value : filter.values) {
    if (!CanUse(value, type)) return {};
    predicate.values.push_back(FromDuck(value, type));
  }
  return predicate;
}

Predicate FromChildren(PredicateKind kind, const duckdb::ConjunctionFilter& filter, const Type& type) {
  Predicate predicate{kind, {}, {}};
  for (const auto& child : filter.child_filters) predicate.children.push_back(ToPredicate(*child, type));
  return predicate;
}

Predicate FromDynamic(const duckdb::DynamicFilter& filter, const Type& type) {
  if (filter.filter_data == nullptr) return {};
  const duckdb::lock_guard<duckdb::mutex> lock(filter.filter_data->lock);
  if (!filter.filter_data->initialized || filter.filter_data->filter == nullptr) return {};
  return FromConstant(*filter.filter_data->filter, type);
}

}  // namespace

Predicate ToPredicate(const duckdb::TableFilter& filter, const Type& type) {
  switch (filter.filter_type) {
    case TableFilterType::CONSTANT_COMPARISON:
      return FromConstant(filter.Cast<duckdb::ConstantFilter>(), type);
    case TableFilterType::IN_FILTER:
      return FromIn(filter.Cast<duckdb::InFilter>(), type);
    case TableFilterType::IS_NULL:
      return {PredicateKind::kIsNull, {}, {}};
    case TableFilterType::IS_NOT_NULL:
      return {PredicateKind::kIsNotNull, {}, {}};
    // The casts name the concrete class: DuckDB checks it against the filter's type.
    case TableFilterType::CONJUNCTION_AND:
      return FromChildren(PredicateKind::kAnd, filter.Cast<duckdb::ConjunctionAndFilter>(), type);
    case TableFilterType::CONJUNCTION_OR:
      return FromChildren(PredicateKind::kOr, filter.Cast<duckdb::ConjunctionOrFilter>(), type);
    case TableFilterType::OPTIONAL_FILTER: {
      const auto& optional = filter.Cast<duckdb::OptionalFilter>();
      return optional.child_filter == nullptr ? Predicate() : ToPredicate(*optional.child_filter, type);
    }
    case TableFilterType::DYNAMIC_FILTER:
      return FromDynamic(filter.Cast<duckdb::DynamicFilter>(), type);
    default:
      return {};
  }
}

bool IsDynamic(const duckdb::TableFilter& filter) {
  switch (filter.filter_type) {
    case TableFilterType::DYNAMIC_FILTER:
      return true;
    case TableFilterType::OPTIONAL_FILTER: {
      const auto& optional = filter.Cast<duckdb::OptionalFilter>();
      return optional.child_filter != nullptr && IsDynamic(*optional.child_filter);
    }
    case TableFilterType::CONJUNCTION_AND: {
      const auto& children = filter.Cast<duckdb::ConjunctionAndFilter>().child_filters;
      return std::any_of(children.begin(), children.end(), [](const auto& child) { return IsDynamic(*child); });
    }
    default:
      return false;
  }
}

bool IsPerValue(const duckdb::TableFilter& filter) {
  const auto all_children = [](const duckdb::vector<duckdb::unique_ptr<duckdb::TableFilter>>& children) {
    return std::all_of(children.begin(), children.end(), [](const auto& child) { return IsPerValue(*child); });
  };
  switch (filter.filter_type) {
    case TableFilterType::CONSTANT_COMPARISON:
    case TableFilterType::IN_FILTER:
    case TableFilterType::IS_NULL:
    case TableFilterType::IS_NOT_NULL:
      return true;
    case TableFilterType::CONJUNCTION_AND:
      return all_children(filter.Cast<duckdb::ConjunctionAndFilter>().child_filters);
    case TableFilterType::CONJUNCTION_OR:
      return all_children(filter.Cast<duckdb::ConjunctionOrFilter>().child_filters);
    case TableFilterType::EXPRESSION_FILTER:
      // An error that an entry raises must not be raised for an entry that no scanned row holds.
      return !filter.Cast<duckdb::ExpressionFilter>().expr->IsVolatile() &&
             !filter.Cast<duckdb::ExpressionFilter>().expr->CanThrow();
    default:
      return false;
  }
}

}  // namespace petalite::sql
