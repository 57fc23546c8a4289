#include "base/nearest.h"
#include "cli/engine.h"
#include "cli/inspect.h"
#include "cli/table_name.h"
#include "column/key_encoding.h"
#include "store/database.h"

namespace petalite::cli {
namespace {

std::string JoinOptions(const store::Table& table) {
  std::string text;
  for (const auto& [name, value] : table.options().given()) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

Document DescribeTable(const store::TableView& view) {
  const store::Table& table = view.table();
  uint64_t memory_rows = 0;
  for (const auto& part : view.mem_rowsets()) memory_rows += part.rows;
  Document key = Document::array();
  for (const size_t column : table.key()) key.push_back(table.schema()[column].name);
  Document out;
  out["table"] = table.name().ToString();
  out["rows"] = view.rows();
  out["rowsets"] = view.rowsets().size();
  out["bytes"] = view.bytes();
  out["rows_in_log"] = memory_rows;
  out["key"] = key;
  out["options"] = JoinOptions(table);
  return out;
}

// "4711" or "4711, 1"; a key's values as people write them.
Result<Document> KeyText(const store::Table& table, const std::string& encoded) {
  if (!table.is_keyed()) return Document();
  const std::vector<Type> types = table.KeyTypes();
  ASSIGN_OR_RETURN(const auto values, DecodeKey(types, encoded));
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) text += (i > 0 ? ", " : "") + values[i].ToString(types[i]);
  return Document(text);
}

Result<Document> DescribeRowset(const store::Table& table, const store::TableView::RowsetPart& part) {
  const store::RowsetInfo& info = part.rowset->info();
  uint64_t filter_bytes = 0;
  for (const auto& column : info.columns) filter_bytes += column.filter_bytes;
  Document out;
  out["rowset"] = info.id;
  out["file"] = part.rowset->path();
  out["rows"] = info.rows;
  out["dead_rows"] = part.dead == nullptr ? 0 : part.dead->count();
  out["row_groups"] = info.row_groups;
  out["bytes"] = info.bytes;
  out["filter_bytes"] = filter_bytes;
  ASSIGN_OR_RETURN(out["min_key"], KeyText(table, info.min_key));
  ASSIGN_OR_RETURN(out["max_key"], KeyText(table, info.max_key));
  return out;
}

// Without rowsets there are no files to ask; the schema still says what the columns are.
Document DescribeEmptyColumns(const Schema& schema) {
  Document list = Document::array();
  for (const Field& field : schema.fields) list.push_back({{"column", field.name}, {"type", field.type.ToString()}});
  return list;
}

Result<Document> InspectTable(const InspectOptions& options, const store::TableView& view) {
  const store::Table& table = view.table();
  std::vector<InspectedFile> files;
  Document rowsets = Document::array();
  for (const auto& part : view.rowsets()) {
    ASSIGN_OR_RETURN(rowsets.emplace_back(), DescribeRowset(table, part));
    ASSIGN_OR_RETURN(const auto* reader, part.rowset->file());
    InspectedFile& file = files.emplace_back(InspectedFile{reader, part.rowset->info().id, {}, part.mapping.get()});
    for (const auto& column : part.rowset->info().columns) file.distinct.push_back(column.distinct.Estimate());
  }
  Document document = DescribeTable(view);
  // The number of rowsets stands in the list itself.
  document.erase("rowsets");
  std::vector<parquet::LeafColumn> leaves;
  for (const Field& field : table.schema().fields) leaves.emplace_back().field = field;
  document["columns"] = files.empty() ? DescribeEmptyColumns(table.schema()) : DescribeColumns(files, leaves);
  document["rowsets"] = rowsets;
  const std::string where = fmt::format("table '{}'", table.name().ToString());
  RETURN_IF_ERROR(DescribeDetails(options, where, leaves, files, &document));
  return document;
}

Status NoSuchTable(const InspectOptions& options, const store::Version& version) {
  std::vector<std::string> names;
  for (const auto& [_, schema] : version.schemas) {
    for (const auto& [_, table] : schema.tables) names.push_back(table->name().ToString());
  }
  if (names.empty()) return NotFound("{}: there is no table '{}', nor any other", options.path, options.table);
  const std::vector<std::string_view> views(names.begin(), names.end());
  return NotFound("{}: there is no table '{}'; the nearest is '{}'", options.path, options.table,
                  NearestName(options.table, views));
}

}  // namespace

Result<Document> InspectDatabase(const InspectOptions& options, const CommonOptions& common) {
  ASSIGN_OR_RETURN(store::DatabaseOptions opened, ToDatabaseOptions(common));
  opened.read_only = true;
  ASSIGN_OR_RETURN(const auto database, store::Database::Open(options.path, opened));
  const auto snapshot = database->CurrentSnapshot();
  const store::Version& version = snapshot->version();
  if (!options.table.empty()) {
    const auto table = version.FindTable(ParseTableName(options.table));
    if (table == nullptr) return NoSuchTable(options, version);
    return InspectTable(options, *snapshot->View(table));
  }
  if (options.details()) {
    return InvalidArgument("{}: --pages, --filters and --probe need the name of a table", options.path);
  }
  Document tables = Document::array();
  for (const auto& [_, schema] : version.schemas) {
    for (const auto& [_, table] : schema.tables) tables.push_back(DescribeTable(*snapshot->View(table)));
  }
  return Document{{"database", options.path}, {"commit", snapshot->commit()}, {"tables", tables}};
}

}  // namespace petalite::cli
