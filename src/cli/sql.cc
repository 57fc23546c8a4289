#include <fstream>
#include <iostream>
#include <iterator>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/engine.h"
#include "cli/output.h"

namespace petalite::cli {
namespace {

struct Options {
  std::string database;
  std::string sql;
  std::string file;
  std::string format = "table";
};

Result<std::string> ReadScript(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (file.bad() || !file.is_open()) return NotFound("{}: cannot be read", path);
  return text;
}

int RunSql(const Options& options, const CommonOptions& common) {
  const auto format = ParseFormat(options.format);
  if (!format.ok()) return Fail(format.status());
  std::string sql = options.sql;
  if (!options.file.empty()) {
    const auto script = ReadScript(options.file);
    if (!script.ok()) return Fail(script.status());
    sql = *script;
  }
  Engine engine(options.database, common, false);
  RunStatements(engine.connection(), sql, *format);
  return kDone;
}

}  // namespace

void AddSql(CLI::App& app, CommonOptions& common, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("sql", "Run SQL statements");
  command->footer(
      "Example:\n  petalite sql db \"SELECT origin, count(*) FROM flights GROUP BY ALL\" --format csv\n\n"
      "The database is attached as \"db\". Files can be queried too: FROM 'other.parquet'.");
  command->add_option("DB", options->database, "Directory of the database")->required();
  CLI::Option* text = command->add_option("SQL", options->sql, "Statements, separated by semicolons");
  CLI::Option* file =
      command->add_option("-f,--file", options->file, "Read the statements from a file, or - for standard input");
  text->excludes(file);
  command->add_option("--format", options->format, std::string("Form of results: ") + kFormatNames)
      ->check(CLI::IsMember({"table", "csv", "json", "ndjson", "parquet"}))
      ->type_name("FORMAT");
  command->callback([=, &common] {
    if (text->empty() && file->empty()) throw CLI::RequiredError("SQL, or --file");
    *run = [=, &common] { return RunSql(*options, common); };
  });
}

}  // namespace petalite::cli
