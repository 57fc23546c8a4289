// DuckDB's memory limit covers the store: it reserves what it uses.

#include <gmock/gmock.h>

#include "sql_fixture.h"

namespace petalite::sql {
namespace {

class MemoryTest : public SqlTest {
 protected:
  // What DuckDB has given to extensions.
  int64_t Reserved() {
    return std::stoll(Query("SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'EXTENSION'"));
  }
  uint64_t Metric(const std::string& name) {
    return std::stoull(Query("SELECT value FROM petalite_metrics() WHERE name = '" + name + "'"));
  }
  void Load() {
    Run("CREATE TABLE p.t (k BIGINT PRIMARY KEY, v VARCHAR)");
    Run("INSERT INTO p.t SELECT i, 'value ' || i FROM range(300000) r(i)");
    Run("CALL petalite_flush('p.t')");
    EXPECT_EQ(Query("SELECT count(*), max(v) FROM p.t"), "300000|value 99999\n");
  }
};

TEST_F(MemoryTest, TheStoreReservesWhatItUsesUntilItIsDetached) {
  const int64_t before = Reserved();
  Load();
  EXPECT_GE(static_cast<uint64_t>(Reserved() - before), Metric("memory_used"));
  EXPECT_EQ(static_cast<uint64_t>(Reserved() - before), Metric("memory_reserved"));
  EXPECT_GT(Metric("memory_pages"), 1'000'000u);
  Run("USE memory");
  Run("DETACH p");
  EXPECT_EQ(Reserved(), before);
}

TEST_F(MemoryTest, TheLimitIsDuckDbsUnlessOneIsGiven) {
  Run("SET memory_limit = '100MiB'");
  Reattach();
  EXPECT_EQ(database().options().memory_limit, size_t{100} << 20);
  Reattach(", memory_limit '80MiB'");
  EXPECT_EQ(database().options().memory_limit, size_t{80} << 20);
}

// An in-memory table of DuckDB has taken nearly all there is.
TEST_F(MemoryTest, WritesAndReadsGoOnWhereDuckDbHasNoMemory) {
  Run("SET temp_directory = ''");
  Run("CREATE TABLE memory.main.big AS SELECT i, i * 31 AS j, hash(i) AS h FROM range(3000000) r(i)");
  Run("SET threads = 1");
  const auto used = std::stoull(Query("SELECT sum(memory_usage_bytes) FROM duckdb_memory()"));
  Reattach(", memory_limit '64MiB'");
  Run("SET memory_limit = '" + std::to_string(used + (12 << 20)) + "B'");
  Load();
  EXPECT_LE(Metric("memory_reserved"), size_t{16} << 20);
  EXPECT_EQ(Query("SELECT v FROM p.t WHERE k = 77"), "value 77\n");
}

}  // namespace
}  // namespace petalite::sql
