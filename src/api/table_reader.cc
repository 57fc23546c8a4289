#include "petalite/table_reader.h"

#include <numeric>

#include "api/scan_shared.h"
#include "base/hash.h"
#include "column/key_encoding.h"
#include "column/row_filter.h"
#include "store/find_column.h"
#include "store/lookup.h"

namespace petalite {
namespace {

// All columns where none are named.
Result<std::vector<size_t>> FindColumns(const store::Table& table, std::span<const std::string> names) {
  std::vector<size_t> columns;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const size_t column, store::FindColumn(table, name));
    columns.push_back(column);
  }
  if (names.empty()) {
    columns.resize(table.schema().size());
    std::iota(columns.begin(), columns.end(), 0);
  }
  return columns;
}

Result<std::string> EncodedKey(const store::Table& table, std::span<const Value> key) {
  if (!table.is_keyed()) return InvalidArgument("table '{}' has no primary key", table.name().ToString());
  const std::vector<Type> types = table.KeyTypes();
  if (key.size() != types.size()) {
    return InvalidArgument("table '{}': {} values for a key of {} columns", table.name().ToString(), key.size(),
                           types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (!key[i].is_null() && key[i].Fits(types[i])) continue;
    return InvalidArgument("table '{}': what is given for key column '{}' is no value of type {}",
                           table.name().ToString(), table.schema()[table.key()[i]].name, types[i].ToString());
  }
  return EncodeKey(types, key);
}

}  // namespace

const TableName& TableReader::name() const { return view_->table().name(); }
const Schema& TableReader::schema() const { return view_->table().schema(); }
uint64_t TableReader::estimated_rows() const { return view_->rows(); }

std::vector<std::string> TableReader::key() const {
  std::vector<std::string> names;
  for (const size_t column : view_->table().key()) names.push_back(schema()[column].name);
  return names;
}

Result<std::optional<Row>> TableReader::Get(std::span<const Value> key, std::span<const std::string> columns) const {
  ASSIGN_OR_RETURN(const auto positions, FindColumns(view_->table(), columns));
  ASSIGN_OR_RETURN(const std::string encoded, EncodedKey(view_->table(), key));
  ASSIGN_OR_RETURN(const auto found, store::FindKey(*view_, encoded));
  if (!found.has_value()) return std::optional<Row>();
  ASSIGN_OR_RETURN(auto row, store::ReadRow(*view_, *found, positions));
  return std::optional(std::move(row));
}

Result<std::vector<std::optional<Row>>> TableReader::GetMany(std::span<const Row> keys,
                                                             std::span<const std::string> columns) const {
  const store::Table& table = view_->table();
  ASSIGN_OR_RETURN(const auto positions, FindColumns(table, columns));
  struct Wanted {
    std::vector<std::string_view> keys;
    std::vector<uint64_t> hashes;
    std::vector<size_t> numbers;  // in the caller's order
  };
  std::vector<Wanted> by_tablet(table.tablets().size());
  std::vector<std::string> encoded;
  encoded.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSIGN_OR_RETURN(std::string key, EncodedKey(table, keys[i]));
    encoded.push_back(std::move(key));
    const uint64_t hash = Xxh64(encoded.back());
    Wanted& wanted = by_tablet[table.TabletOf(hash)];
    wanted.keys.push_back(encoded.back());
    wanted.hashes.push_back(hash);
    wanted.numbers.push_back(i);
  }
  std::vector<std::optional<Row>> rows(keys.size());
  for (size_t tablet = 0; tablet < by_tablet.size(); ++tablet) {
    const Wanted& wanted = by_tablet[tablet];
    std::vector<store::RowLocation> locations(wanted.keys.size());
    RETURN_IF_ERROR(view_->FindKeys(tablet, wanted.keys, wanted.hashes, locations));
    for (size_t i = 0; i < locations.size(); ++i) {
      if (!locations[i].found()) continue;
      ASSIGN_OR_RETURN(rows[wanted.numbers[i]],
                       store::ReadRow(*view_, {static_cast<uint32_t>(tablet), locations[i]}, positions));
    }
  }
  return rows;
}

Result<Scan> TableReader::NewScan(const ScanOptions& options) const {
  const store::Table& table = view_->table();
  auto shared = std::make_shared<Scan::Shared>();
  ASSIGN_OR_RETURN(shared->columns, FindColumns(table, options.columns));
  shared->outputs = shared->columns.size();
  std::vector<store::ColumnPredicate> predicates;
  for (const ColumnPredicate& each : options.where) {
    ASSIGN_OR_RETURN(const size_t column, store::FindColumn(table, each.column));
    const Status checked = CheckPredicate(each.predicate, table.schema()[column].type);
    RETURN_IF_ERROR(checked.WithContext(fmt::format("table '{}', column '{}'", table.name().ToString(), each.column)));
    predicates.push_back({column, each.predicate});
    const auto read = std::find(shared->columns.begin(), shared->columns.end(), column);
    shared->conditions.push_back({static_cast<size_t>(read - shared->columns.begin()), each.predicate});
    if (read == shared->columns.end()) shared->columns.push_back(column);
  }
  shared->database = database_;
  ASSIGN_OR_RETURN(shared->scan, store::TableScan::Start(view_, std::move(predicates)));
  return Scan(std::move(shared));
}

}  // namespace petalite
