// catalog.sqlite: a checkpoint of what the log said (docs/format.md has its tables). An image of the database's
// structure is loaded from it at open; each checkpoint writes the difference to the image before in one SQLite
// transaction.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "store/records.h"
#include "store/rowset.h"
#include "store/snapshots.h"
#include "store/version.h"

namespace petalite::store {

class SqliteConnection;

// The newest format that this library reads and writes; older ones would be upgraded, newer ones are refused.
inline constexpr int kFormatVersion = 1;

// Numbers that are never used twice.
struct CatalogCounters {
  uint64_t next_table_id = 1;
  uint64_t next_rowset_id = 1;
  uint64_t next_puffin_id = 1;
};

// A rowset as the catalog has it.
struct RowsetImage {
  std::shared_ptr<const RowsetInfo> info;
  StoredDeletes deletes;
};

struct TabletImage {
  std::vector<RowsetImage> rowsets;
  uint64_t next_mem_rowset = 1;  // rows that the log puts into older ones are in rowsets
  uint64_t applied_lsn = 0;      // storage records of the tablet in front of it are applied
};

using TabletKey = std::pair<TableId, uint32_t>;

// What a checkpoint says.
struct CatalogImage {
  std::shared_ptr<const Version> version;  // of tables without tablets, when loaded
  // Those before it that can still be read, by the commits that made them, as changes of an empty one.
  std::map<uint64_t, std::vector<CatalogChange>> older;
  std::map<TabletKey, TabletImage> tablets;
  uint64_t commit = 1;       // the last one whose place in the log is in front of catalog_lsn
  uint64_t catalog_lsn = 0;  // changes of definitions in front of it are applied
  uint64_t replay_lsn = 0;   // nothing in front of it is needed from the log
  uint64_t horizon = 0;
  std::vector<CommitTime> times;
  CatalogCounters counters;
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

  Result<CatalogImage> Load();

  // Makes `after` durable, given that `before` is what the file holds. On an error the file still holds `before`,
  // unless the disk refuses even to say what it holds: then settled() is false, and every later call fails.
  Status Apply(const CatalogImage& before, const CatalogImage& after);
  bool settled() const { return connection_ != nullptr; }

 private:
  CatalogFile(FileSystem& fs, std::string path, std::unique_ptr<SqliteConnection> connection);

  Status Write(const CatalogImage& before, const CatalogImage& after);
  Status Settle(const Status& failure);

  FileSystem& fs_;
  const std::string path_;
  std::unique_ptr<SqliteConnection> connection_;  // null: not settled
  uint64_t checkpoint_ = 0;                       // of the file: how many were written
};

}  // namespace petalite::store
