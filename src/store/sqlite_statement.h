// SQLite's C interface with Status for errors.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "base/bytes.h"
#include "base/status.h"

namespace petalite::store {

// What the last call on `db` said, with the file before it.
Status SqliteError(sqlite3* db, const std::string& path);

// Runs statements without results.
Status SqliteExecute(sqlite3* db, const std::string& path, const char* sql);

// One prepared statement: Bind… in order, Step while it yields rows, Reset to run it again.
class SqliteStatement {
 public:
  SqliteStatement(sqlite3* db, const std::string& path, std::string_view sql);
  ~SqliteStatement();
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  SqliteStatement& BindInt(int64_t value);
  SqliteStatement& BindText(std::string_view value);
  SqliteStatement& BindBlob(Bytes value);
  SqliteStatement& BindNull();

  // True: a row is there. Errors of preparing and binding come out here too.
  Result<bool> Step();
  // Steps a statement without results, and resets it.
  Status Run();
  void Reset();

  int64_t Int(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string Text(int column) const;
  Bytes Blob(int column) const;  // until the next Step
  bool IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

 private:
  sqlite3* db_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
  int error_ = SQLITE_OK;
  int bound_ = 0;
};

}  // namespace petalite::store
