// SQLite on base's FileSystem, with a checksum on every page of the database file, so that the catalog meets the same
// faults as every other file and never takes damaged bytes for facts.
//
// The last 8 bytes of each page, which SQLite leaves alone, hold CRC-32C over the page's number (8 bytes, from 0) and
// its other bytes, and then the complement of that. A page is checked whenever it is read whole. Journals pass through:
// what they bring back is written as pages again.
//
// Locks are not taken: the database's LOCK file stands for them, and the connection has locking_mode EXCLUSIVE.
// Thread-safety: a connection by one thread at a time.

#pragma once

#include <memory>
#include <string>

#include <sqlite3.h>

#include "base/file_system.h"

namespace petalite::store {

inline constexpr int kCatalogPageSize = 4096;
inline constexpr int kPageChecksumSize = 8;

class SqliteVfs;

// An open SQLite database and what it stands on.
class SqliteConnection {
 public:
  enum class Mode {
    kRead,    // nothing on disk changes: file and journal are copied to memory, where SQLite rolls back if it must
    kWrite,   // the file must exist
    kCreate,  // the file must not exist, or be empty
  };
  static Result<std::unique_ptr<SqliteConnection>> Open(FileSystem& fs, const std::string& path, Mode mode);
  ~SqliteConnection();
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  sqlite3* db() const { return db_; }

 private:
  SqliteConnection();

  std::unique_ptr<SqliteVfs> vfs_;
  sqlite3* db_ = nullptr;
};

// What the file system said when a call on `db` last failed for its sake, and forgets it; Ok where it said nothing,
// or `db` is not on this VFS.
Status TakeFileError(sqlite3* db);

}  // namespace petalite::store
