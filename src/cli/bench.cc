#include "cli/bench.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "duckdb/main/connection.hpp"
#include "duckdb/main/materialized_query_result.hpp"

#include "base/cpu.h"
#include "cli/bench_commands.h"
#include "cli/command.h"
#include "cli/engine.h"
#include "cli/output.h"

namespace petalite::cli {

void Report::Add(const std::string& engine, const nlohmann::ordered_json& config, const std::string& name,
                 const std::string& metric, double value, const std::string& unit) {
  records_.push_back({bench_, engine, config, name, metric, value, unit});
}

void Report::PrintMachine() const {
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  Print(fmt::format("{}, {} threads, {}, {} kernels", CpuName(), store::AvailableThreads(), compiler,
                    IsaName(ActiveIsa())));
}

void Report::Print(const std::string& line) const {
  if (!json_) WriteOut(line + "\n");
}

void Report::PrintTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows) const {
  if (json_) return;
  std::vector<size_t> widths(header.size());
  const auto characters = [](const std::string& text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
  };
  for (size_t i = 0; i < header.size(); ++i) {
    widths[i] = characters(header[i]);
    for (const auto& row : rows) widths[i] = std::max(widths[i], characters(row[i]));
  }
  const auto print = [&](const std::vector<std::string>& cells) {
    std::string line = "|";
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - characters(cells[i]), ' ');
      line += " " + (i == 0 ? cells[i] + padding : padding + cells[i]) + " |";
    }
    WriteOut(line + "\n");
  };
  print(header);
  std::string rule = "|";
  for (size_t i = 0; i < widths.size(); ++i) rule += std::string(widths[i] + 1, '-') + (i == 0 ? "-|" : ":|");
  WriteOut(rule + "\n");
  for (const auto& row : rows) print(row);
  WriteOut("\n");
}

void Report::Progress(const std::string& line) const {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K{}", line);
}

void Report::Finish() const {
  Progress("");
  if (!json_) return;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Record& record : records_) {
    all.push_back({{"bench", record.bench},
                   {"engine", record.engine},
                   {"config", record.config},
                   {"case", record.name},
                   {"metric", record.metric},
                   {"value", record.value},
                   {"unit", record.unit}});
  }
  WriteOut(all.dump(1) + "\n");
}

Timing Summarize(std::vector<double> millis) {
  std::sort(millis.begin(), millis.end());
  return {millis.front(), millis[millis.size() / 2]};
}

std::string QueryText(duckdb::Connection& connection, const std::string& sql) {
  const auto result = connection.Query(sql);
  if (result->HasError()) result->GetErrorObject().Throw();
  std::string text;
  for (const auto& row : *result) {
    for (duckdb::idx_t column = 0; column < result->ColumnCount(); ++column) {
      text += row.GetValue<duckdb::Value>(column).ToString() + "|";
    }
    text += "\n";
  }
  return text;
}

void MustExecute(duckdb::Connection& connection, const std::string& sql) {
  const auto result = connection.Query(sql);
  if (result->HasError()) result->GetErrorObject().Throw();
}

std::string CacheFolder() {
  if (const char* folder = std::getenv("PETALITE_CACHE")) return folder;
  if (const char* folder = std::getenv("XDG_CACHE_HOME")) return std::string(folder) + "/petalite";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/petalite";
}

Result<std::string> TpchData(const std::string& scale_factor) {
  const std::string folder = fmt::format("{}/tpch-sf{}", CacheFolder(), scale_factor);
  if (std::filesystem::exists(folder + "/lineitem.parquet")) return folder;
  const std::string generator = CacheFolder() + "/venv/bin/tpchgen-cli";
  if (!std::filesystem::exists(generator)) {
    return NotFound(
        "{}: TPC-H's generator is not there: run ./run setup, or give --data with a folder of Parquet files",
        generator);
  }
  const std::string making = fmt::format("{}.{}", folder, getpid());
  const std::string command =
      fmt::format("'{}' parquet -s '{}' --output-dir='{}' >/dev/null 2>&1", generator, scale_factor, making);
  std::error_code error;
  if (std::system(command.c_str()) != 0) return IoError("{}: failed", command);
  std::filesystem::rename(making, folder, error);
  if (error) std::filesystem::remove_all(making, error);  // somebody else was faster
  return folder;
}

std::vector<std::string> TpchQueries(duckdb::Connection& connection) {
  const std::string root = CacheFolder() + "/venv/lib";
  std::string extension;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(root, error), end; it != end && extension.empty();
       it.increment(error)) {
    if (it->path().filename() == "tpch.duckdb_extension") extension = it->path().string();
  }
  if (extension.empty()) throw std::runtime_error(root + ": DuckDB's tpch extension is not there: run ./run setup");
  MustExecute(connection, "LOAD " + QuoteText(extension));
  const auto result = connection.Query("SELECT query FROM tpch_queries() ORDER BY query_nr");
  if (result->HasError()) result->GetErrorObject().Throw();
  std::vector<std::string> queries;
  for (const auto& row : *result) queries.push_back(row.GetValue<duckdb::string>(0));
  return queries;
}

TemporaryFolder::TemporaryFolder() {
  const char* directory = std::getenv("TMPDIR");
  path_ = fmt::format("{}/petalite-bench-XXXXXX", directory != nullptr ? directory : "/tmp");
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error(path_ + ": cannot be created");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::string Number(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

void AddBench(CLI::App& app, CommonOptions& common, Run* run) {
  CLI::App* command = app.add_subcommand("bench", "Benchmarks of whole jobs, with DuckDB beside in the same run");
  command->require_subcommand(1);
  AddBenchTpch(*command, run);
  AddBenchLookup(*command, run);
  AddBenchFilter(*command, run);
  AddBenchScan(*command, run);
  AddBenchInsert(*command, run);
  AddBenchRecovery(*command, run);
}

}  // namespace petalite::cli
