#include "petalite/database.h"

#include "api/tables.h"
#include "store/database.h"
#include "store/metrics.h"
#include "store/transaction.h"
#include "store/verify.h"

namespace petalite {
namespace {

store::DatabaseOptions ToStore(const DatabaseOptions& options) {
  return {.read_only = options.read_only,
          .create = options.create,
          .wait_seconds = options.wait_seconds,
          .memory_limit = options.memory_limit,
          .cache_bytes = options.cache_bytes,
          .write_bytes = options.write_bytes,
          .threads = options.threads,
          .durability = options.durability,
          .async_interval_ms = options.async_interval_ms,
          .history_retention_micros = options.history_retention_micros,
          .background = options.background};
}

}  // namespace

uint64_t Snapshot::commit() const { return snapshot_->commit(); }

std::vector<TableName> Snapshot::Tables() const { return TablesOf(snapshot_->version()); }

Result<TableReader> Snapshot::Open(const TableName& name) const {
  auto table = snapshot_->version().FindTable(name);
  if (table == nullptr) return store::NoSuchTable(snapshot_->version(), name);
  return TableReader(database_, snapshot_->View(std::move(table)));
}

Result<Database> Database::Open(const std::string& path, const DatabaseOptions& options) {
  ASSIGN_OR_RETURN(auto database, store::Database::Open(path, ToStore(options)));
  return Database(std::shared_ptr(std::move(database)));
}

Result<std::vector<std::string>> Database::SalvageLog(const std::string& path) { return store::SalvageLog(path, {}); }

Database::Database(std::shared_ptr<store::Database> database) : database_(std::move(database)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

const std::string& Database::path() const { return database_->path(); }

Snapshot Database::Current() const { return {database_, database_->CurrentSnapshot()}; }

Result<Snapshot> Database::At(uint64_t commit) const {
  ASSIGN_OR_RETURN(auto snapshot, database_->SnapshotAt(commit));
  return Snapshot(database_, std::move(snapshot));
}

Result<Snapshot> Database::AtTime(int64_t micros) const {
  ASSIGN_OR_RETURN(auto snapshot, database_->SnapshotAtTime(micros));
  return Snapshot(database_, std::move(snapshot));
}

Transaction Database::Begin() { return {database_, database_->Begin()}; }

Result<Written> Database::Write(const TableName& table, const WriteBatch& batch, std::vector<RowOutcome>* outcomes) {
  return database_->Write(table, batch, outcomes);
}

Status Database::Flush(const std::optional<TableName>& table) { return database_->Flush(table); }
Status Database::Compact(const std::optional<TableName>& table, bool rewrite) {
  return database_->Compact(table, rewrite);
}
Status Database::WaitUntilIdle() { return database_->WaitUntilIdle(); }
std::vector<Metric> Database::Metrics() const { return store::ListMetrics(database_->context()); }
Status Database::health() const { return database_->health(); }

Result<std::vector<std::string>> Database::Verify() {
  ASSIGN_OR_RETURN(const auto damage, store::Verify(*database_, [](size_t, size_t) { return true; }));
  std::vector<std::string> lines;
  for (const store::Damage& each : damage) lines.push_back(each.what);
  return lines;
}

}  // namespace petalite
