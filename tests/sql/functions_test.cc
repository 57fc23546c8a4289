// The system functions, and the options of ATTACH.

#include <fstream>

#include <gmock/gmock.h>

#include "sql_fixture.h"

namespace petalite::sql {
namespace {

using ::testing::HasSubstr;

class FunctionsTest : public SqlTest {
 protected:
  uint64_t Metric(const std::string& name) {
    return std::stoull(Query("SELECT value FROM petalite_metrics() WHERE name = '" + name + "'"));
  }
};

TEST_F(FunctionsTest, FlushMakesRowsetsOfWhatIsInMemory) {
  Run("CREATE TABLE p.t (k BIGINT PRIMARY KEY)");
  Run("CREATE SCHEMA p.s");
  Run("CREATE TABLE p.s.u (k BIGINT)");
  Run("INSERT INTO p.t VALUES (1), (2)");
  Run("INSERT INTO p.s.u VALUES (3)");
  const std::string tables = "SELECT table_name, rowsets, row_count, memory_rows FROM petalite_tables() ORDER BY ALL";
  EXPECT_EQ(Query(tables), "t|0|2|2\nu|0|1|1\n");
  Run("EXPLAIN CALL petalite_flush()");
  Run("PREPARE flush AS FROM petalite_flush()");
  EXPECT_EQ(Query(tables), "t|0|2|2\nu|0|1|1\n");
  EXPECT_EQ(Query("SELECT database_name, schema_name, table_name, rowsets FROM petalite_flush('p.s.u')"), "p|s|u|1\n");
  EXPECT_EQ(Query(tables), "t|0|2|2\nu|1|1|0\n");
  EXPECT_EQ(Query("SELECT table_name, rowsets, bytes > 0 FROM petalite_flush() ORDER BY ALL"), "t|1|true\nu|1|true\n");
  EXPECT_EQ(Query(tables), "t|1|2|0\nu|1|1|0\n");
  EXPECT_EQ(Query("SELECT row_count, dead_rows, min_key, max_key FROM petalite_rowsets('p.t')"), "2|0|(1)|(2)\n");
  WriteRows("t", WriteOp::kDelete, {0}, "SELECT 2::BIGINT");
  EXPECT_EQ(Query("SELECT row_count, dead_rows FROM petalite_rowsets('p.t')"), "2|1\n");
  EXPECT_THAT(Error("CALL petalite_flush('p.none')"), HasSubstr("none"));
  EXPECT_THAT(Error("CALL petalite_flush(NULL)"), HasSubstr("NULL"));
  Run("CREATE TABLE memory.m (a INTEGER)");
  EXPECT_THAT(Error("CALL petalite_compact('memory.m')"), HasSubstr("not a table of a Petalite database"));
}

TEST_F(FunctionsTest, CompactMergesSmallRowsets) {
  Run("CREATE TABLE p.t (k BIGINT PRIMARY KEY, v VARCHAR)");
  for (int i = 0; i < 12; ++i) {
    Run("INSERT INTO p.t SELECT 12 * i + " + std::to_string(i) + ", 'v' FROM range(100) r(i)");
    Run("CALL petalite_flush('p.t')");
  }
  Run("CALL petalite_compact('p.t')");
  const auto rowsets = std::stoul(Query("SELECT count(*) FROM petalite_rowsets('p.t')"));
  EXPECT_LT(rowsets, 12u);
  EXPECT_EQ(Query("SELECT count(*), count(DISTINCT k), min(k), max(k) FROM p.t"), "1200|1200|0|1199\n");
}

TEST_F(FunctionsTest, VerifyGivesARowForEachDamage) {
  for (const char* table : {"t", "u"}) {
    Run(std::string("CREATE TABLE p.") + table + " (k BIGINT PRIMARY KEY, v VARCHAR)");
    Run(std::string("INSERT INTO p.") + table + " SELECT i, 'value ' || i FROM range(1000) r(i)");
  }
  Run("CALL petalite_flush()");
  EXPECT_EQ(Query("CALL petalite_verify()"), "");
  EXPECT_EQ(Query("CALL petalite_verify('p.t')"), "");
  const auto snapshot = database().CurrentSnapshot();
  const auto view = snapshot->View(snapshot->version().FindTable({"main", "t"}));
  const std::string path = view->rowsets()[0].rowset->path();
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(100);
    const auto byte = static_cast<char>(file.peek() ^ 1);
    file.seekp(100);
    file.put(byte);
  }
  for (const char* arguments : {"", "'p.t'"}) {
    const std::string call = std::string("FROM petalite_verify(") + arguments + ")";
    EXPECT_EQ(Query("SELECT DISTINCT database_name " + call), "p\n");
    EXPECT_THAT(Query("SELECT damage " + call), HasSubstr(path));
  }
  EXPECT_EQ(Query("CALL petalite_verify('p.u')"), "");
  EXPECT_THAT(Error("CALL petalite_verify('p.none')"), HasSubstr("none"));
}

TEST_F(FunctionsTest, MetricsCountWhatIsWritten) {
  Run("CREATE TABLE p.t (k BIGINT PRIMARY KEY, v VARCHAR)");
  const uint64_t records = Metric("wal_records");
  const uint64_t bytes = Metric("wal_bytes");
  Run("INSERT INTO p.t SELECT i, 'value ' || i FROM range(1000) r(i)");
  EXPECT_GT(Metric("wal_records"), records);
  EXPECT_GT(Metric("wal_bytes"), bytes);
  EXPECT_GT(Metric("wal_syncs"), 0u);
  EXPECT_GT(Metric("memory_memrowsets"), 0u);
  EXPECT_GT(Metric("user_bytes"), 0u);
  EXPECT_GE(Metric("keys_resolved"), 1000u);
  const uint64_t flushes = Metric("flushes");
  Run("CALL petalite_flush()");
  EXPECT_GT(Metric("flushes"), flushes);
  EXPECT_GT(Metric("flushed_bytes"), 0u);
  EXPECT_EQ(Query("SELECT value, text FROM petalite_metrics() WHERE name = 'throttled'"), "0|NULL\n");
}

TEST_F(FunctionsTest, SnapshotsAreWhatAtMayName) {
  Run("CREATE TABLE p.t AS SELECT 1 AS a");
  std::string newest = Query("SELECT max(commit) FROM petalite_snapshots()");
  newest.pop_back();
  EXPECT_EQ(newest, std::to_string(database().CurrentSnapshot()->commit()));
  EXPECT_EQ(Query("FROM p.t AT (VERSION => " + newest + ")"), "1\n");
  EXPECT_EQ(Query("SELECT bool_and(time BETWEEN now() - INTERVAL 1 HOUR AND now() + INTERVAL 1 HOUR) FROM "
                  "petalite_snapshots()"),
            "true\n");
}

TEST_F(FunctionsTest, OptionsOfAttachAreChecked) {
  Run("CREATE TABLE p.t AS SELECT 1 AS a");
  Reattach(", durability 'async:50', history_retention '90s', memory_limit '256MiB', cache_bytes 16000000, threads 2");
  const store::DatabaseOptions& options = database().options();
  EXPECT_EQ(options.durability, Durability::kAsync);
  EXPECT_EQ(options.async_interval_ms, 50u);
  EXPECT_EQ(options.history_retention_micros, 90'000'000);
  EXPECT_EQ(options.memory_limit, size_t{256} << 20);
  EXPECT_EQ(options.cache_bytes, 16'000'000u);
  EXPECT_EQ(options.threads, 2u);
  Run("DETACH p");
  const auto refused = [&](const std::string& option) {
    return Error("ATTACH '" + (folder_ / "db") + "' AS p (TYPE petalite, " + option + ")");
  };
  EXPECT_THAT(refused("durability 'often'"), HasSubstr("option 'durability': 'often' is none of sync, async"));
  EXPECT_THAT(refused("durability 'async:0'"), HasSubstr("async:<milliseconds"));
  EXPECT_THAT(refused("history_retention '15'"), HasSubstr("option 'history_retention': '15' is not a duration"));
  EXPECT_THAT(refused("memory_limit 'much'"), HasSubstr("option 'memory_limit': 'much' is not a whole number"));
  EXPECT_THAT(refused("cache_bytes '1.5GB'"), HasSubstr("option 'cache_bytes'"));
  EXPECT_THAT(refused("threads -1"), HasSubstr("option 'threads': '-1' is not a whole number"));
  EXPECT_THAT(refused("colour 3"), HasSubstr("unknown option 'colour'; a database has cache_bytes, durability"));
  Run("ATTACH '" + (folder_ / "db") + "' AS p (TYPE petalite, durability none, history_retention '0')");
  EXPECT_EQ(Query("FROM p.t"), "1\n");
}

TEST_F(FunctionsTest, AReadOnlyDatabaseIsLeftAlone) {
  Run("CREATE TABLE p.t AS SELECT 1 AS a");
  Reattach(", READ_ONLY");
  EXPECT_THAT(Error("CALL petalite_flush('p.t')"), HasSubstr("read"));
  EXPECT_EQ(Query("SELECT count(*) FROM petalite_flush()"), "0\n");
}

}  // namespace
}  // namespace petalite::sql
