// Petalite: tables with primary keys in open Parquet files. The C++ interface; it needs no SQL. Include this one.
//
//   auto database = petalite::Database::Open("db", {.create = true});
//   if (!database.ok()) return Fail(database.status().message());
//   petalite::Transaction change = database->Begin();
//   …
//
// Thread-safety: a Database, Snapshots, TableReaders and Scans may be used by any number of threads; everything else by
// one at a time. What a Database has given keeps it open: the last of them to go closes it.
//
// Errors: status.h. No function throws, but std::bad_alloc where the system has no memory.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "petalite/database_options.h"
#include "petalite/log.h"
#include "petalite/metric.h"
#include "petalite/status.h"
#include "petalite/table.h"
#include "petalite/table_reader.h"
#include "petalite/transaction.h"
#include "petalite/write_batch.h"

namespace petalite {

namespace store {
class Snapshot;
}  // namespace store

// All commits up to one. Never changes; holding one stops no writer and no flush, but keeps what it can read on disk.
// Copies share it.
class Snapshot {
 public:
  // The number of the last commit that it sees: what Database::At takes.
  uint64_t commit() const;
  std::vector<TableName> Tables() const;
  // kNotFound, with the nearest name.
  Result<TableReader> Open(const TableName& table) const;

 private:
  friend class Database;
  Snapshot(std::shared_ptr<store::Database> database, std::shared_ptr<const store::Snapshot> snapshot)
      : database_(std::move(database)), snapshot_(std::move(snapshot)) {}
  std::shared_ptr<store::Database> database_;
  std::shared_ptr<const store::Snapshot> snapshot_;
};

class Database {
 public:
  // Errors: kNotFound if there is no database at `path`, and kInvalidArgument if there is something else; kBusy, with
  // the process's id, if another process has it; kUnsupported for a newer format; kCorruption for a damaged catalog or
  // log.
  static Result<Database> Open(const std::string& path, const DatabaseOptions& options = {});
  // A database whose log is damaged does not open. This keeps what is whole in front of the damage and puts the rest
  // aside as "<segment>.damaged"; what it found, a line each. Errors: as Open.
  static Result<std::vector<std::string>> SalvageLog(const std::string& path);

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  // Closing flushes what is in memory, so that the next open has nothing to replay; what fails is logged, and lost is
  // nothing that was acknowledged under the durability it was asked for.
  ~Database();

  const std::string& path() const;

  // The newest commit that can be read; one by its number; the last one at or before a time (microseconds since 1970,
  // UTC). Errors: it is in the future, or before what history_retention keeps, and then from when on there is history.
  Snapshot Current() const;
  Result<Snapshot> At(uint64_t commit) const;
  Result<Snapshot> AtTime(int64_t micros) const;

  Transaction Begin();
  // One batch as a transaction of its own, against the newest rows: it does not conflict, but waits. Errors: as those
  // of Transaction::Write. Returns when the commit is as durable as DatabaseOptions::durability says.
  Result<Written> Write(const TableName& table, const WriteBatch& batch, std::vector<RowOutcome>* outcomes = nullptr);

  // Writes what a table, or every table, has in memory to rowsets.
  Status Flush(const std::optional<TableName>& table = std::nullopt);
  // Merges rowsets until nothing more is worth it; with `rewrite` every one is written anew and obeys the table's
  // options.
  Status Compact(const std::optional<TableName>& table = std::nullopt, bool rewrite = false);
  // Waits until background threads have nothing left to do. An error if a job of theirs failed.
  Status WaitUntilIdle();
  // Everything that is wrong with the files, a line each: checksums, order and uniqueness of keys, filters, catalog.
  Result<std::vector<std::string>> Verify();
  // Counts and memory, by name; "throttled" says whether writers wait, and why.
  std::vector<Metric> Metrics() const;
  // Why nothing can be written any more, if that is so: after a failed fdatasync, until the database is opened again.
  Status health() const;

 private:
  explicit Database(std::shared_ptr<store::Database> database);
  std::shared_ptr<store::Database> database_;
};

}  // namespace petalite
