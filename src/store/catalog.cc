#include "store/catalog.h"

#include <algorithm>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include "store/sqlite_statement.h"
#include "store/sqlite_vfs.h"

namespace petalite::store {
namespace {

using nlohmann::json;

constexpr const char* kCreate = R"sql(
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE schemas (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE tables (
  id INTEGER PRIMARY KEY, schema_name TEXT NOT NULL, name TEXT NOT NULL,
  key_columns TEXT NOT NULL,  -- JSON: positions in key order
  options TEXT NOT NULL       -- JSON: as given
);
CREATE TABLE columns (
  table_id INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
  nullable INTEGER NOT NULL, field_id INTEGER NOT NULL, PRIMARY KEY (table_id, position)
) WITHOUT ROWID;
CREATE TABLE views (
  schema_name TEXT NOT NULL, name TEXT NOT NULL, sql TEXT NOT NULL, PRIMARY KEY (schema_name, name)
) WITHOUT ROWID;
CREATE TABLE rowsets (
  id INTEGER PRIMARY KEY, table_id INTEGER NOT NULL, row_count INTEGER NOT NULL, row_groups INTEGER NOT NULL,
  bytes INTEGER NOT NULL, footer_crc INTEGER NOT NULL, min_key BLOB NOT NULL, max_key BLOB NOT NULL
);
CREATE TABLE rowset_columns (
  rowset_id INTEGER NOT NULL, position INTEGER NOT NULL,
  null_count INTEGER,                  -- NULL: unknown
  min BLOB, max BLOB,                  -- the value's bytes in its type's layout; NULL: unknown
  min_exact INTEGER NOT NULL, max_exact INTEGER NOT NULL, may_have_nan INTEGER NOT NULL,
  compressed_bytes INTEGER NOT NULL, uncompressed_bytes INTEGER NOT NULL, filter_bytes INTEGER NOT NULL,
  sketch BLOB NOT NULL,                -- HyperLogLog registers
  PRIMARY KEY (rowset_id, position)
) WITHOUT ROWID;
INSERT INTO schemas VALUES ('main');
)sql";

// A bound's bytes: the slot of a fixed-width type, the text of a string.
ByteBuffer BoundBytes(const Type& type, const Value& value) {
  if (type.IsString()) {
    const Bytes text = AsBytes(value.as<std::string>());
    return {text.begin(), text.end()};
  }
  ByteBuffer slot(type.Width());
  value.ToSlot(type, slot.data());
  return slot;
}

Result<Value> BoundFromBytes(const Type& type, Bytes bytes) {
  if (type.IsString()) return Value(std::string(AsText(bytes)));
  if (bytes.size() != type.Width()) return Corruption("a bound of type {} has {} bytes", type.ToString(), bytes.size());
  return Value::FromSlot(type, bytes.data());
}

// Reads the tables of a catalog into a Version.
class Loader {
 public:
  Loader(sqlite3* db, const std::string& path, const CatalogFile::MakeRowset& make_rowset)
      : db_(db), path_(path), make_rowset_(make_rowset) {}

  Result<std::shared_ptr<const Version>> Load(CatalogCounters* counters) {
    RETURN_IF_ERROR(LoadMeta(counters));
    RETURN_IF_ERROR(LoadSchemas());
    RETURN_IF_ERROR(LoadTables());
    return std::shared_ptr<const Version>(version_);
  }

 private:
  Status LoadMeta(CatalogCounters* counters) {
    SqliteStatement select(db_, path_, "SELECT name, value FROM meta");
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) return Status::Ok();
      const std::string name = select.Text(0);
      const auto value = static_cast<uint64_t>(select.Int(1));
      if (name == "commit_number") version_->commit = value;
      if (name == "next_table_id") counters->next_table_id = value;
      if (name == "next_rowset_id") counters->next_rowset_id = value;
    }
  }

  Status LoadSchemas() {
    SqliteStatement schemas(db_, path_, "SELECT name FROM schemas");
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, schemas.Step());
      if (!row) break;
      version_->schemas[schemas.Text(0)].name = schemas.Text(0);
    }
    SqliteStatement views(db_, path_, "SELECT schema_name, name, sql FROM views");
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, views.Step());
      if (!row) return Status::Ok();
      const TableName name{views.Text(0), views.Text(1)};
      version_->schemas[name.schema].views[name.table] = {name, views.Text(2)};
    }
  }

  Status LoadTables() {
    SqliteStatement tables(db_, path_, "SELECT id, schema_name, name, key_columns, options FROM tables");
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, tables.Step());
      if (!row) return Status::Ok();
      const auto id = static_cast<TableId>(tables.Int(0));
      const TableName name{tables.Text(1), tables.Text(2)};
      const json key = json::parse(tables.Text(3), nullptr, false);
      const json options = json::parse(tables.Text(4), nullptr, false);
      if (!key.is_array() || !options.is_object()) return Corruption("{}: table {}: malformed", path_, id);
      RETURN_IF_ERROR(LoadTable(id, name, key, options).WithContext(fmt::format("{}: table {}", path_, id)));
    }
  }

  Status LoadTable(TableId id, const TableName& name, const json& key, const json& options) {
    ASSIGN_OR_RETURN(Schema schema, LoadColumns(id));
    std::vector<size_t> key_columns;
    for (const json& column : key) {
      if (!column.is_number_unsigned() || column.get<size_t>() >= schema.size()) return Corruption("malformed key");
      key_columns.push_back(column.get<size_t>());
    }
    OptionList given;
    for (const auto& [option, value] : options.items()) {
      if (!value.is_string()) return Corruption("malformed option '{}'", option);
      given.emplace_back(option, value.get<std::string>());
    }
    TableOptions resolved(schema);
    RETURN_IF_ERROR(resolved.Apply(schema, given));
    ASSIGN_OR_RETURN(auto rowsets, LoadRowsets(id, schema));
    version_->schemas[name.schema].tables[name.table] =
        std::make_shared<Table>(id, name, schema, key_columns, resolved, std::move(rowsets));
    return Status::Ok();
  }

  Result<Schema> LoadColumns(TableId id) {
    Schema schema;
    SqliteStatement columns(db_, path_,
                            "SELECT name, type, nullable, field_id FROM columns WHERE table_id = ? ORDER BY position");
    columns.BindInt(static_cast<int64_t>(id));
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, columns.Step());
      if (!row) return schema;
      ASSIGN_OR_RETURN(const Type type, Type::Parse(columns.Text(1)));
      schema.fields.push_back({columns.Text(0), type, columns.Int(2) != 0, static_cast<int32_t>(columns.Int(3))});
    }
  }

  Result<std::vector<std::shared_ptr<Rowset>>> LoadRowsets(TableId id, const Schema& schema) {
    std::vector<std::shared_ptr<Rowset>> rowsets;
    SqliteStatement select(db_, path_,
                           "SELECT id, row_count, row_groups, bytes, footer_crc, min_key, max_key "
                           "FROM rowsets WHERE table_id = ? ORDER BY id");
    select.BindInt(static_cast<int64_t>(id));
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) return rowsets;
      RowsetInfo info;
      info.id = static_cast<RowsetId>(select.Int(0));
      info.rows = static_cast<uint64_t>(select.Int(1));
      info.row_groups = static_cast<uint64_t>(select.Int(2));
      info.bytes = static_cast<uint64_t>(select.Int(3));
      info.footer_crc = static_cast<uint32_t>(select.Int(4));
      info.min_key = AsText(select.Blob(5));
      info.max_key = AsText(select.Blob(6));
      RETURN_IF_ERROR(LoadStatistics(schema, &info));
      rowsets.push_back(make_rowset_(id, std::move(info), schema));
    }
  }

  Status LoadStatistics(const Schema& schema, RowsetInfo* info) {
    SqliteStatement select(db_, path_,
                           "SELECT null_count, min, max, min_exact, max_exact, may_have_nan, compressed_bytes, "
                           "uncompressed_bytes, filter_bytes, sketch FROM rowset_columns "
                           "WHERE rowset_id = ? ORDER BY position");
    select.BindInt(static_cast<int64_t>(info->id));
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) break;
      if (info->columns.size() == schema.size()) return Corruption("rowset {}: too many columns", info->id);
      const Type& type = schema[info->columns.size()].type;
      ColumnStatistics column;
      column.zone.rows = info->rows;
      column.zone.has_null_count = !select.IsNull(0);
      column.zone.null_count = static_cast<uint64_t>(select.Int(0));
      if (!select.IsNull(1)) {
        ASSIGN_OR_RETURN(column.zone.min, BoundFromBytes(type, select.Blob(1)));
      }
      if (!select.IsNull(2)) {
        ASSIGN_OR_RETURN(column.zone.max, BoundFromBytes(type, select.Blob(2)));
      }
      column.zone.min_exact = select.Int(3) != 0;
      column.zone.max_exact = select.Int(4) != 0;
      column.zone.may_have_nan = select.Int(5) != 0;
      column.compressed_bytes = static_cast<uint64_t>(select.Int(6));
      column.uncompressed_bytes = static_cast<uint64_t>(select.Int(7));
      column.filter_bytes = static_cast<uint64_t>(select.Int(8));
      if (!column.distinct.Load(select.Blob(9))) return Corruption("rowset {}: malformed sketch", info->id);
      info->columns.push_back(std::move(column));
    }
    if (info->columns.size() != schema.size()) return Corruption("rowset {}: columns are missing", info->id);
    return Status::Ok();
  }

  sqlite3* db_;
  const std::string& path_;
  const CatalogFile::MakeRowset& make_rowset_;
  std::shared_ptr<Version> version_ = std::make_shared<Version>();
};

// Writes the difference between two versions.
class DifferenceWriter {
 public:
  DifferenceWriter(sqlite3* db, const std::string& path) : db_(db), path_(path) {}

  Status Write(const Version& before, const Version& after) {
    for (const auto& [name, schema] : before.schemas) {
      if (!after.schemas.contains(name)) {
        RETURN_IF_ERROR(Statement("DELETE FROM schemas WHERE name = ?").BindText(schema.name).Run());
      }
    }
    for (const auto& [name, schema] : after.schemas) {
      if (!before.schemas.contains(name)) {
        RETURN_IF_ERROR(Statement("INSERT INTO schemas VALUES (?)").BindText(schema.name).Run());
      }
    }
    RETURN_IF_ERROR(WriteViews(before, after));
    return WriteTables(before, after);
  }

 private:
  using TablesById = std::map<TableId, std::shared_ptr<const Table>>;

  static TablesById ById(const Version& version) {
    TablesById tables;
    for (const auto& [_, schema] : version.schemas) {
      for (const auto& [_, table] : schema.tables) tables[table->id()] = table;
    }
    return tables;
  }

  // Temporaries of one statement each: a catalog changes rarely.
  SqliteStatement& Statement(std::string_view sql) {
    statement_.emplace(db_, path_, sql);
    return *statement_;
  }

  Status WriteViews(const Version& before, const Version& after) {
    const auto find = [](const Version& version, const TableName& name) -> const View* {
      const SchemaVersion* schema = version.FindSchema(name.schema);
      if (schema == nullptr) return nullptr;
      const auto found = schema->views.find(name.table);
      return found == schema->views.end() ? nullptr : &found->second;
    };
    for (const auto& [_, schema] : before.schemas) {
      for (const auto& [_, view] : schema.views) {
        const View* now = find(after, view.name);
        if (now != nullptr && now->sql == view.sql) continue;
        RETURN_IF_ERROR(Statement("DELETE FROM views WHERE schema_name = ? AND name = ?")
                            .BindText(view.name.schema)
                            .BindText(view.name.table)
                            .Run());
      }
    }
    for (const auto& [_, schema] : after.schemas) {
      for (const auto& [_, view] : schema.views) {
        const View* then = find(before, view.name);
        if (then != nullptr && then->sql == view.sql) continue;
        RETURN_IF_ERROR(Statement("INSERT INTO views VALUES (?, ?, ?)")
                            .BindText(view.name.schema)
                            .BindText(view.name.table)
                            .BindText(view.sql)
                            .Run());
      }
    }
    return Status::Ok();
  }

  Status WriteTables(const Version& before, const Version& after) {
    const TablesById old_tables = ById(before);
    const TablesById new_tables = ById(after);
    for (const auto& [id, table] : old_tables) {
      const auto now = new_tables.find(id);
      if (now != new_tables.end() && now->second == table) continue;
      RETURN_IF_ERROR(DeleteDefinition(id));
      for (const auto& rowset : table->rowsets()) {
        if (now == new_tables.end() || !Holds(*now->second, rowset)) RETURN_IF_ERROR(DeleteRowset(rowset->info().id));
      }
    }
    for (const auto& [id, table] : new_tables) {
      const auto then = old_tables.find(id);
      if (then != old_tables.end() && then->second == table) continue;
      RETURN_IF_ERROR(InsertDefinition(*table));
      for (const auto& rowset : table->rowsets()) {
        if (then == old_tables.end() || !Holds(*then->second, rowset)) {
          RETURN_IF_ERROR(InsertRowset(*table, rowset->info()));
        }
      }
    }
    return Status::Ok();
  }

  static bool Holds(const Table& table, const std::shared_ptr<Rowset>& rowset) {
    return std::find(table.rowsets().begin(), table.rowsets().end(), rowset) != table.rowsets().end();
  }

  Status DeleteDefinition(TableId id) {
    RETURN_IF_ERROR(Statement("DELETE FROM tables WHERE id = ?").BindInt(static_cast<int64_t>(id)).Run());
    return Statement("DELETE FROM columns WHERE table_id = ?").BindInt(static_cast<int64_t>(id)).Run();
  }

  Status DeleteRowset(RowsetId id) {
    RETURN_IF_ERROR(Statement("DELETE FROM rowsets WHERE id = ?").BindInt(static_cast<int64_t>(id)).Run());
    return Statement("DELETE FROM rowset_columns WHERE rowset_id = ?").BindInt(static_cast<int64_t>(id)).Run();
  }

  Status InsertDefinition(const Table& table) {
    RETURN_IF_ERROR(Statement("INSERT INTO tables VALUES (?, ?, ?, ?, ?)")
                        .BindInt(static_cast<int64_t>(table.id()))
                        .BindText(table.name().schema)
                        .BindText(table.name().table)
                        .BindText(json(table.key()).dump())
                        .BindText(json(table.options().given()).dump())
                        .Run());
    for (size_t i = 0; i < table.schema().size(); ++i) {
      const Field& field = table.schema()[i];
      RETURN_IF_ERROR(Statement("INSERT INTO columns VALUES (?, ?, ?, ?, ?, ?)")
                          .BindInt(static_cast<int64_t>(table.id()))
                          .BindInt(static_cast<int64_t>(i))
                          .BindText(field.name)
                          .BindText(field.type.ToString())
                          .BindInt(field.nullable ? 1 : 0)
                          .BindInt(field.field_id)
                          .Run());
    }
    return Status::Ok();
  }

  Status InsertRowset(const Table& table, const RowsetInfo& info) {
    RETURN_IF_ERROR(Statement("INSERT INTO rowsets VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
                        .BindInt(static_cast<int64_t>(info.id))
                        .BindInt(static_cast<int64_t>(table.id()))
                        .BindInt(static_cast<int64_t>(info.rows))
                        .BindInt(static_cast<int64_t>(info.row_groups))
                        .BindInt(static_cast<int64_t>(info.bytes))
                        .BindInt(info.footer_crc)
                        .BindBlob(AsBytes(info.min_key))
                        .BindBlob(AsBytes(info.max_key))
                        .Run());
    for (size_t i = 0; i < info.columns.size(); ++i) {
      RETURN_IF_ERROR(InsertStatistics(info.id, i, table.schema()[i].type, info.columns[i]));
    }
    return Status::Ok();
  }

  Status InsertStatistics(RowsetId rowset, size_t position, const Type& type, const ColumnStatistics& column) {
    SqliteStatement& insert = Statement("INSERT INTO rowset_columns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.BindInt(static_cast<int64_t>(rowset)).BindInt(static_cast<int64_t>(position));
    const ZoneMap& zone = column.zone;
    if (zone.has_null_count) {
      insert.BindInt(static_cast<int64_t>(zone.null_count));
    } else {
      insert.BindNull();
    }
    for (const Value* bound : {&zone.min, &zone.max}) {
      if (bound->is_null()) {
        insert.BindNull();
      } else {
        insert.BindBlob(BoundBytes(type, *bound));
      }
    }
    return insert.BindInt(zone.min_exact)
        .BindInt(zone.max_exact)
        .BindInt(zone.may_have_nan)
        .BindInt(static_cast<int64_t>(column.compressed_bytes))
        .BindInt(static_cast<int64_t>(column.uncompressed_bytes))
        .BindInt(static_cast<int64_t>(column.filter_bytes))
        .BindBlob(column.distinct.bytes())
        .Run();
  }

  sqlite3* db_;
  const std::string& path_;
  std::optional<SqliteStatement> statement_;
};

Status CheckFormatVersion(sqlite3* db, const std::string& path) {
  SqliteStatement select(db, path, "SELECT value FROM meta WHERE name = 'format_version'");
  ASSIGN_OR_RETURN(const bool row, select.Step());
  if (!row) return Corruption("{}: no format version", path);
  if (select.Int(0) > kFormatVersion) {
    return Unsupported("{}: the database has format version {}, this petalite reads up to {}: use a newer petalite",
                       path, select.Int(0), kFormatVersion);
  }
  return Status::Ok();
}

Status SetMeta(sqlite3* db, const std::string& path, std::string_view name, uint64_t value) {
  SqliteStatement insert(db, path, "INSERT OR REPLACE INTO meta VALUES (?, ?)");
  return insert.BindText(name).BindInt(static_cast<int64_t>(value)).Run();
}

Status RemoveIfThere(FileSystem& fs, const std::string& path) {
  const Status removed = fs.Remove(path);
  return removed.code() == StatusCode::kNotFound ? Status::Ok() : removed;
}

// Under another name first: a crash in the middle must not leave a catalog without tables.
Status CreateFile(FileSystem& fs, const std::string& path) {
  const std::string unfinished = path + "-new";
  for (const auto& old : {unfinished, unfinished + "-journal", path + "-journal"})
    RETURN_IF_ERROR(RemoveIfThere(fs, old));
  {
    ASSIGN_OR_RETURN(const auto connection, SqliteConnection::Open(fs, unfinished, SqliteConnection::Mode::kCreate));
    sqlite3* db = connection->db();
    RETURN_IF_ERROR(SqliteExecute(db, unfinished, "BEGIN"));
    RETURN_IF_ERROR(SqliteExecute(db, unfinished, kCreate));
    RETURN_IF_ERROR(SetMeta(db, unfinished, "format_version", kFormatVersion));
    RETURN_IF_ERROR(SqliteExecute(db, unfinished, "COMMIT"));
  }
  RETURN_IF_ERROR(RemoveIfThere(fs, unfinished + "-journal"));
  RETURN_IF_ERROR(fs.Rename(unfinished, path));
  return fs.SyncDirectory(path.substr(0, path.rfind('/')));
}

Result<uint64_t> StoredCommit(sqlite3* db, const std::string& path) {
  SqliteStatement select(db, path, "SELECT value FROM meta WHERE name = 'commit_number'");
  ASSIGN_OR_RETURN(const bool row, select.Step());
  return row ? static_cast<uint64_t>(select.Int(0)) : 0;  // none before the first commit
}

}  // namespace

CatalogFile::CatalogFile(FileSystem& fs, std::string path, std::unique_ptr<SqliteConnection> connection)
    : fs_(fs), path_(std::move(path)), connection_(std::move(connection)) {}

CatalogFile::~CatalogFile() = default;

Result<std::unique_ptr<CatalogFile>> CatalogFile::Open(FileSystem& fs, const std::string& path, bool read_only,
                                                       bool create) {
  if (create) RETURN_IF_ERROR(CreateFile(fs, path));
  const auto mode = read_only ? SqliteConnection::Mode::kRead : SqliteConnection::Mode::kWrite;
  ASSIGN_OR_RETURN(auto connection, SqliteConnection::Open(fs, path, mode));
  RETURN_IF_ERROR(CheckFormatVersion(connection->db(), path));
  return std::unique_ptr<CatalogFile>(new CatalogFile(fs, path, std::move(connection)));
}

Result<std::shared_ptr<const Version>> CatalogFile::Load(const MakeRowset& make_rowset, CatalogCounters* counters) {
  return Loader(connection_->db(), path_, make_rowset).Load(counters);
}

Status CatalogFile::Apply(const Version& before, const Version& after, const CatalogCounters& counters) {
  if (!settled()) {
    return ReadOnly("{}: an earlier commit failed in a way that left its outcome open; open the database again", path_);
  }
  Status written = Write(before, after, counters);
  return written.ok() ? written : Settle(written, after.commit);
}

Status CatalogFile::Write(const Version& before, const Version& after, const CatalogCounters& counters) {
  sqlite3* db = connection_->db();
  RETURN_IF_ERROR(SqliteExecute(db, path_, "BEGIN IMMEDIATE"));
  RETURN_IF_ERROR(DifferenceWriter(db, path_).Write(before, after));
  RETURN_IF_ERROR(SetMeta(db, path_, "commit_number", after.commit));
  RETURN_IF_ERROR(SetMeta(db, path_, "next_table_id", counters.next_table_id));
  RETURN_IF_ERROR(SetMeta(db, path_, "next_rowset_id", counters.next_rowset_id));
  return SqliteExecute(db, path_, "COMMIT");
}

// Finds out what became of a commit that failed: the failing step may have been the last, so that the file holds it. A
// new connection takes what file and journal say; then another transaction, which writes the journal anew, makes that
// durable: a sync that succeeds the second time proves nothing, as the system may have dropped what the first left.
Status CatalogFile::Settle(const Status& failure, uint64_t commit) {
  connection_ = nullptr;
  const auto settle = [&]() -> Result<bool> {
    ASSIGN_OR_RETURN(auto connection, SqliteConnection::Open(fs_, path_, SqliteConnection::Mode::kWrite));
    ASSIGN_OR_RETURN(const uint64_t stored, StoredCommit(connection->db(), path_));
    // A count, because SQLite leaves a page alone that would not change.
    RETURN_IF_ERROR(SqliteExecute(connection->db(), path_,
                                  "INSERT INTO meta VALUES ('settled', 1) "
                                  "ON CONFLICT (name) DO UPDATE SET value = value + 1"));
    connection_ = std::move(connection);
    return stored == commit;
  };
  const Result<bool> committed = settle();
  if (!committed.ok()) {
    return Status(failure.code(), fmt::format("{}; whether the commit is durable shows when the database is opened "
                                              "again, until when it is read-only",
                                              failure.message()));
  }
  return *committed ? Status::Ok() : failure;
}

}  // namespace petalite::store
