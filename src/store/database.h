// A database: a directory with a catalog and rowsets. One process writes, or any number read.
//
// Thread-safety: a Database may be used by any number of threads; a Transaction and a TableAppender by one at a time.
// A Database outlives its transactions; versions, tables and rowsets may outlive neither.

#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/thread_pool.h"
#include "column/column_view.h"
#include "store/page_cache.h"
#include "store/version.h"

namespace petalite::store {

class CatalogFile;
class Transaction;

struct DatabaseOptions {
  bool read_only = false;
  bool create = false;       // make the directory a database if it is absent or empty
  double wait_seconds = 0;   // how long to wait for the lock
  size_t cache_bytes = 0;    // budget of the page cache; 0: a quarter of the memory that this process may use
  size_t memory_limit = 0;   // what imports may buffer together; 0: an eighth of that memory
  size_t threads = 0;        // 0: as many as the process may use
  FileSystem* fs = nullptr;  // null: the operating system's
};

// Bytes that this process may use: the machine's memory, or the cgroup's limit where it is lower.
size_t AvailableMemory();
// Threads it may use: likewise.
size_t AvailableThreads();

class Database {
 public:
  // Errors: the path is no database (kNotFound, or kInvalidArgument for a directory that holds something else),
  // another process holds it (kBusy, with its pid), a newer format version (kUnsupported), a damaged catalog.
  static Result<std::unique_ptr<Database>> Open(const std::string& path, const DatabaseOptions& options);
  ~Database();

  const std::string& path() const { return path_; }
  bool read_only() const { return options_.read_only; }
  FileSystem& fs() const { return fs_; }
  PageCache& cache() { return cache_; }
  ThreadPool& pool() { return pool_; }
  const DatabaseOptions& options() const { return options_; }

  std::shared_ptr<const Version> Current() const;

  // Sees `base`, by default the current version, and its own changes; others see them when Commit has returned.
  std::unique_ptr<Transaction> Begin(std::shared_ptr<const Version> base = nullptr);

  // Files under data/ that the catalog does not name and no transaction is writing.
  Result<std::vector<std::string>> FindOrphans() const;

 private:
  friend class Transaction;
  friend class RowsetSequence;
  Database(std::string path, const DatabaseOptions& options, FileSystem& fs);

  std::string DataDirectory(TableId table) const;
  std::string RowsetPath(TableId table, RowsetId rowset) const;
  Status Publish(Transaction& transaction);
  Status RemoveOrphans();

  const std::string path_;
  DatabaseOptions options_;
  FileSystem& fs_;
  PageCache cache_;
  ThreadPool pool_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<CatalogFile> catalog_;

  std::mutex commit_mutex_;           // one commit at a time
  mutable std::mutex version_mutex_;  // guards the pointer below
  std::shared_ptr<const Version> current_;
  std::atomic<uint64_t> next_table_id_{1};
  std::atomic<uint64_t> next_rowset_id_{1};
};

struct TableDefinition {
  TableName name;
  Schema schema;                 // field ids 0: numbered from 1
  std::vector<std::string> key;  // names of the primary key's columns; they become not null
  OptionList options;
};

class TableAppender;

// Changes that become visible together or not at all. Destroyed without Commit, it leaves nothing behind.
class Transaction {
 public:
  ~Transaction();

  // The version it began with and its own changes.
  const Version& view() const { return *view_; }

  Status CreateSchema(const std::string& name);
  Status DropSchema(const std::string& name, bool cascade);
  Result<std::shared_ptr<const Table>> CreateTable(const TableDefinition& definition);
  Status DropTable(const TableName& name);
  Status RenameTable(const TableName& from, const std::string& to);
  // New rowsets obey the new options.
  Status SetOptions(const TableName& name, const OptionList& options);
  Status CreateView(const View& view, bool replace);
  Status DropView(const TableName& name);

  // Adds rows to a table; they join the transaction when the appender's Finish has returned.
  Result<std::unique_ptr<TableAppender>> Append(const TableName& name);
  // The table keeps its definition and loses its rows.
  Status Truncate(const TableName& name);

  // First committer wins: kBusy, naming the table, if another transaction committed a change to a table that this one
  // changed too (two appends to one unkeyed table do not conflict). The transaction is over either way.
  Status Commit();
  void Rollback();

 private:
  friend class Database;
  friend class RowsetSequence;
  Transaction(Database& database, std::shared_ptr<const Version> base);

  // Lets go of the versions and files, which others may be waiting to see removed.
  void End();
  SchemaVersion* FindSchema(const std::string& name);
  Result<std::shared_ptr<const Table>> GetTable(const TableName& name) const;
  void PutTable(std::shared_ptr<const Table> table);

  Database& database_;
  std::shared_ptr<const Version> base_;
  std::shared_ptr<Version> view_;
  std::vector<std::shared_ptr<Rowset>> written_;  // files of this transaction, obsolete unless it commits
  bool over_ = false;
};

}  // namespace petalite::store
