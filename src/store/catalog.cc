#include "store/catalog.h"

#include <algorithm>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include "store/catalog_changes.h"
#include "store/records.h"
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
  options TEXT NOT NULL,      -- JSON: as given
  next_field_id INTEGER NOT NULL
);
CREATE TABLE tablets (
  table_id INTEGER NOT NULL, tablet INTEGER NOT NULL, next_mem_rowset INTEGER NOT NULL, applied_lsn INTEGER NOT NULL,
  PRIMARY KEY (table_id, tablet)
) WITHOUT ROWID;
CREATE TABLE columns (
  table_id INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
  nullable INTEGER NOT NULL, field_id INTEGER NOT NULL, initial_default BLOB, PRIMARY KEY (table_id, position)
) WITHOUT ROWID;
CREATE TABLE views (
  schema_name TEXT NOT NULL, name TEXT NOT NULL, sql TEXT NOT NULL, PRIMARY KEY (schema_name, name)
) WITHOUT ROWID;
CREATE TABLE rowsets (
  id INTEGER PRIMARY KEY, table_id INTEGER NOT NULL, tablet INTEGER NOT NULL, position INTEGER NOT NULL,
  row_count INTEGER NOT NULL, row_groups INTEGER NOT NULL, bytes INTEGER NOT NULL, footer_crc INTEGER NOT NULL,
  min_key BLOB NOT NULL, max_key BLOB NOT NULL,
  min_commit INTEGER NOT NULL, max_commit INTEGER NOT NULL,  -- of its rows
  has_commit_column INTEGER NOT NULL,                        -- the file has each row's; else they are equal
  has_versions INTEGER NOT NULL,                             -- several rows may have one key
  key_columns TEXT NOT NULL                                  -- JSON: positions in the rowset, in key order
);
CREATE TABLE delete_logs (             -- of rowsets with dead rows: blobs in data/<table id>/<puffin>.puffin
  rowset_id INTEGER PRIMARY KEY, puffin INTEGER NOT NULL, cardinality INTEGER NOT NULL, settled_at INTEGER NOT NULL,
  dead_offset INTEGER NOT NULL, dead_length INTEGER NOT NULL, dead_crc INTEGER NOT NULL,
  commits_offset INTEGER NOT NULL, commits_length INTEGER NOT NULL, commits_crc INTEGER NOT NULL,
  puffin_footer_crc INTEGER NOT NULL,
  applied_lsn INTEGER NOT NULL         -- deaths that the log has in front of it are among them
);
CREATE TABLE older_versions (          -- of schemas, tables and views, while they can be read
  "commit" INTEGER PRIMARY KEY, changes BLOB NOT NULL  -- what makes it of an empty one, as a log record has it
);
CREATE TABLE commit_times ("commit" INTEGER PRIMARY KEY, time INTEGER NOT NULL);  -- microseconds since 1970
CREATE TABLE rowset_columns (
  rowset_id INTEGER NOT NULL, position INTEGER NOT NULL,
  name TEXT NOT NULL, type TEXT NOT NULL, nullable INTEGER NOT NULL, field_id INTEGER NOT NULL,  -- when written
  null_count INTEGER,                  -- NULL: unknown
  min BLOB, max BLOB,                  -- the value's bytes in its type's layout; NULL: unknown
  min_exact INTEGER NOT NULL, max_exact INTEGER NOT NULL, may_have_nan INTEGER NOT NULL,
  compressed_bytes INTEGER NOT NULL, uncompressed_bytes INTEGER NOT NULL, filter_bytes INTEGER NOT NULL,
  sketch BLOB NOT NULL,                -- HyperLogLog registers
  PRIMARY KEY (rowset_id, position)
) WITHOUT ROWID;
INSERT INTO schemas VALUES ('main');
)sql";

uint64_t Unsigned(const SqliteStatement& row, int column) { return static_cast<uint64_t>(row.Int(column)); }

// Reads the tables of a catalog into an image.
class Loader {
 public:
  Loader(sqlite3* db, const std::string& path) : db_(db), path_(path) {}

  Result<CatalogImage> Load() {
    RETURN_IF_ERROR(LoadMeta());
    RETURN_IF_ERROR(LoadSchemas());
    RETURN_IF_ERROR(LoadTables());
    RETURN_IF_ERROR(LoadOlder());
    image_.version = version_;
    return std::move(image_);
  }

 private:
  Status LoadMeta() {
    const std::map<std::string, uint64_t*> numbers = {{"commit_number", &image_.commit},
                                                      {"version_commit", &version_->commit},
                                                      {"catalog_lsn", &image_.catalog_lsn},
                                                      {"replay_lsn", &image_.replay_lsn},
                                                      {"horizon", &image_.horizon},
                                                      {"next_table_id", &image_.counters.next_table_id},
                                                      {"next_rowset_id", &image_.counters.next_rowset_id},
                                                      {"next_puffin_id", &image_.counters.next_puffin_id}};
    SqliteStatement select(db_, path_, "SELECT name, value FROM meta");
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) break;
      const auto number = numbers.find(select.Text(0));
      if (number != numbers.end()) *number->second = Unsigned(select, 1);
    }
    SqliteStatement times(db_, path_, "SELECT \"commit\", time FROM commit_times ORDER BY 1");
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, times.Step());
      if (!row) return Status::Ok();
      image_.times.push_back({Unsigned(times, 0), times.Int(1)});
    }
  }

  Status LoadOlder() {
    SqliteStatement select(db_, path_, "SELECT \"commit\", changes FROM older_versions");
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) break;
      const uint64_t commit = Unsigned(select, 0);
      auto changes = ParseCatalogChanges(select.Blob(1));
      if (!changes.ok()) return changes.status().WithContext(fmt::format("{}: version {}", path_, commit));
      for (const CatalogChange& change : *changes) {
        if (change.kind != CatalogChange::Kind::kPutTable || version_->TablesById().contains(change.table)) continue;
        if (image_.tablets.contains({change.table, 0})) continue;
        RETURN_IF_ERROR(LoadTablets(change.table));
        RETURN_IF_ERROR(LoadRowsets(change.table).WithContext(fmt::format("{}: table {}", path_, change.table)));
      }
      image_.older[commit] = *std::move(changes);
    }
    return Status::Ok();
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
    SqliteStatement tables(db_, path_, "SELECT id, schema_name, name, key_columns, options, next_field_id FROM tables");
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, tables.Step());
      if (!row) return Status::Ok();
      const auto id = static_cast<TableId>(tables.Int(0));
      const TableName name{tables.Text(1), tables.Text(2)};
      const json key = json::parse(tables.Text(3), nullptr, false);
      const json options = json::parse(tables.Text(4), nullptr, false);
      if (!key.is_array() || !options.is_object()) return Corruption("{}: table {}: malformed", path_, id);
      const auto next_field_id = static_cast<int32_t>(tables.Int(5));
      RETURN_IF_ERROR(
          LoadTable(id, name, key, options, next_field_id).WithContext(fmt::format("{}: table {}", path_, id)));
    }
  }

  Status LoadTable(TableId id, const TableName& name, const json& key, const json& options, int32_t next_field_id) {
    ASSIGN_OR_RETURN(Schema schema, LoadColumns(id));
    schema.next_field_id = next_field_id;
    ASSIGN_OR_RETURN(const auto key_columns, KeyColumns(key, schema));
    OptionList given;
    for (const auto& [option, value] : options.items()) {
      if (!value.is_string()) return Corruption("malformed option '{}'", option);
      given.emplace_back(option, value.get<std::string>());
    }
    TableOptions resolved(schema);
    RETURN_IF_ERROR(resolved.Apply(schema, given));
    version_->schemas[name.schema].tables[name.table] =
        std::make_shared<Table>(id, name, schema, key_columns, resolved, std::vector<std::shared_ptr<Tablet>>());
    RETURN_IF_ERROR(LoadTablets(id));
    return LoadRowsets(id);
  }

  static Result<std::vector<size_t>> KeyColumns(const json& key, const Schema& schema) {
    std::vector<size_t> columns;
    if (!key.is_array()) return Corruption("malformed key");
    for (const json& column : key) {
      if (!column.is_number_unsigned() || column.get<size_t>() >= schema.size()) return Corruption("malformed key");
      columns.push_back(column.get<size_t>());
    }
    return columns;
  }

  Status LoadTablets(TableId id) {
    SqliteStatement select(db_, path_, "SELECT tablet, next_mem_rowset, applied_lsn FROM tablets WHERE table_id = ?");
    select.BindInt(static_cast<int64_t>(id));
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) return Status::Ok();
      TabletImage& tablet = image_.tablets[{id, static_cast<uint32_t>(select.Int(0))}];
      tablet.next_mem_rowset = Unsigned(select, 1);
      tablet.applied_lsn = Unsigned(select, 2);
    }
  }

  Result<Schema> LoadColumns(TableId id) {
    Schema schema;
    SqliteStatement columns(db_, path_,
                            "SELECT name, type, nullable, field_id, initial_default FROM columns "
                            "WHERE table_id = ? ORDER BY position");
    columns.BindInt(static_cast<int64_t>(id));
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, columns.Step());
      if (!row) return schema;
      ASSIGN_OR_RETURN(const Type type, Type::Parse(columns.Text(1)));
      Field& field = schema.fields.emplace_back();
      field = {columns.Text(0), type, columns.Int(2) != 0, static_cast<int32_t>(columns.Int(3)), Value()};
      if (columns.IsNull(4)) continue;
      ASSIGN_OR_RETURN(field.initial_default, BoundFromBytes(type, columns.Blob(4)));
    }
  }

  Status LoadRowsets(TableId id) {
    SqliteStatement select(db_, path_,
                           "SELECT id, tablet, position, row_count, row_groups, bytes, footer_crc, min_key, max_key, "
                           "min_commit, max_commit, has_commit_column, has_versions, key_columns FROM rowsets WHERE "
                           "table_id = ? ORDER BY id");
    select.BindInt(static_cast<int64_t>(id));
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) return Status::Ok();
      RowsetImage rowset;
      auto loaded = std::make_shared<RowsetInfo>();
      RowsetInfo& info = *loaded;
      info.id = Unsigned(select, 0);
      info.tablet = static_cast<uint32_t>(select.Int(1));
      info.order = Unsigned(select, 2);
      info.rows = Unsigned(select, 3);
      info.row_groups = Unsigned(select, 4);
      info.bytes = Unsigned(select, 5);
      info.footer_crc = static_cast<uint32_t>(select.Int(6));
      info.min_key = AsText(select.Blob(7));
      info.max_key = AsText(select.Blob(8));
      info.min_commit = Unsigned(select, 9);
      info.max_commit = Unsigned(select, 10);
      info.has_commit_column = select.Int(11) != 0;
      info.has_versions = select.Int(12) != 0;
      RETURN_IF_ERROR(LoadStatistics(&info));
      ASSIGN_OR_RETURN(info.key, KeyColumns(json::parse(select.Text(13), nullptr, false), info.schema));
      RETURN_IF_ERROR(LoadDeletes(info.id, &rowset.deletes));
      rowset.info = loaded;
      const auto tablet = image_.tablets.find({id, info.tablet});
      if (tablet == image_.tablets.end()) return Corruption("rowset {}: there is no tablet {}", info.id, info.tablet);
      tablet->second.rowsets.push_back(std::move(rowset));
    }
  }

  Status LoadDeletes(RowsetId rowset, StoredDeletes* deletes) {
    SqliteStatement select(db_, path_,
                           "SELECT puffin, cardinality, settled_at, dead_offset, dead_length, dead_crc, "
                           "commits_offset, commits_length, commits_crc, puffin_footer_crc, applied_lsn "
                           "FROM delete_logs WHERE rowset_id = ?");
    select.BindInt(static_cast<int64_t>(rowset));
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) return Status::Ok();
    DeleteLogLocation& location = deletes->location;
    deletes->puffin = Unsigned(select, 0);
    location.cardinality = Unsigned(select, 1);
    location.settled_at = Unsigned(select, 2);
    location.dead = {Unsigned(select, 3), Unsigned(select, 4), static_cast<uint32_t>(select.Int(5))};
    location.commits = {Unsigned(select, 6), Unsigned(select, 7), static_cast<uint32_t>(select.Int(8))};
    deletes->footer_crc = static_cast<uint32_t>(select.Int(9));
    deletes->applied_lsn = Unsigned(select, 10);
    return Status::Ok();
  }

  Status LoadStatistics(RowsetInfo* info) {
    SqliteStatement select(db_, path_,
                           "SELECT name, type, nullable, field_id, null_count, min, max, min_exact, max_exact, "
                           "may_have_nan, compressed_bytes, uncompressed_bytes, filter_bytes, sketch "
                           "FROM rowset_columns WHERE rowset_id = ? ORDER BY position");
    select.BindInt(static_cast<int64_t>(info->id));
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, select.Step());
      if (!row) break;
      ASSIGN_OR_RETURN(const Type type, Type::Parse(select.Text(1)));
      info->schema.fields.push_back(
          {select.Text(0), type, select.Int(2) != 0, static_cast<int32_t>(select.Int(3)), {}});
      ColumnStatistics column;
      column.zone.rows = info->rows;
      column.zone.has_null_count = !select.IsNull(4);
      column.zone.null_count = Unsigned(select, 4);
      if (!select.IsNull(5)) {
        ASSIGN_OR_RETURN(column.zone.min, BoundFromBytes(type, select.Blob(5)));
      }
      if (!select.IsNull(6)) {
        ASSIGN_OR_RETURN(column.zone.max, BoundFromBytes(type, select.Blob(6)));
      }
      column.zone.min_exact = select.Int(7) != 0;
      column.zone.max_exact = select.Int(8) != 0;
      column.zone.may_have_nan = select.Int(9) != 0;
      column.compressed_bytes = Unsigned(select, 10);
      column.uncompressed_bytes = Unsigned(select, 11);
      column.filter_bytes = Unsigned(select, 12);
      if (!column.distinct.Load(select.Blob(13))) return Corruption("rowset {}: malformed sketch", info->id);
      info->columns.push_back(std::move(column));
    }
    return info->columns.empty() ? Corruption("rowset {}: columns are missing", info->id) : Status::Ok();
  }

  sqlite3* db_;
  const std::string& path_;
  CatalogImage image_;
  std::shared_ptr<Version> version_ = std::make_shared<Version>();
};

// Writes the difference between two images.
class DifferenceWriter {
 public:
  DifferenceWriter(sqlite3* db, const std::string& path) : db_(db), path_(path) {}

  Status Write(const CatalogImage& old_image, const CatalogImage& new_image) {
    const Version& before = *old_image.version;
    const Version& after = *new_image.version;
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
    RETURN_IF_ERROR(WriteTables(before, after));
    RETURN_IF_ERROR(WriteTablets(old_image, new_image));
    RETURN_IF_ERROR(WriteOlder(old_image, new_image));
    return WriteTimes(old_image, new_image);
  }

 private:
  // Temporaries of one statement each: a catalog changes rarely.
  SqliteStatement& Statement(std::string_view sql) {
    statement_.emplace(db_, path_, sql);
    return *statement_;
  }

  Status WriteViews(const Version& before, const Version& after) {
    for (const auto& [_, schema] : before.schemas) {
      for (const auto& [_, view] : schema.views) {
        const View* now = FindView(after, view.name);
        if (now != nullptr && now->sql == view.sql) continue;
        RETURN_IF_ERROR(Statement("DELETE FROM views WHERE schema_name = ? AND name = ?")
                            .BindText(view.name.schema)
                            .BindText(view.name.table)
                            .Run());
      }
    }
    for (const auto& [_, schema] : after.schemas) {
      for (const auto& [_, view] : schema.views) {
        const View* then = FindView(before, view.name);
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
    const auto old_tables = before.TablesById();
    const auto new_tables = after.TablesById();
    for (const auto& [id, table] : old_tables) {
      const auto now = new_tables.find(id);
      if (now == new_tables.end() || now->second != table) RETURN_IF_ERROR(DeleteDefinition(id));
    }
    for (const auto& [id, table] : new_tables) {
      const auto then = old_tables.find(id);
      if (then == old_tables.end() || then->second != table) RETURN_IF_ERROR(InsertDefinition(*table));
    }
    return Status::Ok();
  }

  Status WriteTablets(const CatalogImage& before, const CatalogImage& after) {
    for (const auto& [key, tablet] : before.tablets) {
      const auto now = after.tablets.find(key);
      const TabletImage* kept = now == after.tablets.end() ? nullptr : &now->second;
      if (kept == nullptr) {
        RETURN_IF_ERROR(Statement("DELETE FROM tablets WHERE table_id = ? AND tablet = ?")
                            .BindInt(static_cast<int64_t>(key.first))
                            .BindInt(key.second)
                            .Run());
      }
      for (const RowsetImage& rowset : tablet.rowsets) {
        if (kept == nullptr || Find(*kept, rowset) == nullptr) RETURN_IF_ERROR(DeleteRowset(rowset.info->id));
      }
    }
    for (const auto& [key, tablet] : after.tablets) {
      RETURN_IF_ERROR(Statement("INSERT OR REPLACE INTO tablets VALUES (?, ?, ?, ?)")
                          .BindInt(static_cast<int64_t>(key.first))
                          .BindInt(key.second)
                          .BindInt(static_cast<int64_t>(tablet.next_mem_rowset))
                          .BindInt(static_cast<int64_t>(tablet.applied_lsn))
                          .Run());
      const auto then = before.tablets.find(key);
      for (const RowsetImage& rowset : tablet.rowsets) {
        const RowsetImage* old = then == before.tablets.end() ? nullptr : Find(then->second, rowset);
        if (old == nullptr) RETURN_IF_ERROR(InsertRowset(key.first, *rowset.info));
        if (rowset.deletes.puffin == 0 || (old != nullptr && old->deletes.puffin == rowset.deletes.puffin)) continue;
        RETURN_IF_ERROR(InsertDeletes(rowset.info->id, rowset.deletes));
      }
    }
    return Status::Ok();
  }

  static const RowsetImage* Find(const TabletImage& tablet, const RowsetImage& rowset) {
    const auto found = std::find_if(tablet.rowsets.begin(), tablet.rowsets.end(),
                                    [&](const RowsetImage& each) { return each.info->id == rowset.info->id; });
    return found == tablet.rowsets.end() ? nullptr : &*found;
  }

  Status WriteOlder(const CatalogImage& before, const CatalogImage& after) {
    for (const auto& [commit, _] : before.older) {
      if (after.older.contains(commit)) continue;
      RETURN_IF_ERROR(
          Statement("DELETE FROM older_versions WHERE \"commit\" = ?").BindInt(static_cast<int64_t>(commit)).Run());
    }
    for (const auto& [commit, changes] : after.older) {
      if (before.older.contains(commit)) continue;
      RETURN_IF_ERROR(Statement("INSERT INTO older_versions VALUES (?, ?)")
                          .BindInt(static_cast<int64_t>(commit))
                          .BindBlob(SerializeCatalogChanges(changes))
                          .Run());
    }
    return Status::Ok();
  }

  Status WriteTimes(const CatalogImage& before, const CatalogImage& after) {
    const uint64_t first = after.times.empty() ? 0 : after.times.front().commit;
    const uint64_t last = before.times.empty() ? 0 : before.times.back().commit;
    // The last one may have changed since.
    RETURN_IF_ERROR(Statement("DELETE FROM commit_times WHERE \"commit\" < ? OR \"commit\" >= ?")
                        .BindInt(static_cast<int64_t>(first))
                        .BindInt(static_cast<int64_t>(last))
                        .Run());
    for (const CommitTime& each : after.times) {
      if (each.commit < last) continue;
      RETURN_IF_ERROR(Statement("INSERT OR REPLACE INTO commit_times VALUES (?, ?)")
                          .BindInt(static_cast<int64_t>(each.commit))
                          .BindInt(each.time)
                          .Run());
    }
    return Status::Ok();
  }

  Status DeleteDefinition(TableId id) {
    RETURN_IF_ERROR(Statement("DELETE FROM tables WHERE id = ?").BindInt(static_cast<int64_t>(id)).Run());
    return Statement("DELETE FROM columns WHERE table_id = ?").BindInt(static_cast<int64_t>(id)).Run();
  }

  Status DeleteRowset(RowsetId id) {
    for (const char* sql : {"DELETE FROM rowsets WHERE id = ?", "DELETE FROM rowset_columns WHERE rowset_id = ?",
                            "DELETE FROM delete_logs WHERE rowset_id = ?"}) {
      RETURN_IF_ERROR(Statement(sql).BindInt(static_cast<int64_t>(id)).Run());
    }
    return Status::Ok();
  }

  Status InsertDeletes(RowsetId rowset, const StoredDeletes& deletes) {
    const DeleteLogLocation& location = deletes.location;
    return Statement("INSERT OR REPLACE INTO delete_logs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .BindInt(static_cast<int64_t>(rowset))
        .BindInt(static_cast<int64_t>(deletes.puffin))
        .BindInt(static_cast<int64_t>(location.cardinality))
        .BindInt(static_cast<int64_t>(location.settled_at))
        .BindInt(static_cast<int64_t>(location.dead.offset))
        .BindInt(static_cast<int64_t>(location.dead.length))
        .BindInt(location.dead.crc)
        .BindInt(static_cast<int64_t>(location.commits.offset))
        .BindInt(static_cast<int64_t>(location.commits.length))
        .BindInt(location.commits.crc)
        .BindInt(deletes.footer_crc)
        .BindInt(static_cast<int64_t>(deletes.applied_lsn))
        .Run();
  }

  Status InsertDefinition(const Table& table) {
    RETURN_IF_ERROR(Statement("INSERT INTO tables VALUES (?, ?, ?, ?, ?, ?)")
                        .BindInt(static_cast<int64_t>(table.id()))
                        .BindText(table.name().schema)
                        .BindText(table.name().table)
                        .BindText(json(table.key()).dump())
                        .BindText(json(table.options().given()).dump())
                        .BindInt(table.schema().next_field_id)
                        .Run());
    for (size_t i = 0; i < table.schema().size(); ++i) {
      const Field& field = table.schema()[i];
      SqliteStatement& insert = Statement("INSERT INTO columns VALUES (?, ?, ?, ?, ?, ?, ?)");
      insert.BindInt(static_cast<int64_t>(table.id()))
          .BindInt(static_cast<int64_t>(i))
          .BindText(field.name)
          .BindText(field.type.ToString())
          .BindInt(field.nullable ? 1 : 0)
          .BindInt(field.field_id);
      if (field.initial_default.is_null()) {
        insert.BindNull();
      } else {
        insert.BindBlob(BoundBytes(field.type, field.initial_default));
      }
      RETURN_IF_ERROR(insert.Run());
    }
    return Status::Ok();
  }

  Status InsertRowset(TableId table, const RowsetInfo& info) {
    RETURN_IF_ERROR(Statement("INSERT INTO rowsets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
                        .BindInt(static_cast<int64_t>(info.id))
                        .BindInt(static_cast<int64_t>(table))
                        .BindInt(info.tablet)
                        .BindInt(static_cast<int64_t>(info.order))
                        .BindInt(static_cast<int64_t>(info.rows))
                        .BindInt(static_cast<int64_t>(info.row_groups))
                        .BindInt(static_cast<int64_t>(info.bytes))
                        .BindInt(info.footer_crc)
                        .BindBlob(AsBytes(info.min_key))
                        .BindBlob(AsBytes(info.max_key))
                        .BindInt(static_cast<int64_t>(info.min_commit))
                        .BindInt(static_cast<int64_t>(info.max_commit))
                        .BindInt(info.has_commit_column ? 1 : 0)
                        .BindInt(info.has_versions ? 1 : 0)
                        .BindText(json(info.key).dump())
                        .Run());
    for (size_t i = 0; i < info.columns.size(); ++i) {
      RETURN_IF_ERROR(InsertStatistics(info.id, i, info.schema[i], info.columns[i]));
    }
    return Status::Ok();
  }

  Status InsertStatistics(RowsetId rowset, size_t position, const Field& field, const ColumnStatistics& column) {
    const Type& type = field.type;
    SqliteStatement& insert =
        Statement("INSERT INTO rowset_columns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.BindInt(static_cast<int64_t>(rowset))
        .BindInt(static_cast<int64_t>(position))
        .BindText(field.name)
        .BindText(type.ToString())
        .BindInt(field.nullable ? 1 : 0)
        .BindInt(field.field_id);
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

Result<uint64_t> StoredCheckpoint(sqlite3* db, const std::string& path) {
  SqliteStatement select(db, path, "SELECT value FROM meta WHERE name = 'checkpoint'");
  ASSIGN_OR_RETURN(const bool row, select.Step());
  return row ? static_cast<uint64_t>(select.Int(0)) : 0;  // none before the first
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
  std::unique_ptr<CatalogFile> catalog(new CatalogFile(fs, path, std::move(connection)));
  ASSIGN_OR_RETURN(catalog->checkpoint_, StoredCheckpoint(catalog->connection_->db(), path));
  return catalog;
}

Result<CatalogImage> CatalogFile::Load() { return Loader(connection_->db(), path_).Load(); }

Status CatalogFile::Apply(const CatalogImage& before, const CatalogImage& after) {
  if (!settled()) {
    return ReadOnly("{}: an earlier checkpoint failed in a way that left its outcome open; open the database again",
                    path_);
  }
  ++checkpoint_;
  Status written = Write(before, after);
  if (!written.ok()) written = Settle(written);
  if (!written.ok()) --checkpoint_;
  return written;
}

Status CatalogFile::Write(const CatalogImage& before, const CatalogImage& after) {
  sqlite3* db = connection_->db();
  RETURN_IF_ERROR(SqliteExecute(db, path_, "BEGIN IMMEDIATE"));
  RETURN_IF_ERROR(DifferenceWriter(db, path_).Write(before, after));
  const std::pair<const char*, uint64_t> numbers[] = {{"checkpoint", checkpoint_},
                                                      {"commit_number", after.commit},
                                                      {"version_commit", after.version->commit},
                                                      {"catalog_lsn", after.catalog_lsn},
                                                      {"replay_lsn", after.replay_lsn},
                                                      {"horizon", after.horizon},
                                                      {"next_table_id", after.counters.next_table_id},
                                                      {"next_rowset_id", after.counters.next_rowset_id},
                                                      {"next_puffin_id", after.counters.next_puffin_id}};
  for (const auto& [name, value] : numbers) RETURN_IF_ERROR(SetMeta(db, path_, name, value));
  return SqliteExecute(db, path_, "COMMIT");
}

// Finds out what became of a checkpoint that failed: the failing step may have been the last, so that the file holds
// it. A new connection takes what file and journal say; then another transaction, which writes the journal anew, makes
// that durable: a sync that succeeds the second time proves nothing, as the system may have dropped what the first
// left.
Status CatalogFile::Settle(const Status& failure) {
  connection_ = nullptr;
  const auto settle = [&]() -> Result<bool> {
    ASSIGN_OR_RETURN(auto connection, SqliteConnection::Open(fs_, path_, SqliteConnection::Mode::kWrite));
    ASSIGN_OR_RETURN(const uint64_t stored, StoredCheckpoint(connection->db(), path_));
    // A count, because SQLite leaves a page alone that would not change.
    RETURN_IF_ERROR(SqliteExecute(connection->db(), path_,
                                  "INSERT INTO meta VALUES ('settled', 1) "
                                  "ON CONFLICT (name) DO UPDATE SET value = value + 1"));
    connection_ = std::move(connection);
    return stored == checkpoint_;
  };
  const Result<bool> committed = settle();
  if (!committed.ok()) {
    return Status(failure.code(), fmt::format("{}; whether the checkpoint is durable shows when the database is opened "
                                              "again",
                                              failure.message()));
  }
  return *committed ? Status::Ok() : failure;
}

}  // namespace petalite::store
