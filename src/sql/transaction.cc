#include "sql/transaction.h"

#include <atomic>

#include "duckdb/common/error_data.hpp"
#include "duckdb/main/attached_database.hpp"

#include "sql/catalog.h"
#include "sql/errors.h"

namespace petalite::sql {

PetaliteTransaction::PetaliteTransaction(duckdb::TransactionManager& manager, duckdb::ClientContext& context,
                                         store::Database& database)
    : duckdb::Transaction(manager, context), database_(database), snapshot_(database.CurrentSnapshot()) {}

PetaliteTransaction& PetaliteTransaction::Get(duckdb::ClientContext& context, duckdb::Catalog& catalog) {
  return duckdb::Transaction::Get(context, catalog).Cast<PetaliteTransaction>();
}

uint64_t PetaliteTransaction::plan_version() const {
  return last_change_ == 0 ? snapshot_->commit() : duckdb::TRANSACTION_ID_START + last_change_;
}

// Numbered over all transactions: what one changed is not what another did.
void PetaliteTransaction::NoteChange() {
  static std::atomic<uint64_t> changes{0};
  last_change_ = changes.fetch_add(1, std::memory_order_relaxed) + 1;
  views_.clear();
}

store::Transaction& PetaliteTransaction::Write() {
  if (database_.read_only()) Throw(ReadOnly("{}: the database is open for reading only", database_.path()));
  const std::lock_guard lock(mutex_);
  if (writer_ == nullptr) {
    writer_ = database_.Begin(snapshot_);
    SetReadWrite();
  }
  NoteChange();
  return *writer_;
}

const store::Snapshot& PetaliteTransaction::Held(std::shared_ptr<const store::Snapshot> snapshot) {
  return *past_.try_emplace(snapshot->commit(), std::move(snapshot)).first->second;
}

const store::Snapshot& PetaliteTransaction::At(uint64_t commit) {
  const std::lock_guard lock(mutex_);
  const auto found = past_.find(commit);
  return found != past_.end() ? *found->second : Held(Must(database_.SnapshotAt(commit)));
}

const store::Snapshot& PetaliteTransaction::AtTime(int64_t micros) {
  const std::lock_guard lock(mutex_);
  // A time may have been told by the clock, and means another commit in the next transaction: plans are for this one.
  if (last_change_ == 0) NoteChange();
  return Held(Must(database_.SnapshotAtTime(micros)));
}

std::shared_ptr<const store::TableView> PetaliteTransaction::OpenView(
    const std::shared_ptr<const store::Table>& table) {
  const std::lock_guard lock(mutex_);
  return writer_ != nullptr ? Must(writer_->View(table)) : snapshot_->View(table);
}

std::shared_ptr<const store::TableView> PetaliteTransaction::ViewOf(const PetaliteTable& entry, bool keep) {
  const store::Snapshot* past = entry.commit().has_value() ? &At(*entry.commit()) : nullptr;
  const std::lock_guard lock(mutex_);
  CachedView& cached = views_[&entry];
  auto view = cached.view.lock();
  // Another entry may have stood at this address.
  if (view == nullptr || view->table_pointer() != entry.table()) {
    view = past != nullptr      ? past->View(entry.table())
           : writer_ != nullptr ? Must(writer_->View(entry.table()))
                                : snapshot_->View(entry.table());
    cached.view = view;
  }
  cached.kept = keep ? view : nullptr;
  return view;
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
