#include "cli/tpch_engines.h"

#include <filesystem>

#include "duckdb/main/connection.hpp"
#include "duckdb/main/materialized_query_result.hpp"

namespace petalite::cli {
namespace {

const char* KeyOf(const std::string& table) {
  if (table == "region") return "r_regionkey";
  if (table == "nation") return "n_nationkey";
  if (table == "supplier") return "s_suppkey";
  if (table == "customer") return "c_custkey";
  if (table == "part") return "p_partkey";
  if (table == "partsupp") return "ps_partkey, ps_suppkey";
  if (table == "orders") return "o_orderkey";
  return "l_orderkey, l_linenumber";
}

// What DuckDB's COPY calls a codec of ours: "zstd:3" is zstd at level 3.
std::string CopyOptions(const std::string& codec) {
  const size_t colon = codec.find(':');
  std::string name = codec.substr(0, colon);
  if (name == "lz4") name = "lz4_raw";
  std::string options = "FORMAT parquet, COMPRESSION " + name;
  if (colon != std::string::npos) options += ", COMPRESSION_LEVEL " + codec.substr(colon + 1);
  return options;
}

}  // namespace

TpchEngines::TpchEngines(std::string data, size_t threads) : data_(std::move(data)) {
  if (threads > 0) MustExecute(connection(), fmt::format("SET threads = {}", threads));
  for (const char* schema : {"same", "parquet", "native"}) {
    MustExecute(connection(), fmt::format("CREATE SCHEMA memory.{}", schema));
  }
}

double TpchEngines::AddPetalite(const std::string& codec, bool keyed) {
  const std::string path = folder_.path() + "/db";
  if (attached_) {
    MustExecute(connection(), "USE memory.main");
    MustExecute(connection(), "DETACH p");
    std::filesystem::remove_all(path);
  }
  const Stopwatch watch;
  MustExecute(connection(), fmt::format("ATTACH {} AS p (TYPE petalite)", QuoteText(path)));
  attached_ = true;
  for (const std::string& table : kTpchTables) {
    const std::string file = QuoteText(fmt::format("{}/{}.parquet", data_, table));
    if (!keyed) {
      MustExecute(connection(),
                  fmt::format("CREATE TABLE p.{} WITH (codec = {}) AS FROM {}", table, QuoteText(codec), file));
      continue;
    }
    const auto columns = connection().Query("DESCRIBE FROM " + file);
    std::string definition;
    for (const auto& row : *columns) {
      definition += fmt::format("{} {}, ", row.GetValue<duckdb::string>(0), row.GetValue<duckdb::string>(1));
    }
    MustExecute(connection(), fmt::format("CREATE TABLE p.{} ({} PRIMARY KEY ({})) WITH (codec = {})", table,
                                          definition, KeyOf(table), QuoteText(codec)));
    MustExecute(connection(), fmt::format("INSERT INTO p.{} FROM {}", table, file));
  }
  MustExecute(connection(), "CALL petalite_flush()");  // small tables too become files
  return watch.Seconds();
}

double TpchEngines::AddDuckParquet(const std::string& codec) {
  const Stopwatch watch;
  std::filesystem::create_directories(folder_.path() + "/parquet");
  for (const std::string& table : kTpchTables) {
    const std::string to = QuoteText(fmt::format("{}/parquet/{}.parquet", folder_.path(), table));
    MustExecute(connection(),
                fmt::format("COPY (FROM '{}/{}.parquet') TO {} ({})", data_, table, to, CopyOptions(codec)));
  }
  const double seconds = watch.Seconds();
  for (const std::string& table : kTpchTables) {
    MustExecute(connection(), fmt::format("CREATE OR REPLACE VIEW memory.parquet.{} AS FROM '{}/parquet/{}.parquet'",
                                          table, folder_.path(), table));
  }
  return seconds;
}

double TpchEngines::AddDuckNative() {
  const Stopwatch watch;
  for (const std::string& table : kTpchTables) {
    MustExecute(connection(),
                fmt::format("CREATE TABLE memory.native.{} AS FROM '{}/{}.parquet'", table, data_, table));
  }
  return watch.Seconds();
}

void TpchEngines::AddDuckOverPetalite() {
  const auto tables = connection().Query("SELECT table_name FROM petalite_tables() WHERE database_name = 'p'");
  for (const auto& row : *tables) {
    const auto table = row.GetValue<duckdb::string>(0);
    const auto files = connection().Query(fmt::format("SELECT path FROM petalite_rowsets('p.main.{}')", table));
    std::string list;
    for (const auto& file : *files) list += (list.empty() ? "" : ", ") + QuoteText(file.GetValue<duckdb::string>(0));
    MustExecute(connection(),
                fmt::format("CREATE OR REPLACE VIEW memory.same.{} AS FROM read_parquet([{}])", table, list));
  }
}

uint64_t TpchEngines::petalite_bytes() {
  const auto sum = connection().Query("SELECT sum(bytes)::UBIGINT FROM petalite_tables() WHERE database_name = 'p'");
  return sum->GetValue(0, 0).GetValue<uint64_t>();
}

uint64_t TpchEngines::duck_parquet_bytes() const {
  uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/parquet")) sum += entry.file_size();
  return sum;
}

}  // namespace petalite::cli
