// DuckDB's transactions on an attached Petalite database, over the store's.

#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "duckdb/common/reference_map.hpp"
#include "duckdb/transaction/transaction.hpp"
#include "duckdb/transaction/transaction_manager.hpp"

#include "store/database.h"

namespace petalite::sql {

class PetaliteCatalog;

// Reads the version that was current when the transaction first touched the database; the first write begins a
// transaction of the store, whose changes it then sees.
class PetaliteTransaction : public duckdb::Transaction {
 public:
  PetaliteTransaction(duckdb::TransactionManager& manager, duckdb::ClientContext& context, store::Database& database);

  static PetaliteTransaction& Get(duckdb::ClientContext& context, duckdb::Catalog& catalog);

  const store::Version& version() const { return writer_ != nullptr ? writer_->view() : *snapshot_; }
  // Counts this transaction's own changes, so that plans made before one are not used after it.
  uint64_t changes() const { return changes_; }

  // The store's transaction, begun on first use, for a change. Throws where the database is read-only.
  store::Transaction& Write();
  // Ends the transaction.
  Status Commit();
  void Rollback();

  // Keeps a catalog entry alive until the transaction ends, because DuckDB holds it by reference.
  void KeepAlive(std::shared_ptr<duckdb::CatalogEntry> entry) { kept_.push_back(std::move(entry)); }

 private:
  store::Database& database_;
  std::shared_ptr<const store::Version> snapshot_;
  std::unique_ptr<store::Transaction> writer_;
  uint64_t changes_ = 0;
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
