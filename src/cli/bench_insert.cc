// `petalite bench insert`: random inserts by primary key, with what they cost in filter probes, key pages and writing;
// DuckDB's PRIMARY KEY table beside, where it is asked for.

#include <CLI/CLI.hpp>
#include <duckdb.hpp>

#include "base/hash.h"
#include "cli/bench.h"
#include "cli/bench_commands.h"
#include "cli/engine.h"
#include "cli/insert_load.h"
#include "sql/database_options.h"

namespace petalite::cli {
namespace {

struct Options {
  InsertLoadOptions load;
  std::string durability = "async";
  uint64_t memory_limit = uint64_t{1} << 30;
  int64_t key_cache_bytes = -1;
  bool duckdb = false;
  bool json = false;
};

nlohmann::ordered_json ConfigOf(const Options& options) {
  return {{"rows", options.load.rows},
          {"preload", options.load.preload},
          {"key", options.load.key},
          {"payload", options.load.payload},
          {"batch", options.load.batch},
          {"durability", options.durability},
          {"key_bloom_fpp", options.load.key_bloom_fpp},
          {"updates", options.load.updates},
          {"memory_limit", options.memory_limit},
          {"key_cache_bytes", options.key_cache_bytes}};
}

// Of tenths, from shorter pieces of equally many rows.
std::vector<double> Tenths(const std::vector<double>& rates) {
  if (rates.size() % 10 != 0) return rates;
  const size_t group = rates.size() / 10;
  std::vector<double> tenths;
  for (size_t i = 0; i < rates.size(); i += group) {
    double seconds = 0;  // a row's, summed
    for (size_t j = i; j < i + group; ++j) seconds += 1 / rates[j];
    tenths.push_back(static_cast<double>(group) / seconds);
  }
  return tenths;
}

void ReportRates(const std::string& engine, const Options& options, const std::vector<double>& rates, Report* report) {
  const uint64_t step = options.load.rows / std::max<uint64_t>(rates.size(), 1);
  for (size_t i = 0; i < rates.size() && rates.size() > 10; ++i) {
    report->Add(engine, ConfigOf(options), fmt::format("row {}", (i + 1) * step), "rows_per_s", rates[i], "1/s");
  }
  const std::vector<double> tenths = Tenths(rates);
  std::string line = engine + ", thousand rows/s in each tenth:";
  for (size_t i = 0; i < tenths.size(); ++i) {
    report->Add(engine, ConfigOf(options), fmt::format("tenth {}", i + 1), "rows_per_s", tenths[i], "1/s");
    line += fmt::format(" {:.0f}", tenths[i] / 1000);
  }
  report->Print(line);
  if (tenths.size() < 2) return;
  const double ratio = tenths.back() / tenths[1];
  report->Add(engine, ConfigOf(options), "total", "tail_over_head", ratio, "");
  report->Print(fmt::format("{}: the last tenth is {:.2f} of the second", engine, ratio));
}

void ReportLoad(const Options& options, const InsertLoadResult& result, Report* report) {
  ReportRates("petalite", options, result.rows_per_s, report);
  const double thousands = static_cast<double>(options.load.rows) / 1000;
  const std::tuple<const char*, double, const char*> metrics[] = {
      {"rows_per_s", result.rows_per_second(), "1/s"},
      {"write_seconds", result.write_seconds, "s"},
      {"seconds", result.seconds, "s"},
      {"throttled", result.throttled_seconds, "s"},
      {"filter_probes", static_cast<double>(result.filter_probes), ""},
      {"false_positives", static_cast<double>(result.false_positives), ""},
      {"real_fpp", result.real_fpp, ""},
      {"key_pages_read", static_cast<double>(result.key_pages_read), ""},
      {"key_pages_per_1000_rows", static_cast<double>(result.key_pages_read) / thousands, ""},
      // What false positives alone should cost, one page each.
      {"expected_key_pages_per_1000_rows", result.real_fpp * static_cast<double>(result.filter_probes) / thousands, ""},
      {"probes_per_row", static_cast<double>(result.filter_probes) / static_cast<double>(options.load.rows), ""},
      {"rowsets", static_cast<double>(result.rowsets), ""},
      {"rowsets_consulted", static_cast<double>(result.rowsets_consulted), ""},
      {"write_amplification", result.write_amplification(), ""},
      {"space_amplification", result.space_amplification(), ""},
      {"flushes", static_cast<double>(result.flushes), ""},
      {"compactions", static_cast<double>(result.compactions), ""},
      {"commits", static_cast<double>(result.commits), ""},
      {"syncs", static_cast<double>(result.syncs), ""},
      {"peak_rss", static_cast<double>(PeakMemory()), "B"}};
  std::vector<std::vector<std::string>> rows;
  for (const auto& [metric, value, unit] : metrics) {
    report->Add("petalite", ConfigOf(options), "total", metric, value, unit);
    rows.push_back({metric, value < 0.01 && value > 0 ? fmt::format("{:.6f}", value) : Number(value), unit});
  }
  report->PrintTable({"petalite", "value", ""}, rows);
}

// The same keys into a native table with a primary key, by DuckDB's appender.
double RunDuckDb(const Options& options, Report* report) {
  TemporaryFolder folder;
  duckdb::DuckDB instance(folder.path() + "/duck.db");
  duckdb::Connection connection(instance);
  MustExecute(connection, fmt::format("SET memory_limit = '{}MB'", options.memory_limit >> 20));
  std::string columns;
  for (uint64_t i = 0; i < options.load.payload; ++i) columns += fmt::format(", v{} BIGINT", i);
  MustExecute(connection, "CREATE TABLE load (k BIGINT PRIMARY KEY" + columns + ")");
  std::vector<double> rates;
  Stopwatch whole, tenth;
  for (uint64_t done = 0; done < options.load.rows;) {
    const uint64_t end = std::min(options.load.rows, done + options.load.batch);
    duckdb::Appender appender(connection, "load");
    for (uint64_t i = done; i < end; ++i) {
      appender.BeginRow();
      appender.Append<int64_t>(static_cast<int64_t>(Remix(i + 1)));
      for (uint64_t column = 0; column < options.load.payload; ++column) {
        appender.Append<int64_t>(static_cast<int64_t>(Remix(i * 31 + column)));
      }
      appender.EndRow();
    }
    appender.Close();
    const uint64_t before = done * 10 / options.load.rows;
    done = end;
    if (done * 10 / options.load.rows == before) continue;
    rates.push_back(static_cast<double>(options.load.rows) / 10 / tenth.Seconds());
    tenth = Stopwatch();
    report->Progress(fmt::format("duckdb: {} rows", done));
  }
  MustExecute(connection, "CHECKPOINT");
  const double rate = static_cast<double>(options.load.rows) / whole.Seconds();
  ReportRates("duckdb", options, rates, report);
  report->Add("duckdb", ConfigOf(options), "total", "rows_per_s", rate, "1/s");
  report->Add("duckdb", ConfigOf(options), "total", "peak_rss", static_cast<double>(PeakMemory()), "B");
  report->Print(fmt::format("duckdb: {:.0f} rows/s, peak memory of the process {:.0f} MB", rate,
                            static_cast<double>(PeakMemory()) / 1e6));
  return rate;
}

Result<int> RunBench(const Options& given) {
  Options options = given;
  store::DatabaseOptions& database = options.load.database;
  database.memory_limit = options.memory_limit;
  RETURN_IF_ERROR(sql::SetDatabaseOption("durability", options.durability, &database));
  database.cold_key_pages = options.key_cache_bytes == 0;
  if (options.key_cache_bytes > 0) database.cache_bytes = static_cast<size_t>(options.key_cache_bytes);
  Report report("insert", options.json);
  report.PrintMachine();
  TemporaryFolder folder;
  const auto progress = [&](uint64_t rows) {
    report.Progress(fmt::format("{} rows", rows));
    return !Interrupted();
  };
  ASSIGN_OR_RETURN(const auto result, RunInsertLoad(folder.path() + "/db", options.load, progress));
  ReportLoad(options, result, &report);
  if (options.duckdb) {
    const double rate = RunDuckDb(options, &report);
    report.Add("petalite/duckdb", ConfigOf(options), "total", "rows_per_s", result.rows_per_second() / rate, "");
    report.Print(fmt::format("petalite inserts {:.1f} times as fast", result.rows_per_second() / rate));
  }
  report.Finish();
  return kDone;
}

}  // namespace

void AddBenchInsert(CLI::App& bench, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("insert", "Random inserts and upserts by primary key");
  InsertLoadOptions& load = options->load;
  command->add_option("--rows", load.rows, "Rows (10,000,000)")->check(CLI::PositiveNumber);
  command->add_option("--key", load.key, "Key: int64 (default), uuid, or composite (a number and a text)")
      ->check(CLI::IsMember({"int64", "uuid", "composite"}));
  command->add_option("--preload", load.preload, "Rows that are there before, not measured (0)");
  command->add_option("--payload", load.payload, "Further columns, of 8 bytes (2)");
  command->add_option("--batch", load.batch, "Rows of a commit (10,000)")->check(CLI::PositiveNumber);
  command->add_option("--durability", options->durability, "sync, async (default), async:MS or none");
  command->add_option("--key-bloom-fpp", load.key_bloom_fpp, "False positives of the key filters (0.0001)");
  command->add_option("--updates", load.updates, "Part of the rows that are upserts of a key that is there (0)")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--points", load.points, "How often throughput is recorded (10)")
      ->check([](const std::string& text) {
        const uint64_t points = std::strtoull(text.c_str(), nullptr, 10);
        return points > 0 && points % 10 == 0 ? "" : "a multiple of 10 is expected";
      });
  command->add_option("--memory-limit", options->memory_limit, "Memory of the store, bytes (1 GiB)");
  command->add_option("--key-cache-bytes", options->key_cache_bytes,
                      "Budget of the page cache; 0: every key page is read from the disk");
  command->add_flag("--duckdb", options->duckdb, "DuckDB's table with a PRIMARY KEY in the same run");
  command->add_flag("--json", options->json, "Records instead of tables");
  command->callback([=] {
    *run = [=] {
      const auto status = RunBench(*options);
      return status.ok() ? *status : Fail(status.status());
    };
  });
}

}  // namespace petalite::cli
