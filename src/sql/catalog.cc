#include "sql/catalog.h"

#include <algorithm>

#include "duckdb/catalog/catalog_entry/view_catalog_entry.hpp"
#include "duckdb/common/string_util.hpp"
#include "duckdb/parser/parsed_data/alter_table_info.hpp"
#include "duckdb/parser/parsed_data/create_schema_info.hpp"
#include "duckdb/parser/parsed_data/create_view_info.hpp"
#include "duckdb/parser/parsed_data/drop_info.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/statement/create_statement.hpp"
#include "duckdb/planner/operator/logical_create_table.hpp"
#include "duckdb/planner/parsed_data/bound_create_table_info.hpp"
#include "duckdb/planner/tableref/bound_at_clause.hpp"
#include "duckdb/storage/database_size.hpp"
#include "duckdb/storage/table_storage_info.hpp"

#include "sql/errors.h"
#include "sql/scan.h"
#include "sql/statistics.h"
#include "sql/table_definition.h"
#include "sql/transaction.h"
#include "sql/types.h"

namespace petalite::sql {

using duckdb::CatalogEntry;
using duckdb::CatalogType;
using duckdb::optional_ptr;

namespace {

[[noreturn]] void ThrowUnsupported(const char* what) { Throw(Unsupported("a Petalite database has no {}", what)); }

constexpr const char* kNoIndexes = "indexes: every column has a filter, and a table its primary key";

// The commit that AT names, held by the transaction; none without AT.
const store::Snapshot* PastOf(PetaliteTransaction& transaction, duckdb::ClientContext& context,
                              const duckdb::EntryLookupInfo& lookup) {
  const auto at = lookup.GetAtClause();
  if (!at) return nullptr;
  const std::string unit = duckdb::StringUtil::Lower(at->Unit());
  if (at->GetValue().IsNull()) Throw(InvalidArgument("AT ({} => NULL): which one is meant?", at->Unit()));
  if (unit == "version") {
    return &transaction.At(duckdb::UBigIntValue::Get(at->GetValue().CastAs(context, duckdb::LogicalType::UBIGINT)));
  }
  if (unit == "timestamp") {
    const auto time = at->GetValue().CastAs(context, duckdb::LogicalType::TIMESTAMP_TZ);
    return &transaction.AtTime(duckdb::TimestampTZValue::Get(time).value);
  }
  Throw(InvalidArgument("AT ({} => …) is not known; there are VERSION and TIMESTAMP", at->Unit()));
}

PetaliteTransaction& TransactionOf(duckdb::CatalogTransaction transaction, duckdb::Catalog& catalog) {
  return PetaliteTransaction::Get(transaction.GetContext(), catalog);
}

}  // namespace

PetaliteTable::PetaliteTable(duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema,
                             duckdb::CreateTableInfo& info, std::shared_ptr<const store::Table> table,
                             std::optional<uint64_t> commit)
    : duckdb::TableCatalogEntry(catalog, schema, info), table_(std::move(table)), commit_(commit) {}

duckdb::unique_ptr<duckdb::BaseStatistics> PetaliteTable::GetStatistics(duckdb::ClientContext& context,
                                                                        duckdb::column_t column_id) {
  if (column_id >= table_->schema().size()) return nullptr;
  return ColumnStatistics(*PetaliteTransaction::Get(context, catalog).PlanningView(*this), column_id);
}

duckdb::TableFunction PetaliteTable::GetScanFunction(duckdb::ClientContext& context,
                                                     duckdb::unique_ptr<duckdb::FunctionData>& bind_data) {
  bind_data = MakeScanBindData(*this);
  return ScanFunction();
}

duckdb::TableStorageInfo PetaliteTable::GetStorageInfo(duckdb::ClientContext& context) {
  duckdb::TableStorageInfo info;
  info.cardinality = PetaliteTransaction::Get(context, catalog).PlanningView(*this)->rows();
  if (table_->is_keyed()) {
    duckdb::IndexInfo key{.is_unique = true, .is_primary = true, .is_foreign = false, .column_set = {}};
    for (const size_t column : table_->key()) key.column_set.insert(column);
    info.index_info.push_back(std::move(key));
  }
  return info;
}

duckdb::virtual_column_map_t PetaliteTable::GetVirtualColumns() const {
  duckdb::virtual_column_map_t columns;
  columns.insert({duckdb::COLUMN_IDENTIFIER_EMPTY, duckdb::TableColumn("", duckdb::LogicalType::BOOLEAN)});
  return columns;
}

PetaliteSchema::PetaliteSchema(duckdb::Catalog& catalog, duckdb::CreateSchemaInfo& info)
    : duckdb::SchemaCatalogEntry(catalog, info) {}

std::shared_ptr<CatalogEntry> PetaliteSchema::MakeView(duckdb::ClientContext& context, const store::View& view) {
  duckdb::Parser parser;
  parser.ParseQuery(view.sql);
  auto& statement = parser.statements.at(0)->Cast<duckdb::CreateStatement>();
  auto& info = statement.info->Cast<duckdb::CreateViewInfo>();
  info.catalog = catalog.GetName();
  info.schema = name;
  return std::make_shared<duckdb::ViewCatalogEntry>(catalog, *this, info);
}

void PetaliteSchema::Scan(duckdb::ClientContext& context, CatalogType type,
                          const std::function<void(CatalogEntry&)>& callback) {
  auto& transaction = PetaliteTransaction::Get(context, catalog);
  const store::SchemaVersion* schema = transaction.version().FindSchema(name);
  if (schema == nullptr) return;
  // Tables and views are one set to DuckDB, told apart by the entries' own types.
  if (type != CatalogType::TABLE_ENTRY && type != CatalogType::VIEW_ENTRY) return;
  for (const auto& [_, table] : schema->tables) {
    callback(catalog.Cast<PetaliteCatalog>().EntryOf(transaction, *this, table));
  }
  for (const auto& [_, view] : schema->views) {
    auto entry = MakeView(context, view);
    transaction.KeepAlive(entry);
    callback(*entry);
  }
}

void PetaliteSchema::Scan(CatalogType type, const std::function<void(CatalogEntry&)>& callback) {
  ThrowUnsupported("catalog scan outside a transaction");
}

optional_ptr<CatalogEntry> PetaliteSchema::LookupEntry(duckdb::CatalogTransaction catalog_transaction,
                                                       const duckdb::EntryLookupInfo& lookup) {
  if (lookup.GetCatalogType() != CatalogType::TABLE_ENTRY && lookup.GetCatalogType() != CatalogType::VIEW_ENTRY) {
    return nullptr;
  }
  auto& transaction = TransactionOf(catalog_transaction, catalog);
  const store::Snapshot* past = PastOf(transaction, catalog_transaction.GetContext(), lookup);
  const store::SchemaVersion* schema = (past != nullptr ? past->version() : transaction.version()).FindSchema(name);
  if (schema == nullptr) return nullptr;
  const std::string& entry_name = lookup.GetEntryName();
  auto& petalite = catalog.Cast<PetaliteCatalog>();
  if (const auto table = schema->tables.find(entry_name); table != schema->tables.end()) {
    if (past != nullptr) return petalite.PastEntryOf(transaction, *this, table->second, past->commit());
    return petalite.EntryOf(transaction, *this, table->second);
  }
  if (const auto view = schema->views.find(entry_name); view != schema->views.end()) {
    auto entry = MakeView(catalog_transaction.GetContext(), view->second);
    transaction.KeepAlive(entry);
    return *entry;
  }
  return nullptr;
}

optional_ptr<CatalogEntry> PetaliteSchema::CreateTable(duckdb::CatalogTransaction catalog_transaction,
                                                       duckdb::BoundCreateTableInfo& info) {
  auto& transaction = TransactionOf(catalog_transaction, catalog);
  auto& base = info.Base();
  TableDefinition definition = ToDefinition(base);
  definition.name.schema = name;
  const auto existing = transaction.version().FindTable(definition.name);
  if (existing != nullptr && base.on_conflict == duckdb::OnCreateConflict::IGNORE_ON_CONFLICT) {
    return catalog.Cast<PetaliteCatalog>().EntryOf(transaction, *this, existing);
  }
  store::Transaction& writer = transaction.Write();
  if (existing != nullptr && base.on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT) {
    ThrowIfError(writer.DropTable(definition.name));
  }
  auto table = Must(writer.CreateTable(definition));
  return catalog.Cast<PetaliteCatalog>().EntryOf(transaction, *this, table);
}

optional_ptr<CatalogEntry> PetaliteSchema::CreateView(duckdb::CatalogTransaction catalog_transaction,
                                                      duckdb::CreateViewInfo& info) {
  auto& transaction = TransactionOf(catalog_transaction, catalog);
  const TableName view_name{name, info.view_name};
  const store::SchemaVersion* schema = transaction.version().FindSchema(name);
  const bool exists = schema != nullptr && schema->views.contains(info.view_name);
  if (!exists || info.on_conflict != duckdb::OnCreateConflict::IGNORE_ON_CONFLICT) {
    // Without catalog and schema: the database may be attached under any name.
    auto stored = info.Copy();
    stored->catalog.clear();
    stored->schema.clear();
    stored->on_conflict = duckdb::OnCreateConflict::ERROR_ON_CONFLICT;
    const bool replace = info.on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT;
    ThrowIfError(transaction.Write().CreateView({view_name, stored->ToString()}, replace));
  }
  return LookupEntry(catalog_transaction, {CatalogType::VIEW_ENTRY, info.view_name});
}

void PetaliteSchema::DropEntry(duckdb::ClientContext& context, duckdb::DropInfo& info) {
  auto& transaction = PetaliteTransaction::Get(context, catalog);
  const TableName entry{name, info.name};
  if (info.type == CatalogType::VIEW_ENTRY) return ThrowIfError(transaction.Write().DropView(entry));
  if (info.type == CatalogType::TABLE_ENTRY) return ThrowIfError(transaction.Write().DropTable(entry));
  ThrowUnsupported("such entries");
}

namespace {

// ADD COLUMN as the store has it.
Field AddedField(const duckdb::ColumnDefinition& column) {
  if (column.HasDefaultValue()) Throw(Unsupported("column '{}': DEFAULT is not supported", column.Name()));
  if (column.Generated()) Throw(Unsupported("column '{}': generated columns are not supported", column.Name()));
  return {.name = column.Name(), .type = Must(FromDuck(column.Type(), column.Name()))};
}

}  // namespace

void PetaliteSchema::Alter(duckdb::CatalogTransaction catalog_transaction, duckdb::AlterInfo& info) {
  auto& transaction = TransactionOf(catalog_transaction, catalog);
  if (info.type != duckdb::AlterType::ALTER_TABLE) ThrowUnsupported("such ALTER");
  auto& alter = info.Cast<duckdb::AlterTableInfo>();
  const TableName table{name, info.name};
  switch (alter.alter_table_type) {
    case duckdb::AlterTableType::RENAME_TABLE:
      return ThrowIfError(transaction.Write().RenameTable(table, alter.Cast<duckdb::RenameTableInfo>().new_table_name));
    case duckdb::AlterTableType::SET_TABLE_OPTIONS:
      return ThrowIfError(
          transaction.Write().SetOptions(table, ToOptions(alter.Cast<duckdb::SetTableOptionsInfo>().table_options)));
    case duckdb::AlterTableType::ADD_COLUMN: {
      const auto& add = alter.Cast<duckdb::AddColumnInfo>();
      const Status added = transaction.Write().AddColumn(table, AddedField(add.new_column));
      if (add.if_column_not_exists && added.code() == StatusCode::kAlreadyExists) return;
      return ThrowIfError(added);
    }
    case duckdb::AlterTableType::REMOVE_COLUMN: {
      const auto& remove = alter.Cast<duckdb::RemoveColumnInfo>();
      const Status dropped = transaction.Write().DropColumn(table, remove.removed_column);
      if (remove.if_column_exists && dropped.code() == StatusCode::kNotFound) return;
      return ThrowIfError(dropped);
    }
    case duckdb::AlterTableType::RENAME_COLUMN: {
      const auto& rename = alter.Cast<duckdb::RenameColumnInfo>();
      return ThrowIfError(transaction.Write().RenameColumn(table, rename.old_name, rename.new_name));
    }
    case duckdb::AlterTableType::ALTER_COLUMN_TYPE: {
      const auto& change = alter.Cast<duckdb::ChangeColumnTypeInfo>();
      const petalite::Type type = Must(FromDuck(change.target_type, change.column_name));
      return ThrowIfError(transaction.Write().WidenColumn(table, change.column_name, type));
    }
    default:
      Throw(
          Unsupported("table '{}': this ALTER TABLE is not supported; columns can be added, dropped, renamed and "
                      "widened, RENAME TO and SET (option = value) are there",
                      info.name));
  }
}

optional_ptr<CatalogEntry> PetaliteSchema::CreateIndex(duckdb::CatalogTransaction, duckdb::CreateIndexInfo&,
                                                       duckdb::TableCatalogEntry&) {
  ThrowUnsupported(kNoIndexes);
}
optional_ptr<CatalogEntry> PetaliteSchema::CreateFunction(duckdb::CatalogTransaction, duckdb::CreateFunctionInfo&) {
  ThrowUnsupported("functions of its own");
}
optional_ptr<CatalogEntry> PetaliteSchema::CreateSequence(duckdb::CatalogTransaction, duckdb::CreateSequenceInfo&) {
  ThrowUnsupported("sequences");
}
optional_ptr<CatalogEntry> PetaliteSchema::CreateTableFunction(duckdb::CatalogTransaction,
                                                               duckdb::CreateTableFunctionInfo&) {
  ThrowUnsupported("table functions of its own");
}
optional_ptr<CatalogEntry> PetaliteSchema::CreateCopyFunction(duckdb::CatalogTransaction,
                                                              duckdb::CreateCopyFunctionInfo&) {
  ThrowUnsupported("copy functions of its own");
}
optional_ptr<CatalogEntry> PetaliteSchema::CreatePragmaFunction(duckdb::CatalogTransaction,
                                                                duckdb::CreatePragmaFunctionInfo&) {
  ThrowUnsupported("pragma functions of its own");
}
optional_ptr<CatalogEntry> PetaliteSchema::CreateCollation(duckdb::CatalogTransaction, duckdb::CreateCollationInfo&) {
  ThrowUnsupported("collations of its own");
}
optional_ptr<CatalogEntry> PetaliteSchema::CreateType(duckdb::CatalogTransaction, duckdb::CreateTypeInfo&) {
  ThrowUnsupported("types of its own");
}

PetaliteCatalog::PetaliteCatalog(duckdb::AttachedDatabase& attached, std::unique_ptr<store::Database> database)
    : duckdb::Catalog(attached), database_(std::move(database)) {}

PetaliteCatalog::~PetaliteCatalog() {
  for (const auto& [_, entry] : tables_) entry->Release();
  for (const auto& other : others_) {
    if (const auto entry = other.lock()) entry->Release();
  }
}

void PetaliteCatalog::RememberOther(const std::shared_ptr<PetaliteTable>& entry) {
  std::erase_if(others_, [](const auto& other) { return other.expired(); });
  others_.push_back(entry);
}

PetaliteTable& PetaliteCatalog::PastEntryOf(PetaliteTransaction& transaction, PetaliteSchema& schema,
                                            const std::shared_ptr<const store::Table>& table, uint64_t commit) {
  auto info = ToCreateInfo(schema, *table);
  auto entry = std::make_shared<PetaliteTable>(*this, schema, *info, table, commit);
  transaction.KeepAlive(entry);
  const std::lock_guard lock(mutex_);
  RememberOther(entry);
  return *entry;
}

PetaliteTable& PetaliteCatalog::EntryOf(PetaliteTransaction& transaction, PetaliteSchema& schema,
                                        const std::shared_ptr<const store::Table>& table) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<PetaliteTable>& entry = tables_[table.get()];
  if (entry == nullptr) {
    auto info = ToCreateInfo(schema, *table);
    entry = std::make_shared<PetaliteTable>(*this, schema, *info, table, std::nullopt);
  }
  transaction.KeepAlive(entry);
  return *entry;
}

void PetaliteCatalog::ForgetOldEntries() {
  const auto current = database_->Current();
  if (forgotten_up_to_.exchange(current->commit) == current->commit) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(tables_, [&](const auto& entry) {
    const auto& table = entry.second->table();
    if (current->FindTable(table->name()) == table) return false;
    RememberOther(entry.second);
    return true;
  });
}

duckdb::optional_idx PetaliteCatalog::GetCatalogVersion(duckdb::ClientContext& context) {
  return PetaliteTransaction::Get(context, *this).plan_version();
}

PetaliteSchema& PetaliteCatalog::SchemaEntry(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<PetaliteSchema>& entry = schemas_[duckdb::StringUtil::Lower(name)];
  if (entry == nullptr) {
    duckdb::CreateSchemaInfo info;
    info.schema = name;
    entry = std::make_unique<PetaliteSchema>(*this, info);
  }
  return *entry;
}

optional_ptr<CatalogEntry> PetaliteCatalog::CreateSchema(duckdb::CatalogTransaction catalog_transaction,
                                                         duckdb::CreateSchemaInfo& info) {
  auto& transaction = TransactionOf(catalog_transaction, *this);
  if (transaction.version().FindSchema(info.schema) != nullptr) {
    if (info.on_conflict == duckdb::OnCreateConflict::IGNORE_ON_CONFLICT) return nullptr;
    if (info.on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT) {
      ThrowIfError(transaction.Write().DropSchema(info.schema, true));
    }
  }
  ThrowIfError(transaction.Write().CreateSchema(info.schema));
  return SchemaEntry(info.schema);
}

optional_ptr<duckdb::SchemaCatalogEntry> PetaliteCatalog::LookupSchema(duckdb::CatalogTransaction catalog_transaction,
                                                                       const duckdb::EntryLookupInfo& lookup,
                                                                       duckdb::OnEntryNotFound if_not_found) {
  auto& transaction = TransactionOf(catalog_transaction, *this);
  const store::Snapshot* past = PastOf(transaction, catalog_transaction.GetContext(), lookup);
  const store::Version& version = past != nullptr ? past->version() : transaction.version();
  if (const store::SchemaVersion* schema = version.FindSchema(lookup.GetEntryName())) return SchemaEntry(schema->name);
  if (if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) return nullptr;
  Throw(NotFound("there is no schema '{}'", lookup.GetEntryName()));
}

void PetaliteCatalog::ScanSchemas(duckdb::ClientContext& context,
                                  std::function<void(duckdb::SchemaCatalogEntry&)> callback) {
  for (const auto& [_, schema] : PetaliteTransaction::Get(context, *this).version().schemas) {
    callback(SchemaEntry(schema.name));
  }
}

void PetaliteCatalog::DropSchema(duckdb::ClientContext& context, duckdb::DropInfo& info) {
  auto& transaction = PetaliteTransaction::Get(context, *this);
  const bool exists = transaction.version().FindSchema(info.name) != nullptr;
  if (!exists && info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) return;
  ThrowIfError(transaction.Write().DropSchema(info.name, info.cascade));
}

duckdb::unique_ptr<duckdb::LogicalOperator> PetaliteCatalog::BindCreateIndex(
    duckdb::Binder& binder, duckdb::CreateStatement& statement, duckdb::TableCatalogEntry& table,
    duckdb::unique_ptr<duckdb::LogicalOperator> plan) {
  ThrowUnsupported(kNoIndexes);
}

duckdb::ErrorData PetaliteCatalog::SupportsCreateTable(duckdb::BoundCreateTableInfo& info) {
  return {};  // ToDefinition refuses what there is not, and names it
}

duckdb::DatabaseSize PetaliteCatalog::GetDatabaseSize(duckdb::ClientContext& context) {
  duckdb::DatabaseSize size;
  auto& transaction = PetaliteTransaction::Get(context, *this);
  for (const auto& [_, table] : transaction.version().TablesById()) size.bytes += transaction.OpenView(table)->bytes();
  return size;
}

}  // namespace petalite::sql
