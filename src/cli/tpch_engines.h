// TPC-H's tables in several engines of one process, for benchmarks that compare them: Petalite, DuckDB's reader over
// Petalite's files, DuckDB's reader over Parquet that DuckDB wrote, DuckDB's native tables.

#pragma once

#include <string>
#include <vector>

#include "cli/bench.h"
#include "cli/engine.h"

namespace petalite::cli {

struct EngineName {
  std::string name;  // in reports
  std::string use;   // the schema that a query runs in
};

class TpchEngines {
 public:
  // `data`: a folder of Parquet files, one per table. `threads`: 0 for all.
  TpchEngines(std::string data, size_t threads);

  duckdb::Connection& connection() { return engine_.connection(); }

  // Each makes the tables and gives the seconds that took.
  double AddPetalite(const std::string& codec, bool keyed);  // attached as p; replaces an earlier one
  double AddDuckParquet(const std::string& codec);           // DuckDB's COPY TO, schema memory.parquet
  double AddDuckNative();                                    // schema memory.native
  // Views of DuckDB's reader over the files of the attached Petalite database, schema memory.same.
  void AddDuckOverPetalite();

  uint64_t petalite_bytes();
  uint64_t duck_parquet_bytes() const;

  static EngineName Petalite() { return {"petalite", "p.main"}; }
  static EngineName DuckOverPetalite() { return {"duckdb over petalite's files", "memory.same"}; }
  static EngineName DuckParquet() { return {"duckdb parquet", "memory.parquet"}; }
  static EngineName DuckNative() { return {"duckdb native", "memory.native"}; }

  void Use(const EngineName& engine) { MustExecute(connection(), "USE " + engine.use); }

 private:
  const std::string data_;
  TemporaryFolder folder_;
  Engine engine_;
  bool attached_ = false;
};

}  // namespace petalite::cli
