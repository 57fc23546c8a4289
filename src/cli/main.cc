#include <charconv>
#include <csignal>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "cli/command.h"
#include "cli/engine.h"
#include "petalite/version.h"

namespace {

const std::map<std::string, petalite::LogLevel> kLogLevels = {{"debug", petalite::LogLevel::kDebug},
                                                              {"info", petalite::LogLevel::kInfo},
                                                              {"warn", petalite::LogLevel::kWarn},
                                                              {"error", petalite::LogLevel::kError},
                                                              {"off", petalite::LogLevel::kOff}};

// Seconds; no text stands for as long as it takes.
double ParseWait(const std::string& text) {
  constexpr double kForever = 1e9;
  if (text.empty()) return kForever;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0 && seconds <= kForever)) {
    throw CLI::ValidationError("--wait", "'" + text + "' is not a number of seconds");
  }
  return seconds;
}

void AddCommonOptions(CLI::App& app, petalite::cli::CommonOptions& common) {
  for (CLI::App* command : app.get_subcommands({})) {
    command->add_flag("--read-only", common.read_only, "Open the database for reading; many processes may");
    command
        ->add_option_function<std::string>(
            "--wait", [&common](const std::string& text) { common.wait_seconds = ParseWait(text); },
            "Wait this long for a database that another process holds; alone, as long as it takes")
        ->expected(0, 1)
        ->type_name("SECONDS");
    command
        ->add_option("--set", common.settings,
                     "Database option: cache_bytes and memory_limit (bytes, 512MiB), threads, durability (sync, async, "
                     "async:<ms>, none), history_retention (15min, 90s, 0)")
        ->type_name("NAME=VALUE");
    command
        ->add_option_function<std::string>(
            "--log-level", [](const std::string& name) { petalite::SetLogLevel(kLogLevels.at(name)); },
            "Least severe messages to show: debug, info, warn (default), error, off")
        ->check(CLI::IsMember(kLogLevels))
        ->type_name("LEVEL");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is a failed write
  petalite::cli::HandleInterrupts();
  CLI::App app{
      "Petalite: a columnar table store. Tables are Parquet files in which every column has a Bloom filter;\n"
      "SQL is DuckDB's.\n\n"
      "First steps:\n"
      "  petalite import db flights flights.parquet      make a database and import a file\n"
      "  petalite sql db \"SELECT count(*) FROM flights\"  query it\n"
      "  petalite shell db                               the same at a prompt"};
  app.name("petalite");
  app.set_version_flag("--version", std::string("petalite ") + PETALITE_VERSION);
  app.require_subcommand(1);
  petalite::cli::CommonOptions common;
  petalite::cli::Run run;
  using namespace petalite::cli;
  for (const auto add : {AddSql, AddShell, AddImport, AddGet, AddInspect, AddVerify, AddCompact, AddBench})
    add(app, common, &run);
  AddCommonOptions(app, common);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return status == 0 ? kDone : kUsage;
  }
  try {
    const int status = run();
    return Interrupted() ? kInterrupted : status;
  } catch (...) {
    const int status = FailWithCurrentException();
    return Interrupted() ? kInterrupted : status;
  }
}
