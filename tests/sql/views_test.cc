// Scans over what a table consists of besides rowsets: memrowsets, dead rows, rows of later commits, a transaction's
// own rows. The same is done to a native table of DuckDB's, whose answers are the expected ones.

#include <atomic>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>

#include "sql_fixture.h"

namespace petalite::sql {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A column of each kind; values depend on the key and a salt alone. Every column but the key has nulls, `few` and
// `word` few values.
std::string RowsOf(const std::string& keys, int salt) {
  const std::string s = std::to_string(salt);
  const auto nullable = [&](const std::string& name, const std::string& value) {
    return "CASE WHEN hash(k, '" + name + s + "') % 7 = 0 THEN NULL ELSE " + value + " END AS " + name;
  };
  return "SELECT k AS id, " + nullable("number", "(hash(k, " + s + ") % 1000)::INTEGER") + ", " +
         nullable("few", "(hash(k, " + s + ") % 5)::SMALLINT") + ", " +
         nullable("word", "'word ' || hash(k, " + s + ") % 9") + ", " +
         nullable("text", "'a text longer than twelve bytes ' || hash(k, " + s + ")") + ", " +
         nullable("real", "(hash(k, " + s + ") % 1000) / 8.0::DOUBLE") + ", " +
         nullable("day", "DATE '2020-01-01' + (hash(k, " + s + ") % 900)::INTEGER") + ", " +
         nullable("price", "((hash(k, " + s + ") % 100000) / 100)::DECIMAL(18,2)") + ", " +
         nullable("large", "(hash(k, " + s + ") % 100000)::DECIMAL(38,0)") + ", " +
         nullable("flag", "hash(k, " + s + ") % 2 = 0") + " FROM (" + keys + ") keys(k)";
}

std::string Keys(int from, int to, int step = 1) {
  return "SELECT range::BIGINT FROM range(" + std::to_string(from) + ", " + std::to_string(to) + ", " +
         std::to_string(step) + ")";
}

constexpr const char* kColumns =
    "(id BIGINT PRIMARY KEY, number INTEGER, few SMALLINT, word VARCHAR, text VARCHAR, real DOUBLE, day DATE, "
    "price DECIMAL(18,2), large DECIMAL(38,0), flag BOOLEAN)";

constexpr const char* kFilters[] = {
    "true",
    "id BETWEEN 900 AND 1100",
    "id = 1500",
    "id IN (3, 2048, 2999, 77777)",
    "number = 17",
    "number < 100 AND few = 3",
    "few IS NULL",
    "few IN (1, 4) AND word = 'word 3'",
    "word LIKE '%5'",
    "word IS NOT NULL AND text IS NULL",
    "text > 'a text longer than twelve bytes 9'",
    "real BETWEEN 10 AND 20",
    "real IS NULL OR flag",
    "day >= DATE '2022-01-01'",
    "price < 10.50",
    "large = 4242 OR large > 99000",
    "flag AND NOT few = 2",
    "upper(word) = 'WORD 7'",
    "number + few > 900",
};

class ViewsTest : public SqlTest {
 protected:
  void MakeTables(const std::string& with = "page_rows = 256, row_group_rows = 1024") {
    Run(std::string("CREATE TABLE memory.t ") + kColumns);
    Run(std::string("CREATE TABLE p.t ") + kColumns + " WITH (" + with + ")");
  }
  void Insert(const std::string& rows) {
    Run("INSERT INTO memory.t " + rows);
    Run("INSERT INTO p.t " + rows);
  }
  void Upsert(const std::string& rows) {
    Run("INSERT OR REPLACE INTO memory.t " + rows);
    WriteRows("t", WriteOp::kUpsert, {}, rows);
  }
  void Delete(const std::string& keys) {
    Run("DELETE FROM memory.t WHERE id IN (" + keys + ")");
    WriteRows("t", WriteOp::kDelete, {0}, keys);
  }

  void ExpectSameAnswers(const std::string& what) {
    SCOPED_TRACE(what);
    for (const char* filter : kFilters) {
      const std::string where = std::string(" WHERE ") + filter;
      EXPECT_EQ(Query("SELECT * FROM p.t" + where + " ORDER BY id"),
                Query("SELECT * FROM memory.t" + where + " ORDER BY id"))
          << filter;
      // Another column first, and the filter's own columns not among those that are wanted.
      EXPECT_EQ(Query("SELECT count(*), count(text), sum(id) FROM p.t" + where),
                Query("SELECT count(*), count(text), sum(id) FROM memory.t" + where))
          << filter;
    }
    for (const char* question :
         {"SELECT count(*) FROM {}", "SELECT min(id), max(id), min(number), max(day), min(text), max(price) FROM {}",
          "SELECT word, few, count(*), sum(price), max(real) FROM {} GROUP BY ALL ORDER BY ALL",
          "SELECT count(*) FROM {} a JOIN {} b ON a.number = b.id", "SELECT * FROM {} ORDER BY number, id LIMIT 20",
          "SELECT count(DISTINCT word), count(DISTINCT large) FROM {}"}) {
      EXPECT_EQ(Query(Over(question, "p.t")), Query(Over(question, "memory.t"))) << question;
    }
  }
  static std::string Over(std::string question, const std::string& table) {
    for (size_t at = question.find("{}"); at != std::string::npos; at = question.find("{}")) {
      question.replace(at, 2, table);
    }
    return question;
  }
};

TEST_F(ViewsTest, ScansOverMemoryRowsetsAndDeletesEqualDuckDBs) {
  MakeTables();
  Insert(RowsOf(Keys(0, 3000), 1));
  ExpectSameAnswers("in memory");
  Delete(Keys(0, 3000, 11));
  ExpectSameAnswers("deletes in memory");
  Run("CALL petalite_flush('p.t')");
  ExpectSameAnswers("flushed");
  Delete(Keys(1, 3000, 7));
  ExpectSameAnswers("deletes of a rowset");
  Upsert(RowsOf(Keys(500, 4000, 3), 2));
  ExpectSameAnswers("upserts of a rowset's rows, in memory");
  Upsert(RowsOf(Keys(0, 5000, 13), 3));
  Delete(Keys(2, 5000, 17));
  ExpectSameAnswers("upserts and deletes of both");
  Run("CALL petalite_flush()");
  ExpectSameAnswers("several rowsets");
  Upsert(RowsOf(Keys(100, 2000, 5), 4));
  Reattach();
  ExpectSameAnswers("opened again");
  Run("CALL petalite_compact('p.t')");
  ExpectSameAnswers("compacted");
  Delete(Keys(0, 6000));
  ExpectSameAnswers("empty");
}

TEST_F(ViewsTest, TabletsAreOneTable) {
  MakeTables("tablets = 3, page_rows = 128, row_group_rows = 512");
  Insert(RowsOf(Keys(0, 2000), 1));
  Run("CALL petalite_flush('p.t')");
  EXPECT_EQ(Query("SELECT count(*) FROM petalite_rowsets('p.t')"), "3\n");
  Upsert(RowsOf(Keys(0, 3000, 7), 2));
  Delete(Keys(3, 3000, 5));
  ExpectSameAnswers("three tablets");
}

TEST_F(ViewsTest, ATransactionSeesItsOwnRows) {
  MakeTables();
  Insert(RowsOf(Keys(0, 1500), 1));
  Run("CALL petalite_flush('p.t')");
  Delete(Keys(0, 1500, 5));
  Run("BEGIN");
  Run("INSERT INTO p.t " + RowsOf(Keys(2000, 2500), 2));
  Run("INSERT INTO p.t " + RowsOf(Keys(3000, 60000), 3));  // enough for rowsets of its own
  Run("COMMIT");
  Run("INSERT INTO memory.t " + RowsOf(Keys(2000, 2500), 2));
  Run("INSERT INTO memory.t " + RowsOf(Keys(3000, 60000), 3));
  ExpectSameAnswers("committed");
  Run("CREATE TABLE memory.before AS FROM memory.t");
  Run("INSERT INTO memory.t " + RowsOf(Keys(100000, 100300), 4));
  Run("BEGIN");
  Run("INSERT INTO p.t " + RowsOf(Keys(100000, 100300), 4));
  EXPECT_THAT(Error("INSERT INTO p.t " + RowsOf(Keys(100299, 100400), 4)), HasSubstr("duplicate key (100299)"));
  Run("ROLLBACK");
  EXPECT_EQ(Query("SELECT count(*) FROM p.t"), Query("SELECT count(*) FROM memory.before"));
  Run("BEGIN");
  Run("INSERT INTO p.t " + RowsOf(Keys(100000, 100300), 4));
  // DuckDB lets a transaction write to one database only; it may read the others.
  ExpectSameAnswers("its own rows");
  Run("ROLLBACK");
}

TEST_F(ViewsTest, AnOldSnapshotSeesNothingOfLaterCommitsWhereverTheyAre) {
  MakeTables();
  Insert(RowsOf(Keys(0, 1000), 1));
  Run("BEGIN");
  EXPECT_EQ(Query("SELECT count(*) FROM p.t"), "1000\n");
  duckdb::Connection other(*instance_);
  const auto elsewhere = [&](const std::string& sql) {
    const auto result = other.Query(sql);
    ASSERT_FALSE(result->HasError()) << result->GetError();
  };
  elsewhere("INSERT INTO p.t " + RowsOf(Keys(2000, 2600), 2));
  ExpectSameAnswers("later rows in memory");
  elsewhere("CALL petalite_flush('p.t')");
  ExpectSameAnswers("later rows in a rowset with earlier ones");
  elsewhere("INSERT INTO p.t " + RowsOf(Keys(3000, 3600), 3));
  elsewhere("CALL petalite_flush('p.t')");
  elsewhere("CALL petalite_compact('p.t')");
  ExpectSameAnswers("later rows in rowsets of their own, or merged");
  Run("COMMIT");
  EXPECT_EQ(Query("SELECT count(*) FROM p.t"), "2200\n");
}

TEST_F(ViewsTest, PreparedStatementsFollowTheRows) {
  MakeTables();
  Insert(RowsOf(Keys(0, 100), 1));
  Run("PREPARE q AS SELECT count(*), max(id) FROM p.t");
  EXPECT_EQ(Query("EXECUTE q"), "100|99\n");
  Delete(Keys(50, 200));
  EXPECT_EQ(Query("EXECUTE q"), "50|49\n");
  Run("BEGIN");
  Run("INSERT INTO p.t " + RowsOf(Keys(200, 210), 1));
  EXPECT_EQ(Query("EXECUTE q"), "60|209\n");
  Run("ROLLBACK");
  Run("BEGIN");
  Run("INSERT INTO p.t " + RowsOf(Keys(300, 305), 1));
  EXPECT_EQ(Query("EXECUTE q"), "55|304\n");
  Run("ROLLBACK");
  EXPECT_EQ(Query("EXECUTE q"), "50|49\n");
  Run("DETACH p");
  EXPECT_THAT(Error("EXECUTE q"), HasSubstr("p"));
  Run("DEALLOCATE q");
}

TEST_F(ViewsTest, ReadersSeeWholeCommitsWhileTheTableIsFlushedAndCompacted) {
  Run("CREATE TABLE p.t (k BIGINT PRIMARY KEY, v INTEGER, s VARCHAR) WITH (page_rows = 64, row_group_rows = 256)");
  Run("INSERT INTO p.t SELECT i, 0, 'x' FROM range(600) r(i)");
  store::Database& store = database();
  std::atomic<bool> stop{false};
  // Every commit gives all rows one value.
  std::thread writer([&] {
    std::vector<int64_t> keys(600);
    std::iota(keys.begin(), keys.end(), 0);
    std::vector<duckdb::string_t> texts(600, duckdb::string_t("a text beyond twelve bytes"));
    for (int32_t value = 1; !stop; ++value) {
      const std::vector<int32_t> values(600, value);
      const WriteBatch batch{.op = WriteOp::kUpsert,
                             .columns = {{.values = keys.data(), .size = 600},
                                         {.values = values.data(), .size = 600},
                                         {.values = texts.data(), .size = 600}},
                             .rows = 600};
      const auto written = store.Write({"main", "t"}, batch);
      ASSERT_TRUE(written.ok()) << written.status().message();
    }
  });
  std::thread upkeep([&] {
    duckdb::Connection connection(*instance_);
    for (int i = 0; !stop; ++i) {
      const auto done = connection.Query(i % 3 == 2 ? "CALL petalite_compact('p.t')" : "CALL petalite_flush('p.t')");
      ASSERT_FALSE(done->HasError()) << done->GetError();
    }
  });
  duckdb::Connection reader(*instance_);
  const auto read = [&](const char* sql) {
    const auto result = reader.Query(sql);
    EXPECT_FALSE(result->HasError()) << result->GetError();
    return result->HasError() || result->RowCount() == 0 ? "" : result->GetValue(0, 0).ToString();
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < end && !HasFailure()) {
    read("BEGIN");
    EXPECT_EQ(read("SELECT count(*) FROM p.t"), "600");
    EXPECT_EQ(read("SELECT count(*) || ',' || count(DISTINCT v) || ',' || sum(k) FROM p.t WHERE k >= 0"),
              "600,1,179700");
    const std::string value = read("SELECT v FROM p.t WHERE k = 300");
    EXPECT_EQ(read("SELECT count(*) FROM p.t WHERE v = (SELECT v FROM p.t WHERE k = 17)"), "600");
    EXPECT_EQ(read("SELECT v FROM p.t WHERE k = 599"), value);
    read("COMMIT");
  }
  stop = true;
  writer.join();
  upkeep.join();
}

TEST_F(ViewsTest, TheFirstOfTwoThatWriteAKeyCommits) {
  Run("CREATE TABLE p.t (k BIGINT PRIMARY KEY)");
  duckdb::Connection other(*instance_);
  Run("BEGIN");
  Run("INSERT INTO p.t VALUES (1), (2)");
  ASSERT_FALSE(other.Query("INSERT INTO p.t VALUES (2), (3)")->HasError());
  EXPECT_THAT(Error("COMMIT"), AllOf(HasSubstr("'t'"), HasSubstr("(2)")));
  EXPECT_EQ(Query("FROM p.t ORDER BY k"), "2\n3\n");
  Run("BEGIN");
  Run("INSERT INTO p.t VALUES (1)");
  ASSERT_FALSE(other.Query("INSERT INTO p.t VALUES (4)")->HasError());
  EXPECT_EQ(Query("FROM p.t ORDER BY k"), "1\n2\n3\n");
  Run("COMMIT");
  EXPECT_EQ(Query("FROM p.t ORDER BY k"), "1\n2\n3\n4\n");
}

TEST_F(ViewsTest, RowsOfAnUnkeyedTableStayInOrder) {
  Run("CREATE TABLE p.u (i BIGINT, s VARCHAR)");
  for (int part = 0; part < 4; ++part) {
    Run("INSERT INTO p.u SELECT i, 'x' || i FROM range(" + std::to_string(part * 500) + ", " +
        std::to_string(part * 500 + 500) + ") r(i)");
    if (part % 2 == 1) Run("CALL petalite_flush('p.u')");
  }
  Run("INSERT INTO p.u SELECT i, 'x' || i FROM range(2000, 2010) r(i)");
  EXPECT_EQ(Query("FROM p.u"), Query("SELECT i, 'x' || i FROM range(2010) r(i)"));
  EXPECT_EQ(Query("FROM p.u WHERE i % 400 = 7"), Query("SELECT i, 'x' || i FROM range(2010) r(i) WHERE i % 400 = 7"));
}

}  // namespace
}  // namespace petalite::sql
