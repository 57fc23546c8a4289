#include <numeric>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/engine.h"
#include "cli/output.h"
#include "cli/table_name.h"
#include "column/key_encoding.h"
#include "store/lookup.h"

namespace petalite::cli {
namespace {

struct Options {
  std::string database;
  std::string table;
  std::vector<std::string> keys;
  std::vector<std::string> columns;
  std::string format = "table";
};

// The fields of one CSV record: a composite key.
std::vector<std::string> SplitKey(const std::string& text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back().push_back('"');
      ++i;
    } else if (c == '"' && (quoted || fields.back().empty())) {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back().push_back(c);
    }
  }
  return fields;
}

Result<std::string> ParseKey(const store::Table& table, const std::string& text) {
  const std::vector<Type> types = table.KeyTypes();
  const std::vector<std::string> fields = types.size() == 1 ? std::vector{text} : SplitKey(text);
  if (fields.size() != types.size()) {
    return InvalidArgument("key '{}': it has {} columns, the key of table '{}' has {}", text, fields.size(),
                           table.name().ToString(), types.size());
  }
  std::vector<Value> values;
  for (size_t i = 0; i < types.size(); ++i) {
    ASSIGN_OR_RETURN(values.emplace_back(), Value::Parse(types[i], fields[i]));
  }
  return EncodeKey(types, values);
}

Result<std::vector<size_t>> ChooseColumns(const store::Table& table, const std::vector<std::string>& names) {
  std::vector<size_t> columns;
  for (const std::string& name : names) {
    const auto found = table.schema().Find(name);
    if (!found) return NotFound("table '{}' has no column '{}'", table.name().ToString(), name);
    columns.push_back(*found);
  }
  if (names.empty()) {
    columns.resize(table.schema().size());
    std::iota(columns.begin(), columns.end(), 0);
  }
  return columns;
}

using Row = std::vector<std::optional<std::string>>;

nlohmann::json ToJson(const Type& type, const std::optional<std::string>& text) {
  if (!text.has_value()) return nullptr;
  if (type.id == TypeId::kBool) return *text == "true";
  const bool number = type.id <= TypeId::kUInt64 || type.id == TypeId::kDecimal || type.IsFloating();
  if (!number) return *text;
  const auto parsed = nlohmann::json::parse(*text, nullptr, false);
  return parsed.is_discarded() ? nlohmann::json(*text) : parsed;  // NaN and infinities as text
}

void Print(const store::Table& table, const std::vector<size_t>& columns, const std::vector<Row>& rows, Format format) {
  if (format == Format::kNdjson || format == Format::kJson) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
      nlohmann::ordered_json object;
      for (size_t i = 0; i < columns.size(); ++i) {
        const Field& field = table.schema()[columns[i]];
        object[field.name] = ToJson(field.type, row[i]);
      }
      if (format == Format::kNdjson) WriteOut(object.dump() + "\n");
      all.push_back(std::move(object));
    }
    if (format == Format::kJson) WriteOut(all.dump() + "\n");
    return;
  }
  std::vector<std::string> names;
  std::vector<bool> numeric;
  for (const size_t column : columns) {
    names.push_back(table.schema()[column].name);
    const Type& type = table.schema()[column].type;
    numeric.push_back(type.id != TypeId::kBool &&
                      (type.id <= TypeId::kUInt64 || type.id == TypeId::kDecimal || type.IsFloating()));
  }
  TablePrinter printer(names, numeric);
  for (const Row& row : rows) printer.Add(row);
  printer.Finish();
}

Result<int> RunGet(const Options& options, const CommonOptions& common) {
  ASSIGN_OR_RETURN(const Format format, ParseFormat(options.format));
  ASSIGN_OR_RETURN(store::DatabaseOptions opened, ToDatabaseOptions(common));
  opened.read_only = true;
  ASSIGN_OR_RETURN(const auto database, store::Database::Open(options.database, opened));
  const auto snapshot = database->CurrentSnapshot();
  const TableName name = ParseTableName(options.table);
  const auto table = snapshot->version().FindTable(name);
  if (table == nullptr) return NotFound("{}: there is no table '{}'", options.database, name.ToString());
  if (!table->is_keyed()) {
    return InvalidArgument("table '{}' has no primary key; use petalite sql", name.ToString());
  }
  ASSIGN_OR_RETURN(const auto columns, ChooseColumns(*table, options.columns));
  const auto view = snapshot->View(table);
  std::vector<Row> rows;
  std::vector<std::string> absent;
  for (const std::string& text : options.keys) {
    ASSIGN_OR_RETURN(const std::string key, ParseKey(*table, text));
    ASSIGN_OR_RETURN(const auto position, store::FindKey(*view, key));
    if (!position.has_value()) {
      absent.push_back(text);
      continue;
    }
    ASSIGN_OR_RETURN(const auto values, store::ReadRow(*view, *position, columns));
    Row& row = rows.emplace_back();
    for (size_t i = 0; i < values.size(); ++i) {
      row.push_back(values[i].is_null() ? std::nullopt
                                        : std::optional(values[i].ToString(table->schema()[columns[i]].type)));
    }
  }
  Print(*table, columns, rows, format);
  for (const std::string& key : absent)
    fmt::print(stderr, "petalite: key '{}' is not in table '{}'\n", key, name.ToString());
  return absent.empty() ? kDone : kFailed;
}

}  // namespace

void AddGet(CLI::App& app, CommonOptions& common, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("get", "Look rows up by primary key");
  command->footer(
      "Examples:\n  petalite get db orders 4711 4712 --columns o_totalprice,o_orderdate\n"
      "  petalite get db lineitem '4711,1'            a composite key, with CSV quoting\n\n"
      "Absent keys: exit status 1 and one line each on standard error.");
  command->add_option("DB", options->database, "Directory of the database")->required();
  command->add_option("TABLE", options->table, "Table")->required();
  command->add_option("KEY", options->keys, "Keys")->required();
  command->add_option("--columns", options->columns, "Columns to show, all by default")
      ->delimiter(',')
      ->type_name("A,B");
  command->add_option("--format", options->format, "table, json or ndjson")
      ->check(CLI::IsMember({"table", "json", "ndjson"}))
      ->type_name("FORMAT");
  command->callback([=, &common] {
    *run = [=, &common] {
      const auto status = RunGet(*options, common);
      return status.ok() ? *status : Fail(status.status());
    };
  });
}

}  // namespace petalite::cli
