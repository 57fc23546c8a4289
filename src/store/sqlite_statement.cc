#include "store/sqlite_statement.h"

#include "store/sqlite_vfs.h"

namespace petalite::store {

Status SqliteError(sqlite3* db, const std::string& path) {
  const int code = sqlite3_errcode(db);
  // SQLite only says "disk I/O error"; a file's own error may also be an old one that it lived with.
  const Status file_error = TakeFileError(db);
  const bool of_file = code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_FULL;
  if (of_file && !file_error.ok()) return file_error;
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return Corruption("{}: {}", path, sqlite3_errmsg(db));
  if (code == SQLITE_READONLY) return ReadOnly("{}: {}", path, sqlite3_errmsg(db));
  return IoError("{}: {}", path, sqlite3_errmsg(db));
}

Status SqliteExecute(sqlite3* db, const std::string& path, const char* sql) {
  return sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? Status::Ok() : SqliteError(db, path);
}

SqliteStatement::SqliteStatement(sqlite3* db, const std::string& path, std::string_view sql) : db_(db), path_(path) {
  error_ = sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr);
}

SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

SqliteStatement& SqliteStatement::BindInt(int64_t value) {
  if (error_ == SQLITE_OK) error_ = sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

SqliteStatement& SqliteStatement::BindText(std::string_view value) {
  if (error_ == SQLITE_OK) {
    error_ = sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(Bytes value) {
  static constexpr uint8_t kEmpty = 0;  // a null pointer would bind NULL
  if (error_ == SQLITE_OK) {
    error_ = sqlite3_bind_blob64(statement_, ++bound_, value.empty() ? &kEmpty : value.data(), value.size(),
                                 SQLITE_TRANSIENT);
  }
  return *this;
}

SqliteStatement& SqliteStatement::BindNull() {
  if (error_ == SQLITE_OK) error_ = sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

Result<bool> SqliteStatement::Step() {
  if (error_ == SQLITE_OK) {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
  }
  return SqliteError(db_, path_);
}

Status SqliteStatement::Run() {
  ASSIGN_OR_RETURN([[maybe_unused]] const bool row, Step());
  Reset();
  return Status::Ok();
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_);
  bound_ = 0;
}

std::string SqliteStatement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? "" : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

Bytes SqliteStatement::Blob(int column) const {
  const auto* blob = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  return {blob, blob == nullptr ? 0 : static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace petalite::store
