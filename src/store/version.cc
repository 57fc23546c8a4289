#include "store/version.h"

#include <algorithm>

#include "base/hash.h"
#include "base/nearest.h"

namespace petalite::store {

Table::Table(TableId id, TableName name, Schema schema, std::vector<size_t> key, TableOptions options,
             std::vector<std::shared_ptr<Tablet>> tablets)
    : id_(id),
      name_(std::move(name)),
      schema_(std::move(schema)),
      key_(std::move(key)),
      options_(std::move(options)),
      tablets_(std::move(tablets)) {}

std::vector<Type> Table::KeyTypes() const {
  std::vector<Type> types;
  for (const size_t column : key_) types.push_back(schema_[column].type);
  return types;
}

// Remixed, because the key filters use the hash as it is.
size_t Table::TabletOf(uint64_t hash) const { return tablets_.size() == 1 ? 0 : Remix(hash) % tablets_.size(); }

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

std::map<TableId, std::shared_ptr<const Table>> Version::TablesById() const {
  std::map<TableId, std::shared_ptr<const Table>> tables;
  for (const auto& [_, schema] : schemas) {
    for (const auto& [_, table] : schema.tables) tables[table->id()] = table;
  }
  return tables;
}

Status NoSuchTable(const Version& version, const TableName& name) {
  std::vector<std::string_view> names;
  if (const SchemaVersion* schema = version.FindSchema(name.schema)) {
    for (const auto& [table, _] : schema->tables) names.push_back(table);
  }
  if (names.empty()) return NotFound("there is no table '{}'", name.ToString());
  return NotFound("there is no table '{}'; the nearest is '{}'", name.ToString(), NearestName(name.table, names));
}

}  // namespace petalite::store
