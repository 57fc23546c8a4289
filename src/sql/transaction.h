// DuckDB's transactions on an attached Petalite database, over the store's.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "duckdb/common/reference_map.hpp"
#include "duckdb/transaction/transaction.hpp"
#include "duckdb/transaction/transaction_manager.hpp"

#include "sql/errors.h"
#include "store/database.h"
#include "store/transaction.h"

namespace petalite::sql {

class PetaliteCatalog;
class PetaliteTable;

// Reads the snapshot that was current when the transaction first touched the database; the first write begins a
// transaction of the store, whose changes it then sees. Operators of one query may use it from several threads.
class PetaliteTransaction : public duckdb::Transaction {
 public:
  PetaliteTransaction(duckdb::TransactionManager& manager, duckdb::ClientContext& context, store::Database& database);

  static PetaliteTransaction& Get(duckdb::ClientContext& context, duckdb::Catalog& catalog);

  const store::Version& version() const { return writer_ != nullptr ? writer_->view() : snapshot_->version(); }
  // Equal where definitions, rows and statistics are: a plan is good for no other.
  uint64_t plan_version() const;

  // The past, held until the transaction ends. Throws the store's error where it is gone.
  const store::Snapshot& At(uint64_t commit);
  const store::Snapshot& AtTime(int64_t micros);

  // The rows of a table as this transaction sees them, or as of the entry's commit. What the optimizer has asked for is
  // kept until the scan takes it, so that a query opens one view; after that it lives as long as scans do.
  std::shared_ptr<const store::TableView> PlanningView(const PetaliteTable& entry) { return ViewOf(entry, true); }
  std::shared_ptr<const store::TableView> ScanView(const PetaliteTable& entry) { return ViewOf(entry, false); }
  // For those who look once.
  std::shared_ptr<const store::TableView> OpenView(const std::shared_ptr<const store::Table>& table);

  // The store's transaction, begun on first use, for a change. Throws where the database is read-only.
  store::Transaction& Write();
  // What an operator does with it while other threads may be opening views. Throws the error.
  template <typename Work>
  void WithStore(const Work& work) {
    const std::lock_guard lock(mutex_);
    ThrowIfError(work());
  }
  // The same where rows have changed after it.
  template <typename Work>
  void ChangeRows(const Work& work) {
    const std::lock_guard lock(mutex_);
    NoteChange();
    ThrowIfError(work());
  }
  // Ends the transaction.
  Status Commit();
  void Rollback();

  // Keeps a catalog entry alive until the transaction ends, because DuckDB holds it by reference.
  void KeepAlive(std::shared_ptr<duckdb::CatalogEntry> entry) { kept_.push_back(std::move(entry)); }

 private:
  struct CachedView {
    std::weak_ptr<const store::TableView> view;
    std::shared_ptr<const store::TableView> kept;  // the same, from planning to the scan
  };

  std::shared_ptr<const store::TableView> ViewOf(const PetaliteTable& entry, bool keep);
  const store::Snapshot& Held(std::shared_ptr<const store::Snapshot> snapshot);
  void NoteChange();

  store::Database& database_;
  std::shared_ptr<const store::Snapshot> snapshot_;
  std::mutex mutex_;  // guards the next four, and the store's transaction while operators run
  std::unique_ptr<store::Transaction> writer_;
  uint64_t last_change_ = 0;
  std::map<uint64_t, std::shared_ptr<const store::Snapshot>> past_;  // by commit
  std::unordered_map<const PetaliteTable*, CachedView> views_;
  std::vector<std::shared_ptr<duckdb::CatalogEntry>> kept_;
};

class PetaliteTransactionManager : public duckdb::TransactionManager {
 public:
  PetaliteTransactionManager(duckdb::AttachedDatabase& attached, PetaliteCatalog& catalog);

  duckdb::Transaction& StartTransaction(duckdb::ClientContext& context) override;
  duckdb::ErrorData CommitTransaction(duckdb::ClientContext& context, duckdb::Transaction& transaction) override;
  void RollbackTransaction(duckdb::Transaction& transaction) override;
  // Every commit is durable already.
  void Checkpoint(duckdb::ClientContext& context, bool force) override {}

 private:
  PetaliteCatalog& catalog_;
  std::mutex mutex_;
  std::unordered_map<duckdb::Transaction*, std::unique_ptr<PetaliteTransaction>> transactions_;
};

}  // namespace petalite::sql
