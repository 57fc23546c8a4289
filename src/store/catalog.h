// catalog.sqlite: the state of a database on disk (docs/format.md has its tables). A Version is loaded from it at open;
// each commit writes the difference between two versions in one SQLite transaction.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/file_system.h"
#include "store/version.h"

struct sqlite3;

namespace petalite::store {

// The newest format that this library reads and writes; older ones would be upgraded, newer ones are refused.
inline constexpr int kFormatVersion = 1;

// Numbers that are never used twice.
struct CatalogCounters {
  uint64_t next_table_id = 1;
  uint64_t next_rowset_id = 1;
};

class CatalogFile {
 public:
  // `create`: the file must not exist, and is made with a schema "main". Errors name the file.
  static Result<std::unique_ptr<CatalogFile>> Open(FileSystem& fs, const std::string& path, bool read_only,
                                                   bool create);
  ~CatalogFile();
  CatalogFile(const CatalogFile&) = delete;
  CatalogFile& operator=(const CatalogFile&) = delete;

  using MakeRowset = std::function<std::shared_ptr<Rowset>(TableId, RowsetInfo, const Schema&)>;
  Result<std::shared_ptr<const Version>> Load(const MakeRowset& make_rowset, CatalogCounters* counters);

  // Makes `after` durable, given that `before` is what the file holds. On an error the file still holds `before`.
  Status Apply(const Version& before, const Version& after, const CatalogCounters& counters);

 private:
  CatalogFile(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}

  const std::string path_;
  sqlite3* db_;
};

}  // namespace petalite::store
