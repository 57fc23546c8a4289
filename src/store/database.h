// A database: a directory with a catalog, a log and rowsets. One process writes, or any number read.
//
// Thread-safety: a Database may be used by any number of threads; a Transaction and a TableAppender by one at a time.
// A Database outlives its transactions; snapshots, versions, tables and rowsets may outlive neither.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/thread_pool.h"
#include "petalite/column_view.h"
#include "petalite/write_batch.h"
#include "store/catalog.h"
#include "store/commit_log.h"
#include "store/page_cache.h"
#include "store/snapshot.h"
#include "store/store_context.h"
#include "store/tablet.h"

namespace petalite::store {

class Maintenance;
class Transaction;

struct DatabaseOptions {
  bool read_only = false;
  bool create = false;      // make the directory a database if it is absent or empty
  double wait_seconds = 0;  // how long to wait for the lock
  size_t memory_limit = 0;  // of the store as a whole; 0: the memory that this process may use
  size_t cache_bytes = 0;   // of the page cache and key filters, part of memory_limit; 0: five sixteenths of it
  size_t write_bytes = 0;   // of memrowsets and imports, part of memory_limit; 0: a quarter of it, at most 1 GiB
  size_t threads = 0;       // 0: as many as the process may use
  Durability durability = Durability::kSync;
  uint32_t async_interval_ms = 200;
  int64_t history_retention_micros = int64_t{15} * 60 * 1'000'000;
  uint64_t wal_segment_bytes = uint64_t{64} << 20;
  bool background = true;       // flush and compact on threads of its own; off: only when asked, and for want of memory
  bool cold_key_pages = false;  // read key pages from the disk whenever a write needs one (for benchmarks)
  FileSystem* fs = nullptr;     // null: the operating system's
  // Of which the store reserves what it uses, if the process has an owner of its memory; outlives the database.
  std::shared_ptr<MemorySource> memory_source;
};

// Bytes that this process may use: the machine's memory, or the cgroup's limit where it is lower.
size_t AvailableMemory();
// Threads it may use: likewise.
size_t AvailableThreads();

class Database {
 public:
  // Errors: the path is no database (kNotFound, or kInvalidArgument for a directory that holds something else),
  // another process holds it (kBusy, with its pid), a newer format version (kUnsupported), a damaged catalog or log,
  // shares of memory that leave less than an eighth of it to flushes and compactions (kInvalidArgument).
  static Result<std::unique_ptr<Database>> Open(const std::string& path, const DatabaseOptions& options);
  // Flushes what is in memory and writes a checkpoint, so that the next open has nothing to replay. What fails then is
  // logged: the log still has it.
  ~Database();

  const std::string& path() const { return context_.path; }
  bool read_only() const { return options_.read_only; }
  FileSystem& fs() const { return context_.fs; }
  PageCache& cache() { return cache_; }
  ThreadPool& pool() { return pool_; }
  const DatabaseOptions& options() const { return options_; }
  const Metrics& metrics() const { return context_.metrics; }
  StoreContext& context() { return context_; }
  CommitLog& log() { return *log_; }

  // The newest definitions and the newest commit that can be read.
  std::shared_ptr<const Version> Current() const;
  std::shared_ptr<const Snapshot> CurrentSnapshot() const;
  // As of a commit, or of a time in microseconds since 1970. Errors: it lies in the future or before the retention.
  Result<std::shared_ptr<const Snapshot>> SnapshotAt(uint64_t commit) const;
  Result<std::shared_ptr<const Snapshot>> SnapshotAtTime(int64_t micros) const;

  // Sees `base`, by default the newest snapshot, and its own changes; others see them when Commit has returned.
  std::unique_ptr<Transaction> Begin(std::shared_ptr<const Snapshot> base = nullptr);

  // One batch as a transaction of its own. `outcomes`, if given, gets one per row.
  Result<Written> Write(const TableName& table, const WriteBatch& batch, std::vector<RowOutcome>* outcomes = nullptr);

  // Writes what a table, or every table, has in memory to rowsets, and a checkpoint.
  Status Flush(const std::optional<TableName>& table = std::nullopt);
  // Merges what the policy wants merged, until it wants nothing; with `rewrite` every rowset is written anew.
  Status Compact(const std::optional<TableName>& table = std::nullopt, bool rewrite = false);
  // Waits until nothing is left to flush for want of memory, or to compact. An error if a job failed.
  Status WaitUntilIdle();
  // Makes the catalog say what the log says, so that less of the log is needed.
  Status Checkpoint();

  // Those of all versions that can be read, dropped ones too.
  std::map<TableId, std::shared_ptr<const Table>> ReadableTables() const;
  // The schema of a table in the oldest version that can be read and has it.
  Schema OldestDefinition(TableId table) const;
  // What is wrong with the delete logs that the catalog names, of one table or of all: footers too, and on the disk.
  std::vector<Status> CheckDeleteLogs(const std::optional<TableId>& only) const;
  // Files under data/ that neither the catalog names nor anybody uses.
  Result<std::vector<std::string>> FindOrphans() const;
  // The error that ended writing, if one did.
  Status health() const;

 private:
  friend class Transaction;
  friend class RowsetSequence;
  struct NewDeletes;
  Database(std::string path, const DatabaseOptions& options, FileSystem& fs);

  Status OpenCatalog(bool exists);
  Status RemoveOrphans();
  Status CheckWritable() const;
  Status Commit(Transaction& transaction);
  std::vector<std::shared_ptr<const Table>> TablesNamed(const std::optional<TableName>& name, Status* status) const;
  // What a checkpoint says. Under checkpoint_mutex_.
  Result<CatalogImage> MakeImage(uint64_t horizon, NewDeletes* deletes);
  Status CaptureTablet(Tablet& tablet, CatalogImage* image, NewDeletes* deletes);
  Status StoreDeletes(Tablet& tablet, const TabletState& state, uint64_t last_commit, TabletImage* image,
                      NewDeletes* deletes);
  void ForgetVersions(uint64_t horizon);
  uint64_t OldestInMemory() const;

  DatabaseOptions options_;
  MemoryBudget memory_;
  PageCache cache_;
  ThreadPool pool_;
  StoreContext context_;
  Snapshots snapshots_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<CatalogFile> catalog_;
  std::unique_ptr<CommitLog> log_;

  std::mutex definition_mutex_;       // one change of definitions at a time; held until it is visible
  mutable std::mutex version_mutex_;  // guards the next
  std::map<uint64_t, std::shared_ptr<const Version>> versions_;  // by the commit that made them
  mutable std::mutex checkpoint_mutex_;                          // guards the next
  CatalogImage image_;                                           // what the catalog says
  std::unique_ptr<Maintenance> maintenance_;                     // last: its threads use all of the above
};

}  // namespace petalite::store
