// `petalite bench recovery`: how long a database takes to open: with many rowsets, and with a log to replay.

#include <filesystem>

#include <CLI/CLI.hpp>

#include "base/hash.h"
#include "cli/bench.h"
#include "cli/bench_commands.h"
#include "store/flush.h"
#include "store/transaction.h"

namespace petalite::cli {
namespace {

struct Options {
  uint64_t rows = 2'000'000;
  uint64_t rowsets = 1000;
  bool json = false;
};

const TableName kTable = {"main", "t"};

Status Create(store::Database& database) {
  const auto transaction = database.Begin();
  TableDefinition definition{.name = kTable, .key = {"k"}};
  definition.schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt64)},
                              {.name = "v", .type = Type::Of(TypeId::kString)}};
  RETURN_IF_ERROR(transaction->CreateTable(definition).status());
  return transaction->Commit();
}

// Rows of 100 bytes: a key and a text.
Status Write(store::Database& database, uint64_t begin, uint64_t count) {
  std::vector<uint64_t> keys(count);
  std::vector<std::string> texts(count, std::string(88, 'x'));
  std::vector<StringRef> strings;
  for (uint64_t i = 0; i < count; ++i) {
    keys[i] = Remix(begin + i + 1);
    strings.emplace_back(texts[i]);
  }
  WriteBatch batch{.op = WriteOp::kInsert, .rows = count};
  batch.columns = {{.values = keys.data(), .size = count}, {.values = strings.data(), .size = count}};
  return database.Write(kTable, batch).status();
}

// As a process leaves it that is killed: the log has what was not flushed. The copy is opened instead of the original.
Status CopyRunning(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, error);
  return error ? IoError("{}: cannot copy: {}", from, error.message()) : Status::Ok();
}

Result<double> OpenSeconds(const std::string& path, const store::DatabaseOptions& options, uint64_t rows) {
  const Stopwatch watch;
  ASSIGN_OR_RETURN(const auto database, store::Database::Open(path, options));
  const double seconds = watch.Seconds();
  const auto snapshot = database->CurrentSnapshot();
  const auto view = snapshot->View(snapshot->version().FindTable(kTable));
  if (view->exact_rows() != rows) return Corruption("{} rows came back of {}", view->rows(), rows);
  return seconds;
}

Status BenchReplay(const Options& options, Report* report) {
  TemporaryFolder folder;
  store::DatabaseOptions database_options;
  database_options.memory_limit = size_t{32} << 30;
  database_options.write_bytes = size_t{8} << 30;  // nothing is flushed
  database_options.background = false;
  database_options.durability = Durability::kNone;
  database_options.create = true;
  const std::string path = folder.path() + "/db";
  const std::string copy = folder.path() + "/copy";
  uint64_t log_bytes = 0;
  {
    ASSIGN_OR_RETURN(const auto database, store::Database::Open(path, database_options));
    RETURN_IF_ERROR(Create(*database));
    for (uint64_t i = 0; i < options.rows; i += 1000) RETURN_IF_ERROR(Write(*database, i, 1000));
    RETURN_IF_ERROR(database->log().wal().Sync(database->log().wal().end()));
    log_bytes = database->log().wal().statistics().bytes_written;
    RETURN_IF_ERROR(CopyRunning(path, copy));
  }
  database_options.read_only = true;
  ASSIGN_OR_RETURN(const double seconds, OpenSeconds(copy, database_options, options.rows));
  const double rate = static_cast<double>(log_bytes) / seconds / 1e6;
  const nlohmann::ordered_json config = {{"rows", options.rows}, {"row_bytes", 100}};
  report->Add("petalite", config, "replay", "best", seconds * 1e3, "ms");
  report->Add("petalite", config, "replay", "bytes_per_s", rate * 1e6, "1/s");
  report->Print(fmt::format("replay: {:.0f} MB of log in {:.2f} s, {:.0f} MB/s, {:.2f} million rows/s",
                            static_cast<double>(log_bytes) / 1e6, seconds, rate,
                            static_cast<double>(options.rows) / seconds / 1e6));
  return Status::Ok();
}

Status BenchRowsets(const Options& options, Report* report) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/db";
  store::DatabaseOptions database_options;
  database_options.background = false;
  database_options.create = true;
  {
    ASSIGN_OR_RETURN(const auto database, store::Database::Open(path, database_options));
    RETURN_IF_ERROR(Create(*database));
    for (uint64_t i = 0; i < options.rowsets; ++i) {
      RETURN_IF_ERROR(Write(*database, i * 10, 10));
      const auto table = database->Current()->FindTable(kTable);
      for (const auto& tablet : table->tablets()) RETURN_IF_ERROR(store::FlushTablet(*tablet, *table));
    }
  }
  std::vector<double> millis;
  for (int run = 0; run < 5; ++run) {
    ASSIGN_OR_RETURN(const double seconds, OpenSeconds(path, database_options, options.rowsets * 10));
    millis.push_back(seconds * 1e3);
  }
  const Timing timing = Summarize(millis);
  const nlohmann::ordered_json config = {{"rowsets", options.rowsets}};
  report->Add("petalite", config, "open", "best", timing.best, "ms");
  report->Add("petalite", config, "open", "median", timing.median, "ms");
  report->Print(fmt::format("open with {} rowsets: best {:.0f} ms, median {:.0f} ms", options.rowsets, timing.best,
                            timing.median));
  return Status::Ok();
}

Status RunBench(const Options& options) {
  Report report("recovery", options.json);
  report.PrintMachine();
  RETURN_IF_ERROR(BenchReplay(options, &report));
  RETURN_IF_ERROR(BenchRowsets(options, &report));
  report.Finish();
  return Status::Ok();
}

}  // namespace

void AddBenchRecovery(CLI::App& bench, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("recovery", "Opening a database: replaying its log, and many rowsets");
  command->add_option("--rows", options->rows, "Rows in the log (2,000,000)")->check(CLI::PositiveNumber);
  command->add_option("--rowsets", options->rowsets, "Rowsets (1,000)")->check(CLI::PositiveNumber);
  command->add_flag("--json", options->json, "Records instead of text");
  command->callback([=] {
    *run = [=] {
      const Status status = RunBench(*options);
      return status.ok() ? kDone : Fail(status);
    };
  });
}

}  // namespace petalite::cli
