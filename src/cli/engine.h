// An embedded DuckDB with one Petalite database attached and in use.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "cli/command.h"
#include "store/database.h"

namespace duckdb {
class Connection;
class DuckDB;
class QueryResult;
}  // namespace duckdb

namespace petalite::cli {

class Engine {
 public:
  // Without a database: DuckDB alone, with Petalite's functions.
  Engine();
  // Attaches the database at `path` as "db" and makes it the default; `create`: make it if it is absent. Throws
  // DuckDB's exceptions, whose messages name the path.
  Engine(const std::string& path, const CommonOptions& common, bool create);
  ~Engine();

  duckdb::Connection& connection() { return *connection_; }
  // Runs statements; throws the first error.
  void Execute(const std::string& sql);

 private:
  std::unique_ptr<duckdb::DuckDB> instance_;
  std::unique_ptr<duckdb::Connection> connection_;
};

// The same options for the store alone.
Result<store::DatabaseOptions> ToDatabaseOptions(const CommonOptions& common);

std::string QuoteName(const std::string& name);  // "name"
std::string QuoteText(const std::string& text);  // 'text'

// From here on Ctrl-C (and SIGTERM) interrupts the running query instead of ending the process; call before any
// thread starts. A second Ctrl-C ends the process.
void HandleInterrupts();
bool Interrupted();

// For the shell, which outlives its statements. From here on an interrupt ends the statement that a StatementScope
// encloses, as often as it comes, and outside of one does nothing: the line editor sees Ctrl-C as a key. SIGTERM ends
// the process outside of a statement, and the statement otherwise; `before_exit` puts the terminal in order.
void KeepRunningWhenInterrupted(std::function<void()> before_exit);

// While one is alive a statement runs; when it goes, an interrupt of that statement is forgotten.
class StatementScope {
 public:
  StatementScope();
  ~StatementScope();
  StatementScope(const StatementScope&) = delete;
  StatementScope& operator=(const StatementScope&) = delete;
};

}  // namespace petalite::cli
