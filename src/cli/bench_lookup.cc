#include <CLI/CLI.hpp>

#include "duckdb/main/connection.hpp"
#include "duckdb/main/materialized_query_result.hpp"

#include "cli/bench_commands.h"
#include "cli/tpch_engines.h"

namespace petalite::cli {
namespace {

struct Options {
  std::string scale_factor = "1";
  std::string data;
  std::string codec = "lz4";
  size_t runs = 30;
  size_t threads = 0;
  bool json = false;
};

struct Lookup {
  const char* name;
  const char* group;  // of the table that it is shown in
  const char* sql;
};

constexpr const char* kPublished = "as published";
constexpr const char* kFound = "that find rows";
constexpr const char* kUnclustered = "not in the order of the table";

// The lookups of REFERENCE.md's second table, and those that it asks for beside them.
constexpr Lookup kLookups[] = {
    {"lineitem by l_orderkey = 12345", kPublished, "SELECT * FROM lineitem WHERE l_orderkey = 12345"},
    {"orders by o_orderkey = 54321", kPublished, "SELECT * FROM orders WHERE o_orderkey = 54321"},
    {"customer by c_custkey = 7500", kPublished, "SELECT * FROM customer WHERE c_custkey = 7500"},
    {"lineitem by l_orderkey = 99999 and l_linenumber = 3", kPublished,
     "SELECT * FROM lineitem WHERE l_orderkey = 99999 AND l_linenumber = 3"},
    {"lineitem by l_orderkey = 3000001", kFound, "SELECT * FROM lineitem WHERE l_orderkey = 3000001"},
    {"orders by o_orderkey = 3000001", kFound, "SELECT * FROM orders WHERE o_orderkey = 3000001"},
    {"customer by c_custkey = 7500", kFound, "SELECT * FROM customer WHERE c_custkey = 7500"},
    {"lineitem by l_orderkey = 3000001 and l_linenumber = 1", kFound,
     "SELECT * FROM lineitem WHERE l_orderkey = 3000001 AND l_linenumber = 1"},
    {"orders by o_custkey, present", kUnclustered, "SELECT * FROM orders WHERE o_custkey = 7501"},
    {"orders by o_custkey, absent", kUnclustered, "SELECT * FROM orders WHERE o_custkey = 7500"},
    {"lineitem by l_partkey, present", kUnclustered, "SELECT * FROM lineitem WHERE l_partkey = 100001"},
    {"lineitem by l_partkey, absent", kUnclustered, "SELECT * FROM lineitem WHERE l_partkey = 300000000"},
};

class LookupBench {
 public:
  LookupBench(const Options& options, std::string data)
      : options_(options), report_("lookup", options.json), engines_(std::move(data), options.threads) {}

  void Run() {
    report_.PrintMachine();
    report_.Print(fmt::format("Lookups through SQL, TPC-H scale factor {}, {}, best of {} runs, milliseconds\n",
                              options_.scale_factor, options_.codec, options_.runs));
    report_.Progress("filling the tables");
    engines_.AddPetalite(options_.codec, false);
    engines_.AddDuckParquet(options_.codec);
    engines_.AddDuckNative();
    std::vector<std::vector<std::string>> rows;
    const char* group = kLookups[0].group;
    for (const Lookup& lookup : kLookups) {
      if (lookup.group != group) Flush(group, &rows);
      group = lookup.group;
      report_.Progress(lookup.name);
      rows.push_back(Measure(lookup));
    }
    Flush(group, &rows);
    report_.Finish();
  }

 private:
  struct Way {
    const char* name;
    EngineName engine;
    bool filters;
  };

  void Flush(const char* group, std::vector<std::vector<std::string>>* rows) {
    report_.PrintTable({fmt::format("lookups {}", group), "petalite", "filters off", "DuckDB parquet", "DuckDB native",
                        "off ÷ on", "DuckDB parquet ÷ petalite"},
                       *rows);
    rows->clear();
  }

  std::vector<std::string> Measure(const Lookup& lookup) {
    const Way ways[] = {{"petalite", TpchEngines::Petalite(), true},
                        {"petalite, filters off", TpchEngines::Petalite(), false},
                        {"duckdb parquet", TpchEngines::DuckParquet(), true},
                        {"duckdb native", TpchEngines::DuckNative(), true}};
    std::vector<std::vector<double>> millis(std::size(ways));
    std::string expected;
    for (size_t run = 0; run < options_.runs; ++run) {
      for (size_t i = 0; i < std::size(ways); ++i) {
        engines_.Use(ways[i].engine);
        MustExecute(engines_.connection(), fmt::format("SET petalite_bloom_filters = {}", ways[i].filters));
        if (run == 0) {
          const std::string text = QueryText(engines_.connection(), fmt::format("{} ORDER BY ALL", lookup.sql));
          if (i == 0) expected = text;
          if (text != expected)
            throw std::runtime_error(fmt::format("{}: {} answers otherwise", lookup.name, ways[i].name));
        }
        // Once untimed: the engine before has left its own code and data in the processor's caches.
        MustExecute(engines_.connection(), lookup.sql);
        const Stopwatch watch;
        const auto result = engines_.connection().Query(lookup.sql);
        millis[i].push_back(watch.Millis());
        if (result->HasError()) result->GetErrorObject().Throw();
      }
    }
    std::vector<double> best;
    for (size_t i = 0; i < std::size(ways); ++i) {
      const Timing timing = Summarize(millis[i]);
      best.push_back(timing.best);
      const nlohmann::ordered_json config = {
          {"codec", options_.codec}, {"bloom", ways[i].filters ? "all" : "none"}, {"sf", options_.scale_factor}};
      report_.Add(ways[i].name, config, lookup.name, "best", timing.best, "ms");
      report_.Add(ways[i].name, config, lookup.name, "p50", timing.median, "ms");
    }
    return {lookup.name,     Number(best[0]),           Number(best[1]),          Number(best[2]),
            Number(best[3]), Number(best[1] / best[0]), Number(best[2] / best[0])};
  }

  const Options& options_;
  Report report_;
  TpchEngines engines_;
};

}  // namespace

void AddBenchLookup(CLI::App& bench, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("lookup", "Point lookups through SQL, with and without column filters");
  command->add_option("--sf", options->scale_factor, "Scale factor (1)");
  command->add_option("--data", options->data, "Folder with <table>.parquet; generated by default");
  command->add_option("--codec", options->codec, "Codec (lz4)");
  command->add_option("--runs", options->runs, "Runs of each lookup (30)")->check(CLI::PositiveNumber);
  command->add_option("--threads", options->threads, "Threads of DuckDB (all)");
  command->add_flag("--json", options->json, "Records instead of tables");
  command->callback([=] {
    *run = [=] {
      const auto data = options->data.empty() ? TpchData(options->scale_factor) : Result<std::string>(options->data);
      if (!data.ok()) return Fail(data.status());
      LookupBench(*options, *data).Run();
      return kDone;
    };
  });
}

}  // namespace petalite::cli
