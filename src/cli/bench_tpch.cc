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
  std::vector<std::string> codecs = {"lz4"};
  size_t runs = 5;
  size_t threads = 0;
  bool keyed = false;
  bool filters_off = false;
  bool compare = true;
  bool json = false;
};

class TpchBench {
 public:
  TpchBench(const Options& options, std::string data)
      : options_(options),
        report_("tpch", options.json),
        engines_(std::move(data), options.threads),
        queries_(TpchQueries(engines_.connection())) {}

  void Run() {
    report_.PrintMachine();
    report_.Print(fmt::format("TPC-H, scale factor {}, best of {} runs, milliseconds unless said\n",
                              options_.scale_factor, options_.runs));
    if (options_.filters_off) MustExecute(engines_.connection(), "SET petalite_bloom_filters = false");
    double native_seconds = 0;
    if (options_.compare) native_seconds = engines_.AddDuckNative();
    for (const std::string& codec : options_.codecs) RunCodec(codec);
    PrintCodecs(native_seconds);
    PrintQueries();
    report_.Finish();
  }

 private:
  // One engine over the 22 queries.
  struct Column {
    EngineName engine;
    std::string codec;
    std::vector<Timing> queries;
    double best = 0;    // sum over the queries
    double cached = 0;  // sum of the second run
  };
  struct Warmup {
    std::string codec;
    double petalite_seconds = 0;
    double duck_seconds = 0;
    uint64_t petalite_bytes = 0;
    uint64_t duck_bytes = 0;
  };

  nlohmann::ordered_json Config(const std::string& codec) const {
    return {{"codec", codec}, {"bloom", options_.filters_off ? "none" : "all"}, {"sf", options_.scale_factor}};
  }

  void RunCodec(const std::string& codec) {
    Warmup warmup{.codec = codec};
    report_.Progress(fmt::format("{}: warm-up", codec));
    warmup.petalite_seconds = engines_.AddPetalite(codec, options_.keyed);
    warmup.petalite_bytes = engines_.petalite_bytes();
    std::vector<EngineName> names = {TpchEngines::Petalite()};
    const bool first = &codec == &options_.codecs.front();
    if (options_.compare) {
      report_.Progress(fmt::format("{}: DuckDB's COPY", codec));
      warmup.duck_seconds = engines_.AddDuckParquet(codec);
      warmup.duck_bytes = engines_.duck_parquet_bytes();
      engines_.AddDuckOverPetalite();
      names.push_back(TpchEngines::DuckParquet());
      names.push_back(TpchEngines::DuckOverPetalite());
      if (first) names.push_back(TpchEngines::DuckNative());
    }
    report_.Add("petalite", Config(codec), "warm-up", "seconds", warmup.petalite_seconds, "s");
    report_.Add("petalite", Config(codec), "total", "bytes", static_cast<double>(warmup.petalite_bytes), "B");
    if (options_.compare) {
      report_.Add("duckdb parquet", Config(codec), "warm-up", "seconds", warmup.duck_seconds, "s");
      report_.Add("duckdb parquet", Config(codec), "total", "bytes", static_cast<double>(warmup.duck_bytes), "B");
    }
    warmups_.push_back(warmup);
    std::vector<Column> columns;
    for (const EngineName& name : names) columns.push_back({.engine = name, .codec = codec});
    Measure(&columns);
    for (Column& column : columns) columns_.push_back(std::move(column));
  }

  // Turn by turn: each query on each engine, run after run, so that a disturbance hits all alike.
  void Measure(std::vector<Column>* columns) {
    for (size_t query = 0; query < queries_.size(); ++query) {
      report_.Progress(fmt::format("{}: query {} of {}", columns->front().codec, query + 1, queries_.size()));
      std::string expected;
      std::vector<std::vector<double>> millis(columns->size());
      for (size_t run = 0; run < options_.runs; ++run) {
        for (size_t i = 0; i < columns->size(); ++i) {
          engines_.Use((*columns)[i].engine);
          const Stopwatch watch;
          const auto result = engines_.connection().Query(queries_[query]);
          millis[i].push_back(watch.Millis());
          if (result->HasError()) result->GetErrorObject().Throw();
          if (run > 0) continue;
          const std::string text = QueryText(engines_.connection(), queries_[query]);
          if (i == 0) expected = text;
          if (text != expected) {
            throw std::runtime_error(
                fmt::format("query {}: {} answers otherwise than petalite", query + 1, (*columns)[i].engine.name));
          }
        }
      }
      for (size_t i = 0; i < columns->size(); ++i) {
        Column& column = (*columns)[i];
        column.cached += millis[i][std::min<size_t>(1, millis[i].size() - 1)];
        column.queries.push_back(Summarize(millis[i]));
        column.best += column.queries.back().best;
        const std::string name = fmt::format("q{:02}", query + 1);
        report_.Add(column.engine.name, Config(column.codec), name, "best", column.queries.back().best, "ms");
        report_.Add(column.engine.name, Config(column.codec), name, "median", column.queries.back().median, "ms");
      }
    }
    for (const Column& column : *columns) {
      report_.Add(column.engine.name, Config(column.codec), "total", "best", column.best, "ms");
    }
  }

  const Column& Find(const EngineName& engine, const std::string& codec) const {
    for (const Column& column : columns_) {
      if (column.engine.name == engine.name && (column.codec == codec || engine.name == "duckdb native")) return column;
    }
    throw std::logic_error("no such engine in this run");
  }

  void PrintCodecs(double native_seconds) {
    std::vector<std::string> header = {"codec", "warm-up s", "size MB", "cached", "second run"};
    if (options_.compare) {
      for (const char* name :
           {"COPY s", "warm-up ÷ COPY", "DuckDB's MB", "÷ DuckDB parquet", "÷ DuckDB, same files", "÷ DuckDB native"}) {
        header.push_back(name);
      }
    }
    std::vector<std::vector<std::string>> rows;
    for (const Warmup& warmup : warmups_) {
      const Column& petalite = Find(TpchEngines::Petalite(), warmup.codec);
      std::vector<std::string> row = {warmup.codec, Number(warmup.petalite_seconds),
                                      Number(static_cast<double>(warmup.petalite_bytes) / 1e6), Number(petalite.best),
                                      Number(petalite.cached)};
      if (options_.compare) {
        row.push_back(Number(warmup.duck_seconds));
        row.push_back(Number(warmup.petalite_seconds / warmup.duck_seconds));
        row.push_back(Number(static_cast<double>(warmup.duck_bytes) / 1e6));
        row.push_back(Number(petalite.best / Find(TpchEngines::DuckParquet(), warmup.codec).best));
        row.push_back(Number(petalite.best / Find(TpchEngines::DuckOverPetalite(), warmup.codec).best));
        row.push_back(Number(petalite.best / Find(TpchEngines::DuckNative(), warmup.codec).best));
      }
      rows.push_back(std::move(row));
    }
    report_.PrintTable(header, rows);
    if (options_.compare) {
      report_.Print(fmt::format("DuckDB's native tables were filled in {} s and take {} ms.\n", Number(native_seconds),
                                Number(Find(TpchEngines::DuckNative(), "").best)));
    }
  }

  void PrintQueries() {
    std::vector<std::string> header = {"query"};
    for (const Column& column : columns_) {
      header.push_back(column.engine.name == "duckdb native" ? column.engine.name
                                                             : column.engine.name + " " + column.codec);
    }
    std::vector<std::vector<std::string>> rows;
    for (size_t query = 0; query < queries_.size(); ++query) {
      std::vector<std::string> row = {fmt::format("Q{}", query + 1)};
      for (const Column& column : columns_) row.push_back(Number(column.queries[query].best));
      rows.push_back(std::move(row));
    }
    std::vector<std::string> total = {"total"};
    for (const Column& column : columns_) total.push_back(Number(column.best));
    rows.push_back(std::move(total));
    report_.PrintTable(header, rows);
  }

  const Options& options_;
  Report report_;
  TpchEngines engines_;
  const std::vector<std::string> queries_;
  std::vector<Warmup> warmups_;
  std::vector<Column> columns_;
};

}  // namespace

void AddBenchTpch(CLI::App& bench, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("tpch", "The 22 queries of TPC-H at each codec, checked against DuckDB");
  command->add_option("--sf", options->scale_factor, "Scale factor (1)");
  command->add_option("--data", options->data, "Folder with <table>.parquet; generated by default");
  command->add_option("--codecs", options->codecs, "Codecs to compare (lz4)")->delimiter(',');
  command->add_option("--runs", options->runs, "Runs of each query (5)")->check(CLI::PositiveNumber);
  command->add_option("--threads", options->threads, "Threads of DuckDB (all)");
  command->add_flag("--keyed", options->keyed, "Give the tables their primary keys");
  command->add_flag("--no-filters", options->filters_off, "Do not consult column filters");
  command->add_flag("!--no-compare", options->compare, "Measure Petalite alone");
  command->add_flag("--json", options->json, "Records instead of tables");
  command->callback([=] {
    *run = [=] {
      const auto data = options->data.empty() ? TpchData(options->scale_factor) : Result<std::string>(options->data);
      if (!data.ok()) return Fail(data.status());
      TpchBench(*options, *data).Run();
      return kDone;
    };
  });
}

}  // namespace petalite::cli
