// What the subcommands share.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace CLI {
class App;
}

namespace petalite::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kInterrupted = 130;

// Options that every command has.
struct CommonOptions {
  bool read_only = false;
  double wait_seconds = 0;
  std::vector<std::string> settings;  // --set name=value, of the database
};

// Each adds its subcommand to the application; `run` receives the command to execute once the line is parsed.
using Run = std::function<int()>;
void AddSql(CLI::App& app, CommonOptions& common, Run* run);
void AddShell(CLI::App& app, CommonOptions& common, Run* run);
void AddImport(CLI::App& app, CommonOptions& common, Run* run);
void AddGet(CLI::App& app, CommonOptions& common, Run* run);
void AddInspect(CLI::App& app, CommonOptions& common, Run* run);
void AddVerify(CLI::App& app, CommonOptions& common, Run* run);
void AddCompact(CLI::App& app, CommonOptions& common, Run* run);
void AddBench(CLI::App& app, CommonOptions& common, Run* run);

// Says what went wrong on standard error, first line first, and gives the exit status.
int Fail(const Status& status);
// The same for the exception being handled (DuckDB's, or the standard library's).
int FailWithCurrentException();

}  // namespace petalite::cli
