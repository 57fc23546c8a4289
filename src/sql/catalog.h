// DuckDB's catalog entries over a version of the store. An entry stands for one store::Table (which is immutable), and
// is shared by the transactions that see that table.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"

#include "store/database.h"

namespace petalite::sql {

class PetaliteTransaction;

class PetaliteTable : public duckdb::TableCatalogEntry, public std::enable_shared_from_this<PetaliteTable> {
 public:
  PetaliteTable(duckdb::Catalog& catalog, duckdb::SchemaCatalogEntry& schema, duckdb::CreateTableInfo& info,
                std::shared_ptr<const store::Table> table, std::optional<uint64_t> commit);

  const std::shared_ptr<const store::Table>& table() const { return table_; }
  // As of which commit its rows are read; none: as the transaction sees them.
  std::optional<uint64_t> commit() const { return commit_; }
  // Lets go of the store's table: plans hold the entry, and may outlive the database.
  void Release() { table_ = nullptr; }

  duckdb::unique_ptr<duckdb::BaseStatistics> GetStatistics(duckdb::ClientContext& context,
                                                           duckdb::column_t column_id) override;
  duckdb::TableFunction GetScanFunction(duckdb::ClientContext& context,
                                        duckdb::unique_ptr<duckdb::FunctionData>& bind_data) override;
  duckdb::TableStorageInfo GetStorageInfo(duckdb::ClientContext& context) override;
  // Rows have no ids yet: only the column that stands for "no column at all", of COUNT(*).
  duckdb::virtual_column_map_t GetVirtualColumns() const override;
  duckdb::vector<duckdb::column_t> GetRowIdColumns() const override { return {}; }

 private:
  std::shared_ptr<const store::Table> table_;
  const std::optional<uint64_t> commit_;
};

class PetaliteSchema : public duckdb::SchemaCatalogEntry {
 public:
  PetaliteSchema(duckdb::Catalog& catalog, duckdb::CreateSchemaInfo& info);

  void Scan(duckdb::ClientContext& context, duckdb::CatalogType type,
            const std::function<void(duckdb::CatalogEntry&)>& callback) override;
  void Scan(duckdb::CatalogType type, const std::function<void(duckdb::CatalogEntry&)>& callback) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> LookupEntry(duckdb::CatalogTransaction transaction,
                                                         const duckdb::EntryLookupInfo& lookup) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateTable(duckdb::CatalogTransaction transaction,
                                                         duckdb::BoundCreateTableInfo& info) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateView(duckdb::CatalogTransaction transaction,
                                                        duckdb::CreateViewInfo& info) override;
  void DropEntry(duckdb::ClientContext& context, duckdb::DropInfo& info) override;
  void Alter(duckdb::CatalogTransaction transaction, duckdb::AlterInfo& info) override;

  duckdb::optional_ptr<duckdb::CatalogEntry> CreateIndex(duckdb::CatalogTransaction, duckdb::CreateIndexInfo&,
                                                         duckdb::TableCatalogEntry&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateFunction(duckdb::CatalogTransaction,
                                                            duckdb::CreateFunctionInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateSequence(duckdb::CatalogTransaction,
                                                            duckdb::CreateSequenceInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateTableFunction(duckdb::CatalogTransaction,
                                                                 duckdb::CreateTableFunctionInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateCopyFunction(duckdb::CatalogTransaction,
                                                                duckdb::CreateCopyFunctionInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreatePragmaFunction(duckdb::CatalogTransaction,
                                                                  duckdb::CreatePragmaFunctionInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateCollation(duckdb::CatalogTransaction,
                                                             duckdb::CreateCollationInfo&) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateType(duckdb::CatalogTransaction, duckdb::CreateTypeInfo&) override;

 private:
  std::shared_ptr<duckdb::CatalogEntry> MakeView(duckdb::ClientContext& context, const store::View& view);
};

class PetaliteCatalog : public duckdb::Catalog {
 public:
  PetaliteCatalog(duckdb::AttachedDatabase& attached, std::unique_ptr<store::Database> database);
  ~PetaliteCatalog() override;

  store::Database& database() { return *database_; }

  // The entry of a table, made on first use; the transaction keeps it alive.
  PetaliteTable& EntryOf(PetaliteTransaction& transaction, PetaliteSchema& schema,
                         const std::shared_ptr<const store::Table>& table);
  // An entry of a table as of a commit.
  PetaliteTable& PastEntryOf(PetaliteTransaction& transaction, PetaliteSchema& schema,
                             const std::shared_ptr<const store::Table>& table, uint64_t commit);
  // Drops entries of tables that the current version no longer has, so that their files can go.
  void ForgetOldEntries();

  void Initialize(bool load_builtin) override {}
  duckdb::string GetCatalogType() override { return "petalite"; }
  duckdb::optional_idx GetCatalogVersion(duckdb::ClientContext& context) override;
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateSchema(duckdb::CatalogTransaction transaction,
                                                          duckdb::CreateSchemaInfo& info) override;
  duckdb::optional_ptr<duckdb::SchemaCatalogEntry> LookupSchema(duckdb::CatalogTransaction transaction,
                                                                const duckdb::EntryLookupInfo& lookup,
                                                                duckdb::OnEntryNotFound if_not_found) override;
  void ScanSchemas(duckdb::ClientContext& context, std::function<void(duckdb::SchemaCatalogEntry&)> callback) override;
  duckdb::PhysicalOperator& PlanCreateTableAs(duckdb::ClientContext& context, duckdb::PhysicalPlanGenerator& planner,
                                              duckdb::LogicalCreateTable& op, duckdb::PhysicalOperator& plan) override;
  duckdb::PhysicalOperator& PlanInsert(duckdb::ClientContext& context, duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalInsert& op,
                                       duckdb::optional_ptr<duckdb::PhysicalOperator> plan) override;
  duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext& context, duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalDelete& op, duckdb::PhysicalOperator& plan) override;
  duckdb::PhysicalOperator& PlanUpdate(duckdb::ClientContext& context, duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalUpdate& op, duckdb::PhysicalOperator& plan) override;
  // CREATE INDEX is refused here, before DuckDB asks the scan for row ids.
  duckdb::unique_ptr<duckdb::LogicalOperator> BindCreateIndex(
      duckdb::Binder& binder, duckdb::CreateStatement& statement, duckdb::TableCatalogEntry& table,
      duckdb::unique_ptr<duckdb::LogicalOperator> plan) override;
  duckdb::ErrorData SupportsCreateTable(duckdb::BoundCreateTableInfo& info) override;
  duckdb::DatabaseSize GetDatabaseSize(duckdb::ClientContext& context) override;
  bool InMemory() override { return false; }
  bool SupportsTimeTravel() const override { return true; }
  duckdb::string GetDBPath() override { return database_->path(); }

 private:
  void DropSchema(duckdb::ClientContext& context, duckdb::DropInfo& info) override;
  PetaliteSchema& SchemaEntry(const std::string& name);
  void RememberOther(const std::shared_ptr<PetaliteTable>& entry);

  std::unique_ptr<store::Database> database_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<PetaliteSchema>> schemas_;  // by lower-case name; never removed
  std::unordered_map<const store::Table*, std::shared_ptr<PetaliteTable>> tables_;
  std::vector<std::weak_ptr<PetaliteTable>> others_;  // that transactions or plans may still hold
  std::atomic<uint64_t> forgotten_up_to_{0};          // the definitions that tables_ was last compared with
};

}  // namespace petalite::sql
