#include "store/version.h"

#include <algorithm>

namespace petalite::store {

Table::Table(TableId id, TableName name, Schema schema, std::vector<size_t> key, TableOptions options,
             std::vector<std::shared_ptr<Rowset>> rowsets)
    : id_(id),
      name_(std::move(name)),
      schema_(std::move(schema)),
      key_(std::move(key)),
      options_(std::move(options)),
      rowsets_(std::move(rowsets)) {
  for (const auto& rowset : rowsets_) rows_ += rowset->info().rows;
}

std::vector<Type> Table::KeyTypes() const {
  std::vector<Type> types;
  for (const size_t column : key_) types.push_back(schema_[column].type);
  return types;
}

uint64_t Table::bytes() const {
  uint64_t sum = 0;
  for (const auto& rowset : rowsets_) sum += rowset->info().bytes;
  return sum;
}

const std::vector<Table::ColumnSummary>& Table::Summaries() const {
  std::call_once(summarized_, [this] {
    for (size_t column = 0; column < schema_.size(); ++column) summaries_.push_back(Summarize(column));
  });
  return summaries_;
}

Table::ColumnSummary Table::Summarize(size_t column) const {
  ZoneMap sum{.has_null_count = true, .may_have_nan = false};
  bloom::HyperLogLog distinct;
  bool bounded = true;  // every part that has values has bounds
  for (const auto& rowset : rowsets_) {
    distinct.Merge(rowset->info().columns[column].distinct);
    const ZoneMap& part = rowset->info().columns[column].zone;
    sum.rows += part.rows;
    sum.null_count += part.null_count;
    sum.has_null_count = sum.has_null_count && part.has_null_count;
    sum.may_have_nan = sum.may_have_nan || part.may_have_nan;
    if (part.has_null_count && part.null_count == part.rows) continue;
    if (part.min.is_null() || part.max.is_null()) {
      bounded = false;
      continue;
    }
    if (sum.min.is_null() || Value::Compare(part.min, sum.min) < 0) {
      sum.min = part.min;
      sum.min_exact = part.min_exact;
    }
    if (sum.max.is_null() || Value::Compare(part.max, sum.max) > 0) {
      sum.max = part.max;
      sum.max_exact = part.max_exact;
    }
  }
  if (!bounded) {
    sum.min = sum.max = Value();
    sum.min_exact = sum.max_exact = false;
  }
  return {std::move(sum), rowsets_.empty() ? 0 : distinct.Estimate()};
}

bool NameLess::operator()(const std::string& a, const std::string& b) const {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [&](char x, char y) { return lower(x) < lower(y); });
}

const SchemaVersion* Version::FindSchema(const std::string& name) const {
  const auto found = schemas.find(name);
  return found == schemas.end() ? nullptr : &found->second;
}

std::shared_ptr<const Table> Version::FindTable(const TableName& name) const {
  const SchemaVersion* schema = FindSchema(name.schema);
  if (schema == nullptr) return nullptr;
  const auto found = schema->tables.find(name.table);
  return found == schema->tables.end() ? nullptr : found->second;
}

}  // namespace petalite::store
