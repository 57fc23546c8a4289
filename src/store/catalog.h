// catalog.sqlite: the state of a database on disk (docs/format.md has its tables). A Version is loaded from it at open;
// each commit writes the difference between two versions in one SQLite transaction.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/file_system.h"
#include "store/version.h"

namespace petalite::store {

class SqliteConnection;

// The newest format that this library reads and writes; older ones would be upgraded, newer ones are refused.
inline constexpr int kFormatVersion = 1;

// Numbers that are never used twice.
struct CatalogCounters {
  uint64_t next_table_id = 1;
  uint64_t next_rowset_id = 1;
};

class CatalogFile {
 public:
  // `create`: the file must not exist, and is made with a schema "main": a crash leaves it whole or leaves none. With
  // `read_only` nothing on disk changes. Errors name the file.
  static Result<std::unique_ptr<CatalogFile>> Open(FileSystem& fs, const std::string& path, bool read_only,
                                                   bool create);
  ~CatalogFile();
  CatalogFile(const CatalogFile&) = delete;
  CatalogFile& operator=(const CatalogFile&) = delete;

  using MakeRowset = std::function<std::shared_ptr<Rowset>(TableId, RowsetInfo, const Schema&)>;
  Result<std::shared_ptr<const Version>> Load(const MakeRowset& make_rowset, CatalogCounters* counters);

  // Makes `after` durable, given that `before` is what the file holds. On an error the file still holds `before`,
  // unless the disk refuses even to say what it holds: then settled() is false, and every later call fails.
  Status Apply(const Version& before, const Version& after, const CatalogCounters& counters);
  bool settled() const { return connection_ != nullptr; }

 private:
  CatalogFile(FileSystem& fs, std::string path, std::unique_ptr<SqliteConnection> connection);

  Status Write(const Version& before, const Version& after, const CatalogCounters& counters);
  Status Settle(const Status& failure, uint64_t commit);

  FileSystem& fs_;
  const std::string path_;
  std::unique_ptr<SqliteConnection> connection_;  // null: not settled
};

}  // namespace petalite::store
