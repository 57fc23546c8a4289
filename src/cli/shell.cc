#include <chrono>
#include <fstream>
#include <iostream>
#include <set>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include "duckdb/common/error_data.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/materialized_query_result.hpp"

#include "cli/command.h"
#include "cli/engine.h"
#include "cli/line_editor.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/statement_splitter.h"

namespace petalite::cli {
namespace {

constexpr const char* kPrompt = "petalite> ";
constexpr const char* kContinuation = "     ...> ";

constexpr const char* kHelp =
    "Statements end with a semicolon and may span lines.\n"
    "  .help             this\n"
    "  .tables           names of tables and views\n"
    "  .schema [TABLE]   the statements that make them\n"
    "  .timing on|off    how long each statement took\n"
    "  .format NAME      form of results: table, csv, json, ndjson, parquet\n"
    "  .read FILE        run the statements of a file\n"
    "  .quit             leave; so does Ctrl-D\n"
    "Ctrl-C cancels the running statement, or drops the one being typed. Tab completes names.\n";
const std::vector<std::string> kDotCommands = {".help", ".tables", ".schema", ".timing", ".format", ".read", ".quit"};

bool StartsWith(const std::string& name, const std::string& prefix) {
  return name.size() >= prefix.size() && SameName(std::string_view(name).substr(0, prefix.size()), prefix);
}

std::string Cased(const std::string& name, bool upper) {
  std::string cased = name;
  for (char& c : cased) c = static_cast<char>(upper ? std::toupper(c) : std::tolower(c));
  return cased;
}

// A name as it stands in a statement.
std::string InStatement(const std::string& name) {
  const bool plain = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                     std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return plain ? name : QuoteName(name);
}

// What the word at the cursor can become. It asks on a connection of its own: the user's may be in a transaction that
// failed, and what he interrupts is his statement.
class Completer {
 public:
  explicit Completer(duckdb::Connection& connection) : connection_(*connection.context->db) {}

  std::vector<std::string> Complete(const std::string& before, const std::string& word) {
    std::vector<std::string> found;
    if (before.empty() && !word.empty() && word[0] == '.') {
      for (const std::string& command : kDotCommands) {
        if (StartsWith(command, word)) found.push_back(command);
      }
      return found;
    }
    std::set<std::string> names;
    Collect(word, "SELECT column_name FROM duckdb_columns() WHERE database_name = 'db'", &names);
    const bool qualified = !before.empty() && before.back() == '.';
    Collect(word, "SELECT table_name FROM duckdb_tables() WHERE database_name = 'db'", &names);
    Collect(word, "SELECT view_name FROM duckdb_views() WHERE database_name = 'db' AND NOT internal", &names);
    for (const std::string& name : names) found.push_back(InStatement(name));
    const bool dot_command = !before.empty() && before[0] == '.';
    if (qualified || dot_command || word.empty()) return found;
    std::set<std::string> keywords;
    Collect(word, "SELECT keyword_name FROM duckdb_keywords()", &keywords);
    // As the user writes them: lower case if he began so.
    const bool upper = std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::islower(c) != 0; });
    for (const std::string& keyword : keywords) {
      if (!names.contains(keyword)) found.push_back(Cased(keyword, upper));
    }
    return found;
  }

 private:
  void Collect(const std::string& word, const std::string& query, std::set<std::string>* names) {
    const auto result = connection_.Query(query);
    if (result->HasError()) return;  // completion is a help, not worth a message in the middle of a line
    for (duckdb::idx_t row = 0; row < result->RowCount(); ++row) {
      const std::string name = result->GetValue(0, row).ToString();
      if (StartsWith(name, word)) names->insert(name);
    }
  }

  duckdb::Connection connection_;
};

class Shell {
 public:
  Shell(Engine& engine, Format format, bool interactive)
      : connection_(engine.connection()), format_(format), timing_(interactive) {
    if (interactive && isatty(STDOUT_FILENO) != 0) pager_ = FindPager();
  }

  // One line of input. False after an error, which has been reported.
  bool Feed(const std::string& line);
  // What is left when the input ends: a last statement without its semicolon.
  bool FeedEnd();

  void DropStatement() { splitter_.Take(); }
  bool in_statement() const { return !splitter_.empty(); }
  bool quit() const { return quit_; }

 private:
  bool RunStatement(const std::string& sql);
  bool RunDotCommand(const std::string& line);
  bool RunFile(const std::string& path);
  bool ShowSchema(const std::string& table);
  bool Fails(const std::string& message) {
    fmt::print(stderr, "petalite: {}\n", message);
    return false;
  }

  duckdb::Connection& connection_;
  Format format_;
  bool timing_;
  std::string pager_;
  StatementSplitter splitter_;
  bool quit_ = false;
  size_t files_open_ = 0;  // .read within .read
};

bool Shell::Feed(const std::string& line) {
  if (splitter_.empty() && line.starts_with('.')) {
    splitter_.Take();
    return RunDotCommand(line);
  }
  splitter_.Add(line + "\n");
  while (const auto statement = splitter_.Next()) {
    if (RunStatement(*statement)) continue;
    splitter_.Take();
    return false;
  }
  return true;
}

bool Shell::FeedEnd() {
  const bool empty = splitter_.empty();
  const std::string rest = splitter_.Take();
  return empty || RunStatement(rest);
}

bool Shell::RunStatement(const std::string& sql) {
  const StatementScope scope;
  const auto begin = std::chrono::steady_clock::now();
  std::optional<double> seconds;
  try {
    Pager pager(pager_);
    RunStatements(connection_, sql, format_);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  } catch (const PagerClosed&) {
  } catch (const std::exception& exception) {
    return Fails(Interrupted() ? "interrupted" : duckdb::ErrorData(exception).RawMessage());
  }
  if (timing_ && seconds.has_value()) fmt::print(stderr, "{:.3f} s\n", *seconds);
  return true;
}

bool Shell::ShowSchema(const std::string& table) {
  const std::string name = QuoteText(table);
  const std::string also = table.empty() ? "" : fmt::format(" AND lower(name) = lower({})", name);
  const auto result = connection_.Query(
      "SELECT sql FROM (SELECT table_name AS name, sql, database_name, 0 AS kind FROM duckdb_tables() UNION ALL SELECT "
      "view_name, sql, database_name, 1 FROM duckdb_views() WHERE NOT internal) WHERE database_name = 'db'" +
      also + " ORDER BY kind, name");
  if (result->HasError()) return Fails(result->GetErrorObject().RawMessage());
  if (result->RowCount() == 0 && !table.empty()) return Fails(fmt::format("there is no table or view '{}'", table));
  for (duckdb::idx_t row = 0; row < result->RowCount(); ++row) WriteOut(result->GetValue(0, row).ToString() + "\n");
  return true;
}

bool Shell::RunFile(const std::string& path) {
  // Enough for files that read files; one that reads itself must end.
  constexpr size_t kDeepest = 16;
  std::ifstream file(path);
  if (!file.is_open()) return Fails(fmt::format("{}: cannot be read", path));
  if (files_open_ == kDeepest) return Fails(fmt::format("{}: .read within .read, more than {} deep", path, kDeepest));
  ++files_open_;
  bool fine = true;
  for (std::string line; fine && !quit_ && std::getline(file, line);) fine = Feed(line);
  if (fine) fine = FeedEnd();
  --files_open_;
  return fine;
}

bool Shell::RunDotCommand(const std::string& line) {
  const size_t space = std::min(line.find_first_of(" \t;"), line.size());
  const std::string command = line.substr(0, space);
  std::string argument = line.substr(space);
  const auto is_trimmed = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0 || c == ';'; };
  while (!argument.empty() && is_trimmed(argument.back())) argument.pop_back();
  argument.erase(argument.begin(), std::find_if_not(argument.begin(), argument.end(), is_trimmed));
  if (command == ".quit" || command == ".exit") {
    quit_ = true;
  } else if (command == ".help") {
    WriteOut(kHelp);
  } else if (command == ".tables") {
    return RunStatement(
        "SELECT schema_name AS schema, table_name AS name FROM duckdb_tables() WHERE database_name = 'db' UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'db' AND NOT internal ORDER BY ALL");
  } else if (command == ".schema") {
    return ShowSchema(argument);
  } else if (command == ".timing" && (argument == "on" || argument == "off")) {
    timing_ = argument == "on";
  } else if (command == ".timing") {
    return Fails(".timing: say on or off");
  } else if (command == ".format") {
    const auto format = ParseFormat(argument);
    if (!format.ok()) return Fails(format.status().message());
    format_ = *format;
  } else if (command == ".read") {
    return RunFile(argument);
  } else {
    return Fails(fmt::format("unknown command '{}'; .help lists them", command));
  }
  return true;
}

// The terminal as it was, when a signal ends the process while a line is edited.
void RestoreTerminalOnExit() {
  termios before{};
  if (tcgetattr(STDIN_FILENO, &before) != 0) return KeepRunningWhenInterrupted(nullptr);
  KeepRunningWhenInterrupted([before] { tcsetattr(STDIN_FILENO, TCSANOW, &before); });
}

int RunInteractive(Engine& engine, Format format) {
  RestoreTerminalOnExit();
  Shell shell(engine, format, true);
  Completer completer(engine.connection());
  LineEditor editor(HistoryPath(), [&](const std::string& before, const std::string& word) {
    return completer.Complete(before, word);
  });
  std::string line;
  while (!shell.quit()) {
    switch (editor.Read(shell.in_statement() ? kContinuation : kPrompt, &line)) {
      case LineEditor::Outcome::kLine:
        shell.Feed(line);  // an error has been shown, and the next statement may be better
        break;
      case LineEditor::Outcome::kCleared:
        shell.DropStatement();
        break;
      case LineEditor::Outcome::kEnd:
        return kDone;
    }
  }
  return kDone;
}

int RunScript(Engine& engine, Format format) {
  Shell shell(engine, format, false);
  for (std::string line; !shell.quit() && std::getline(std::cin, line);) {
    if (!shell.Feed(line)) return kFailed;
  }
  return shell.FeedEnd() ? kDone : kFailed;
}

int RunShell(const std::string& path, const std::string& format_name, const CommonOptions& common) {
  const auto format = ParseFormat(format_name);
  if (!format.ok()) return Fail(format.status());
  Engine engine(path, common, false);
  return isatty(STDIN_FILENO) != 0 ? RunInteractive(engine, *format) : RunScript(engine, *format);
}

}  // namespace

void AddShell(CLI::App& app, CommonOptions& common, Run* run) {
  auto path = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("table");
  CLI::App* command = app.add_subcommand("shell", "Type SQL statements at a prompt");
  command->footer(
      ".help at the prompt lists what there is besides SQL. Results go through $PAGER (default: less) on a terminal.\n"
      "If standard input is not a terminal, statements are read from it; the first error ends it with status 1.");
  command->add_option("DB", *path, "Directory of the database")->required();
  command->add_option("--format", *format, std::string("Form of results: ") + kFormatNames)
      ->check(CLI::IsMember({"table", "csv", "json", "ndjson", "parquet"}))
      ->type_name("FORMAT");
  command->callback([=, &common] { *run = [=, &common] { return RunShell(*path, *format, common); }; });
}

}  // namespace petalite::cli
