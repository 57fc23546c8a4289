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
#include "duckdb/storage/database_size.hpp"
#include "duckdb/storage/table_storage_info.hpp"

#include "sql/errors.h"
#include "sql/scan.h"
#include "sql/statistics.h"
#include "sql/table_definition.h"
#include "sql/transaction.h"

namespace petalite::sql {

using duckdb::CatalogEntry;
using duckdb::CatalogType;
using duckdb::optional_ptr;

namespace {

[[noreturn]] void ThrowUnsupported(const char* what) { Throw(Unsupported("a Petalite database has no {}", what)); }

constexpr const char* kNoIndexes = "indexes: every column has a filter, and a table its primary key";

PetaliteTransaction& TransactionOf(duckdb::CatalogTransaction transaction, duckdb::Catalog& catalog) {
  return PetaliteTransaction::Get(transaction.GetContext(), catalog);
}

}  // namespace

PetaliteTable::PetaliteTable(duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema,
                             duckdb::CreateTableInfo& info, std::shared_ptr<const store::Table> table)
    : duckdb::TableCatalogEntry(catalog, schema, info), table_(std::move(table)) {}

duckdb::unique_ptr<duckdb::BaseStatistics> PetaliteTable::GetStatistics(duckdb::ClientContext& context,
                                                                        duckdb::column_t column_id) {
  if (column_id >= table_->schema().size()) return nullptr;
  return ColumnStatistics(*table_, column_id);
}

duckdb::TableFunction PetaliteTable::GetScanFunction(duckdb::ClientContext& context,
                                                     duckdb::unique_ptr<duckdb::FunctionData>& bind_data) {
  bind_data = MakeScanBindData(*this);
  return ScanFunction();
}

duckdb::TableStorageInfo PetaliteTable::GetStorageInfo(duckdb::ClientContext& context) {
  duckdb::TableStorageInfo info;
  info.cardinality = table_->rows();
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
  const store::SchemaVersion* schema = transaction.version().FindSchema(name);
  if (schema == nullptr) return nullptr;
  const std::string& entry_name = lookup.GetEntryName();
  if (const auto table = schema->tables.find(entry_name); table != schema->tables.end()) {
    return catalog.Cast<PetaliteCatalog>().EntryOf(transaction, *this, table->second);
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
  store::TableDefinition definition = ToDefinition(base);
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
  const store::TableName view_name{name, info.view_name};
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
  const store::TableName entry{name, info.name};
  if (info.type == CatalogType::VIEW_ENTRY) return ThrowIfError(transaction.Write().DropView(entry));
  if (info.type == CatalogType::TABLE_ENTRY) return ThrowIfError(transaction.Write().DropTable(entry));
  ThrowUnsupported("such entries");
}

void PetaliteSchema::Alter(duckdb::CatalogTransaction catalog_transaction, duckdb::AlterInfo& info) {
  auto& transaction = TransactionOf(catalog_transaction, catalog);
  if (info.type != duckdb::AlterType::ALTER_TABLE) ThrowUnsupported("such ALTER");
  auto& alter = info.Cast<duckdb::AlterTableInfo>();
  const store::TableName table{name, info.name};
  switch (alter.alter_table_type) {
    case duckdb::AlterTableType::RENAME_TABLE:
      return ThrowIfError(transaction.Write().RenameTable(table, alter.Cast<duckdb::RenameTableInfo>().new_table_name));
    case duckdb::AlterTableType::SET_TABLE_OPTIONS:
      return ThrowIfError(
          transaction.Write().SetOptions(table, ToOptions(alter.Cast<duckdb::SetTableOptionsInfo>().table_options)));
    default:
      Throw(Unsupported("table '{}': this ALTER TABLE is not supported; RENAME TO and SET (option = value) are",
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

PetaliteTable& PetaliteCatalog::EntryOf(PetaliteTransaction& transaction, PetaliteSchema& schema,
                                        const std::shared_ptr<const store::Table>& table) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<PetaliteTable>& entry = tables_[table.get()];
  if (entry == nullptr) {
    auto info = ToCreateInfo(schema, *table);
    entry = std::make_shared<PetaliteTable>(*this, schema, *info, table);
  }
  transaction.KeepAlive(entry);
  return *entry;
}

void PetaliteCatalog::ForgetOldEntries() {
  const auto current = database_->Current();
  const std::lock_guard lock(mutex_);
  std::erase_if(tables_, [&](const auto& entry) {
    return current->FindTable(entry.second->table()->name()) != entry.second->table();
  });
}

duckdb::optional_idx PetaliteCatalog::GetCatalogVersion(duckdb::ClientContext& context) {
  auto& transaction = PetaliteTransaction::Get(context, *this);
  if (transaction.changes() == 0) return transaction.version().commit;
  return duckdb::TRANSACTION_ID_START + transaction.changes();
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
  const store::Version& version = TransactionOf(catalog_transaction, *this).version();
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
  for (const auto& [_, schema] : PetaliteTransaction::Get(context, *this).version().schemas) {
    for (const auto& [_, table] : schema.tables) size.bytes += table->bytes();
  }
  return size;
}

}  // namespace petalite::sql
