// An embedded DuckDB with one Petalite database attached and in use.

#pragma once

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

}  // namespace petalite::cli
