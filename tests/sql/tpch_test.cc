// TPC-H at scale factor 0.1: every query over Petalite's tables equals the same query over DuckDB's native ones, at
// every codec, keyed and unkeyed, with filters on and off.

#include <cstdlib>
#include <filesystem>

#include "sql_fixture.h"

namespace petalite::sql {
namespace {

// DuckDB's own extension makes the data and knows the queries; `./run setup` installs it.
std::string TpchExtension() {
  std::string cache;
  if (const char* folder = std::getenv("PETALITE_CACHE")) {
    cache = folder;
  } else if (const char* xdg = std::getenv("XDG_CACHE_HOME")) {
    cache = std::string(xdg) + "/petalite";
  } else {
    cache = std::string(std::getenv("HOME")) + "/.cache/petalite";
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache + "/venv/lib")) {
    if (entry.path().filename() == "tpch.duckdb_extension") return entry.path().string();
  }
  ADD_FAILURE() << "DuckDB's tpch extension is not installed: ./run setup";
  return "";
}

struct Setting {
  const char* codec;
  bool keyed;
};

class TpchTest : public SqlTest {
 protected:
  TpchTest() {
    Run("LOAD '" + TpchExtension() + "'");
    Run("CREATE SCHEMA memory.native");
    Run("USE memory.native");
    Run("CALL dbgen(sf = 0.1)");
    for (int query = 1; query <= 22; ++query) {
      queries_.push_back(Query("SELECT query FROM tpch_queries() WHERE query_nr = " + std::to_string(query)));
      expected_.push_back(Query(queries_.back()));
    }
  }

  void LoadTables(const Setting& setting) {
    static constexpr std::pair<const char*, const char*> kTables[] = {
        {"region", "r_regionkey"}, {"nation", "n_nationkey"},
        {"supplier", "s_suppkey"}, {"customer", "c_custkey"},
        {"part", "p_partkey"},     {"partsupp", "ps_partkey, ps_suppkey"},
        {"orders", "o_orderkey"},  {"lineitem", "l_orderkey, l_linenumber"}};
    for (const auto& [table, key] : kTables) {
      std::string columns;
      const auto described = connection_->Query(std::string("DESCRIBE memory.native.") + table);
      for (duckdb::idx_t row = 0; row < described->RowCount(); ++row) {
        columns += (row > 0 ? ", " : "") + described->GetValue(0, row).ToString() + " " +
                   described->GetValue(1, row).ToString();
      }
      if (setting.keyed) columns += std::string(", PRIMARY KEY (") + key + ")";
      Run(std::string("CREATE OR REPLACE TABLE p.") + table + " (" + columns + ") WITH (codec = '" + setting.codec +
          "')");
      Run(std::string("INSERT INTO p.") + table + " FROM memory.native." + table);
    }
  }

  std::vector<std::string> queries_;
  std::vector<std::string> expected_;
};

TEST_F(TpchTest, EveryQueryEqualsDuckDBsAtEveryCodecWithFiltersOnAndOff) {
  const Setting settings[] = {{"lz4", false},    {"lz4", true},    {"uncompressed", false},
                              {"snappy", false}, {"zstd:1", true}, {"zstd:3", false}};
  for (const Setting& setting : settings) {
    LoadTables(setting);
    Run("USE p");
    for (const char* filters : {"true", "false"}) {
      Run(std::string("SET petalite_bloom_filters = ") + filters);
      for (size_t i = 0; i < queries_.size(); ++i) {
        EXPECT_EQ(Query(queries_[i]), expected_[i]) << "query " << i + 1 << ", codec " << setting.codec << ", keyed "
                                                    << setting.keyed << ", filters " << filters;
      }
    }
  }
}

}  // namespace
}  // namespace petalite::sql
