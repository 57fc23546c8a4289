#include <CLI/CLI.hpp>
#include <unistd.h>

#include "cli/command.h"
#include "cli/engine.h"
#include "cli/table_name.h"

namespace petalite::cli {
namespace {

struct Options {
  std::string database;
  std::string table;
  bool rewrite = false;
};

struct Size {
  uint64_t rowsets = 0;
  uint64_t bytes = 0;
};

Size SizeOf(const store::Database& database, const TableName& name) {
  const auto snapshot = database.CurrentSnapshot();
  const auto table = snapshot->version().FindTable(name);
  if (table == nullptr) return {};
  const auto view = snapshot->View(table);
  return {view->rowsets().size(), view->bytes()};
}

Status RunCompact(const Options& options, const CommonOptions& common) {
  if (common.read_only) return ReadOnly("compact writes; it cannot be --read-only");
  ASSIGN_OR_RETURN(store::DatabaseOptions opened, ToDatabaseOptions(common));
  opened.background = false;  // everything that is due is done here
  ASSIGN_OR_RETURN(const auto database, store::Database::Open(options.database, opened));
  const auto version = database->Current();
  std::vector<TableName> names;
  if (!options.table.empty()) {
    const TableName name = ParseTableName(options.table);
    const auto table = version->FindTable(name);
    if (table == nullptr) return store::NoSuchTable(*version, name).WithContext(options.database);
    names.push_back(table->name());
  } else {
    for (const auto& [_, table] : version->TablesById()) names.push_back(table->name());
  }
  const bool terminal = isatty(STDERR_FILENO) != 0;
  for (const TableName& name : names) {
    if (terminal) fmt::print(stderr, "\r\033[K{}", name.ToString());
    // What is in memory counts as neither; it is flushed first.
    RETURN_IF_ERROR(database->Flush(name));
    const Size before = SizeOf(*database, name);
    RETURN_IF_ERROR(database->Compact(name, options.rewrite));
    const Size after = SizeOf(*database, name);
    if (terminal) fmt::print(stderr, "\r\033[K");
    fmt::print("{}: {} rowsets of {} bytes, now {} of {}\n", name.ToString(), before.rowsets, before.bytes,
               after.rowsets, after.bytes);
  }
  return Status::Ok();
}

}  // namespace

void AddCompact(CLI::App& app, CommonOptions& common, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("compact", "Merge the rowsets of a table, or of all, as far as it pays");
  command->footer(
      "Examples:\n  petalite compact db orders\n"
      "  petalite compact db --rewrite      every rowset is written anew and obeys the table's options of now\n\n"
      "Rows that are dead, and older than history_retention, take no more space afterwards.");
  command->add_option("DB", options->database, "Directory of the database")->required();
  command->add_option("TABLE", options->table, "Table, perhaps with its schema; all by default");
  command->add_flag("--rewrite", options->rewrite, "Write every rowset anew");
  command->callback([=, &common] {
    *run = [=, &common] {
      const Status status = RunCompact(*options, common);
      return status.ok() ? kDone : Fail(status);
    };
  });
}

}  // namespace petalite::cli
