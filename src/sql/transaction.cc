#include "sql/transaction.h"

#include "duckdb/common/error_data.hpp"
#include "duckdb/main/attached_database.hpp"

#include "sql/catalog.h"
#include "sql/errors.h"

namespace petalite::sql {

PetaliteTransaction::PetaliteTransaction(duckdb::TransactionManager& manager, duckdb::ClientContext& context,
                                         store::Database& database)
    : duckdb::Transaction(manager, context), database_(database), snapshot_(database.Current()) {}

PetaliteTransaction& PetaliteTransaction::Get(duckdb::ClientContext& context, duckdb::Catalog& catalog) {
  return duckdb::Transaction::Get(context, catalog).Cast<PetaliteTransaction>();
}

store::Transaction& PetaliteTransaction::Write() {
  if (database_.read_only()) Throw(ReadOnly("{}: the database is open for reading only", database_.path()));
  if (writer_ == nullptr) {
    writer_ = database_.Begin(snapshot_);
    SetReadWrite();
  }
  ++changes_;
  return *writer_;
}

Status PetaliteTransaction::Commit() { return writer_ == nullptr ? Status::Ok() : writer_->Commit(); }

void PetaliteTransaction::Rollback() {
  if (writer_ != nullptr) writer_->Rollback();
}

PetaliteTransactionManager::PetaliteTransactionManager(duckdb::AttachedDatabase& attached, PetaliteCatalog& catalog)
    : duckdb::TransactionManager(attached), catalog_(catalog) {}

duckdb::Transaction& PetaliteTransactionManager::StartTransaction(duckdb::ClientContext& context) {
  auto transaction = std::make_unique<PetaliteTransaction>(*this, context, catalog_.database());
  PetaliteTransaction& started = *transaction;
  const std::lock_guard lock(mutex_);
  transactions_[&started] = std::move(transaction);
  return started;
}

duckdb::ErrorData PetaliteTransactionManager::CommitTransaction(duckdb::ClientContext& context,
                                                                duckdb::Transaction& transaction) {
  const Status committed = transaction.Cast<PetaliteTransaction>().Commit();
  catalog_.ForgetOldEntries();
  const std::lock_guard lock(mutex_);
  transactions_.erase(&transaction);
  if (committed.ok()) return {};
  const auto type =
      committed.code() == StatusCode::kBusy ? duckdb::ExceptionType::TRANSACTION : duckdb::ExceptionType::IO;
  return duckdb::ErrorData(type, committed.message());
}

void PetaliteTransactionManager::RollbackTransaction(duckdb::Transaction& transaction) {
  transaction.Cast<PetaliteTransaction>().Rollback();
  const std::lock_guard lock(mutex_);
  transactions_.erase(&transaction);
}

}  // namespace petalite::sql
