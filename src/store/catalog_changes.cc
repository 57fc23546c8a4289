#include "store/catalog_changes.h"

namespace petalite::store {
namespace {

using Kind = CatalogChange::Kind;

CatalogChange PutTable(const Table& table) {
  CatalogChange change{.kind = Kind::kPutTable, .name = table.name(), .table = table.id()};
  change.schema = table.schema();
  change.key = table.key();
  change.options.assign(table.options().given().begin(), table.options().given().end());
  change.tablets = static_cast<uint32_t>(table.tablets().size());
  return change;
}

void CompareViews(const Version& before, const Version& after, std::vector<CatalogChange>* changes) {
  for (const auto& [_, schema] : before.schemas) {
    for (const auto& [_, view] : schema.views) {
      if (FindView(after, view.name) == nullptr) changes->push_back({.kind = Kind::kDropView, .name = view.name});
    }
  }
  for (const auto& [_, schema] : after.schemas) {
    for (const auto& [_, view] : schema.views) {
      const View* then = FindView(before, view.name);
      if (then != nullptr && then->sql == view.sql) continue;
      CatalogChange change{.kind = Kind::kPutView, .name = view.name};
      change.sql = view.sql;
      changes->push_back(std::move(change));
    }
  }
}

Result<std::shared_ptr<const Table>> MakeTable(const CatalogChange& change,
                                               std::vector<std::shared_ptr<Tablet>> tablets) {
  TableOptions options(change.schema);
  RETURN_IF_ERROR(options.Apply(change.schema, change.options));
  return std::shared_ptr<const Table>(std::make_shared<Table>(change.table, change.name, change.schema, change.key,
                                                              std::move(options), std::move(tablets)));
}

}  // namespace

const View* FindView(const Version& version, const TableName& name) {
  const SchemaVersion* schema = version.FindSchema(name.schema);
  if (schema == nullptr) return nullptr;
  const auto found = schema->views.find(name.table);
  return found == schema->views.end() ? nullptr : &found->second;
}

std::vector<CatalogChange> DifferenceBetween(const Version& before, const Version& after) {
  std::vector<CatalogChange> changes;
  for (const auto& [name, schema] : after.schemas) {
    if (!before.schemas.contains(name)) changes.push_back({.kind = Kind::kPutSchema, .name = {schema.name, ""}});
  }
  const auto old_tables = before.TablesById();
  const auto new_tables = after.TablesById();
  for (const auto& [id, table] : old_tables) {
    if (!new_tables.contains(id)) changes.push_back({.kind = Kind::kDropTable, .name = table->name(), .table = id});
  }
  for (const auto& [id, table] : new_tables) {
    const auto then = old_tables.find(id);
    if (then == old_tables.end() || then->second != table) changes.push_back(PutTable(*table));
  }
  CompareViews(before, after, &changes);
  for (const auto& [name, schema] : before.schemas) {
    if (!after.schemas.contains(name)) changes.push_back({.kind = Kind::kDropSchema, .name = {schema.name, ""}});
  }
  return changes;
}

Status ApplyChanges(const std::vector<CatalogChange>& changes, const MakeTablets& make_tablets, Version* version) {
  const auto tables = version->TablesById();
  for (const CatalogChange& change : changes) {
    const TableName& name = change.name;
    if (change.kind == Kind::kPutSchema) {
      version->schemas[name.schema].name = name.schema;
      continue;
    }
    const auto schema = version->schemas.find(name.schema);
    if (schema == version->schemas.end()) return Corruption("a record names schema '{}', which is not", name.schema);
    const auto old = tables.find(change.table);
    switch (change.kind) {
      case Kind::kPutSchema:
        break;
      case Kind::kDropSchema:
        version->schemas.erase(schema);
        break;
      case Kind::kPutTable: {
        std::vector<std::shared_ptr<Tablet>> tablets;
        if (old != tables.end()) {
          tablets = old->second->tablets();
          version->schemas[old->second->name().schema].tables.erase(old->second->name().table);
        } else {
          tablets = make_tablets(change.table, change.tablets);
        }
        ASSIGN_OR_RETURN(schema->second.tables[name.table], MakeTable(change, std::move(tablets)));
        break;
      }
      case Kind::kDropTable:
        schema->second.tables.erase(name.table);
        break;
      case Kind::kPutView:
        schema->second.views[name.table] = {name, change.sql};
        break;
      case Kind::kDropView:
        schema->second.views.erase(name.table);
        break;
    }
  }
  return Status::Ok();
}

}  // namespace petalite::store
