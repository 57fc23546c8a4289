#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "duckdb/main/connection.hpp"
#include "duckdb/main/materialized_query_result.hpp"

#include "cli/command.h"
#include "cli/engine.h"
#include "cli/table_name.h"
#include "parquet/reader.h"
#include "store/options.h"

namespace petalite::cli {
namespace {

struct Options {
  std::string database;
  std::string table;
  std::vector<std::string> files;
  std::string format;
  std::string key;
  std::vector<std::string> with;
  std::string mode = "create";
};

// Standard input in a file of its own, because the input is read twice, for its columns and for its rows; removed at
// the end.
class SpooledInput {
 public:
  SpooledInput() {
    const char* directory = std::getenv("TMPDIR");
    path_ = fmt::format("{}/petalite-XXXXXX", directory != nullptr ? directory : "/tmp");
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) throw std::runtime_error(path_ + ": cannot be created");
    std::FILE* out = fdopen(descriptor, "wb");
    std::string buffer(size_t{1} << 20, '\0');
    bool whole = true;
    while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), stdin)) {
      whole = whole && std::fwrite(buffer.data(), 1, count, out) == count;
    }
    whole = std::fclose(out) == 0 && whole;
    if (!whole) {
      unlink(path_.c_str());
      throw std::runtime_error(path_ + ": standard input cannot be kept there: no space left?");
    }
  }
  ~SpooledInput() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The format that a file's name tells, compression aside; empty if none.
std::string FormatOf(const std::string& file) {
  std::filesystem::path path(file);
  if (path.extension() == ".gz" || path.extension() == ".zst") path = path.stem();
  const std::string extension = path.extension().string();
  if (extension == ".parquet" || extension == ".pq") return "parquet";
  if (extension == ".csv" || extension == ".tsv" || extension == ".tbl") return "csv";
  if (extension == ".json" || extension == ".ndjson" || extension == ".jsonl") return "json";
  return "";
}

Result<std::string> ChooseFormat(const Options& options) {
  std::string format = options.format;
  if (format == "ndjson") format = "json";
  for (const std::string& file : options.files) {
    if (!options.format.empty()) break;
    const std::string found = FormatOf(file);
    if (found.empty()) {
      return InvalidArgument("{}: its name does not tell the format; give --format parquet, csv or json",
                             file == "-" ? "standard input" : file);
    }
    if (!format.empty() && format != found) {
      return InvalidArgument("{}: {} among {} files; import them one after another", file, found, format);
    }
    format = found;
  }
  return format;
}

struct Column {
  std::string name;
  std::string type;
};

std::vector<Column> Describe(Engine& engine, const std::string& relation) {
  const auto result = engine.connection().Query("DESCRIBE FROM " + relation);
  if (result->HasError()) result->GetErrorObject().Throw();
  std::vector<Column> columns;
  for (duckdb::idx_t row = 0; row < result->RowCount(); ++row) {
    columns.push_back({result->GetValue(0, row).ToString(), result->GetValue(1, row).ToString()});
  }
  return columns;
}

// What `import` runs against one table.
class Importer {
 public:
  Importer(Engine& engine, const Options& options, std::string relation, bool typed)
      : engine_(engine), options_(options), relation_(std::move(relation)), typed_(typed) {
    const TableName name = ParseTableName(options.table);
    table_ = QuoteName(name.schema) + "." + QuoteName(name.table);
    schema_ = name.schema;
  }

  // Rows that went in.
  Result<int64_t> Run() {
    engine_.Execute("BEGIN");
    engine_.Execute("CREATE SCHEMA IF NOT EXISTS " + QuoteName(schema_));
    if (options_.mode == "append") {
      RETURN_IF_ERROR(CheckSameColumns());
    } else {
      if (options_.mode == "replace") engine_.Execute("DROP TABLE IF EXISTS " + table_);
      ASSIGN_OR_RETURN(const std::string create, CreateStatement());
      engine_.Execute(create);
    }
    const auto result = engine_.connection().Query(fmt::format("INSERT INTO {} BY NAME FROM {}", table_, relation_));
    if (result->HasError()) result->GetErrorObject().Throw();
    engine_.Execute("COMMIT");
    return result->GetValue(0, 0).GetValue<int64_t>();
  }

 private:
  Result<std::string> CreateStatement() {
    std::string sql = fmt::format("CREATE TABLE {} (", table_);
    for (const Column& column : Describe(engine_, relation_)) {
      sql += fmt::format("{} {}, ", QuoteName(column.name), column.type);
    }
    if (options_.key.empty()) {
      sql.resize(sql.size() - 2);
    } else {
      std::string names;
      for (const std::string& name : CLI::detail::split(options_.key, ',')) {
        names += (names.empty() ? "" : ", ") + QuoteName(CLI::detail::trim_copy(name));
      }
      sql += fmt::format("PRIMARY KEY ({})", names);
    }
    sql += ")";
    std::string with;
    for (const std::string& option : options_.with) {
      ASSIGN_OR_RETURN(const auto parts, store::SplitOption(option));
      with += fmt::format("{}{} = {}", with.empty() ? "" : ", ", QuoteName(parts.first), QuoteText(parts.second));
    }
    return with.empty() ? sql : fmt::format("{} WITH ({})", sql, with);
  }

  // Appending needs the same columns; of formats without types only their names.
  Status CheckSameColumns() {
    const std::vector<Column> have = Describe(engine_, table_);
    const std::vector<Column> given = Describe(engine_, relation_);
    const auto find = [](const std::vector<Column>& columns, const std::string& name) {
      return std::find_if(columns.begin(), columns.end(),
                          [&](const Column& column) { return SameName(column.name, name); });
    };
    for (const Column& column : given) {
      const auto found = find(have, column.name);
      if (found == have.end()) return InvalidArgument("table {} has no column '{}'", options_.table, column.name);
      if (typed_ && found->type != column.type) {
        return InvalidArgument("column '{}' is {} in table {}, and {} in the input", column.name, found->type,
                               options_.table, column.type);
      }
    }
    for (const Column& column : have) {
      if (find(given, column.name) == given.end()) {
        return InvalidArgument("the input has no column '{}', which table {} has", column.name, options_.table);
      }
    }
    return Status::Ok();
  }

  Engine& engine_;
  const Options& options_;
  const std::string relation_;
  const bool typed_;
  std::string table_;
  std::string schema_;
};

// DuckDB's Parquet reader, which brings the rows in, does not look at page checksums. `pattern`: a file or a glob.
Status CheckParquet(Engine& engine, const std::string& pattern) {
  const auto files = engine.connection().Query(fmt::format("SELECT file FROM glob({})", QuoteText(pattern)));
  if (files->HasError()) files->GetErrorObject().Throw();
  for (const auto& row : *files) {
    ASSIGN_OR_RETURN(const auto reader, parquet::FileReader::Open(PosixFileSystem(), row.GetValue<duckdb::string>(0)));
    for (size_t group = 0; group < reader->row_groups(); ++group) {
      for (size_t column = 0; column < reader->columns().size(); ++column) {
        if (reader->columns()[column].support.ok()) RETURN_IF_ERROR(reader->CheckPages(group, column));
      }
    }
  }
  return Status::Ok();
}

int RunImport(const Options& options, const CommonOptions& common) {
  if (common.read_only) return Fail(ReadOnly("import writes; it cannot be --read-only"));
  if (!options.with.empty() && options.mode == "append") {
    return Fail(InvalidArgument("--with sets options of a new table; use ALTER TABLE {} SET (…)", options.table));
  }
  const auto format = ChooseFormat(options);
  if (!format.ok()) return Fail(format.status());
  std::vector<std::string> files = options.files;
  std::unique_ptr<SpooledInput> spooled;
  for (std::string& file : files) {
    if (file != "-") continue;
    if (spooled == nullptr) spooled = std::make_unique<SpooledInput>();
    file = spooled->path();
  }
  std::string list;
  for (const std::string& file : files) list += (list.empty() ? "" : ", ") + QuoteText(file);
  const std::string relation = fmt::format("read_{}([{}])",
                                           *format == "json"  ? "json_auto"
                                           : *format == "csv" ? "csv_auto"
                                                              : *format,
                                           list);
  const auto begin = std::chrono::steady_clock::now();
  // The input is looked at first: a mistaken name must not leave an empty database.
  {
    Engine reader;
    (void)Describe(reader, relation);
    if (*format == "parquet") {
      for (const std::string& file : files) {
        if (const Status checked = CheckParquet(reader, file); !checked.ok()) return Fail(checked);
      }
    }
  }
  Engine engine(options.database, common, true);
  const auto rows = Importer(engine, options, relation, *format == "parquet").Run();
  if (!rows.ok()) return Fail(rows.status());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print(stderr, "{} rows into {} in {:.2f} s\n", *rows, options.table, seconds.count());
  return kDone;
}

}  // namespace

void AddImport(CLI::App& app, CommonOptions& common, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("import", "Copy files into a table; makes the database if there is none");
  command->footer(
      "Examples:\n"
      "  petalite import db flights flights.parquet\n"
      "  petalite import db orders 'orders/*.csv' --key order_id --with codec=zstd --with bloom_fpp=0.001\n"
      "  zcat events.json.gz | petalite import db events - --format json --mode append");
  command->add_option("DB", options->database, "Directory of the database")->required();
  command->add_option("TABLE", options->table, "Table, perhaps with its schema: sales.orders")->required();
  command->add_option("FILE", options->files, "Files or quoted globs, or - for standard input")->required();
  command->add_option("--format", options->format, "parquet, csv, json or ndjson; by default what the names tell")
      ->check(CLI::IsMember({"parquet", "csv", "json", "ndjson"}))
      ->type_name("FORMAT");
  command->add_option("--key", options->key, "Columns of the primary key")->type_name("A,B");
  command
      ->add_option("--with", options->with,
                   "Option of the table: codec, bloom, bloom_fpp, key_bloom_fpp, encoding, page_rows, row_group_rows, "
                   "rowset_bytes, tablets, skip_unchanged; \"codec=lz4; l_comment=zstd:3\" sets one column apart")
      ->type_name("NAME=VALUE");
  command
      ->add_option("--mode", options->mode,
                   "create (default; the table must not exist), append (same columns), replace (drop it first)")
      ->check(CLI::IsMember({"create", "append", "replace"}))
      ->type_name("MODE");
  command->callback([=, &common] { *run = [=, &common] { return RunImport(*options, common); }; });
}

}  // namespace petalite::cli
