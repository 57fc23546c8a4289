// AT (VERSION => n) and AT (TIMESTAMP => t).

#include <thread>

#include <gmock/gmock.h>

#include "sql_fixture.h"

namespace petalite::sql {
namespace {

using ::testing::HasSubstr;

class TimeTravelTest : public SqlTest {
 protected:
  std::string Commit() { return std::to_string(database().CurrentSnapshot()->commit()); }
  // A moment that lies between two commits, apart enough for the history to tell them apart.
  std::string Moment() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::string now = Query("SELECT now()");
    now.pop_back();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return "TIMESTAMPTZ '" + now + "'";
  }
};

TEST_F(TimeTravelTest, AVersionIsReadAsItWas) {
  Run("CREATE TABLE p.t (k BIGINT PRIMARY KEY, v VARCHAR)");
  const std::string empty = Commit();
  Run("INSERT INTO p.t VALUES (1, 'a'), (2, 'b')");
  const std::string two = Commit();
  Run("CALL petalite_flush('p.t')");
  WriteRows("t", WriteOp::kUpsert, {}, "SELECT 2::BIGINT, 'changed'");
  const std::string changed = Commit();
  WriteRows("t", WriteOp::kDelete, {0}, "SELECT 1::BIGINT");
  Run("CALL petalite_flush('p.t')");
  const auto check = [&] {
    EXPECT_EQ(Query("SELECT count(*) FROM p.t AT (VERSION => " + empty + ")"), "0\n");
    EXPECT_EQ(Query("FROM p.t AT (VERSION => " + two + ") ORDER BY k"), "1|a\n2|b\n");
    EXPECT_EQ(Query("FROM p.t AT (VERSION => " + changed + ") ORDER BY k"), "1|a\n2|changed\n");
    EXPECT_EQ(Query("FROM p.t"), "2|changed\n");
    EXPECT_EQ(Query("SELECT now.v, old.v FROM p.t now JOIN p.t old AT (VERSION => " + two + ") USING (k)"),
              "changed|b\n");
    EXPECT_EQ(Query("SELECT count(*) FROM p.t AT (VERSION => " + two + ") WHERE v = 'changed'"), "0\n");
  };
  check();
  Run("CALL petalite_compact('p.t')");
  check();
  Reattach();
  check();
}

TEST_F(TimeTravelTest, ATimeMeansTheLastCommitBeforeIt) {
  Run("CREATE TABLE p.t (v INTEGER)");
  Run("INSERT INTO p.t VALUES (1)");
  const std::string first = Moment();
  Run("INSERT INTO p.t VALUES (2)");
  const std::string second = Moment();
  Run("INSERT INTO p.t VALUES (3)");
  EXPECT_EQ(Query("SELECT sum(v) FROM p.t AT (TIMESTAMP => " + first + ")"), "1\n");
  EXPECT_EQ(Query("SELECT sum(v) FROM p.t AT (TIMESTAMP => " + second + ")"), "3\n");
  EXPECT_EQ(Query("SELECT sum(v) FROM p.t"), "6\n");
  EXPECT_THAT(Error("FROM p.t AT (TIMESTAMP => TIMESTAMP '2000-01-01')"), HasSubstr("the history goes back to"));
}

TEST_F(TimeTravelTest, DefinitionsAreThoseOfTheVersion) {
  Run("CREATE SCHEMA p.s");
  Run("CREATE TABLE p.s.t AS SELECT 1 AS a");
  const std::string version = Commit();
  Run("CREATE OR REPLACE TABLE p.s.t AS SELECT 'x' AS b, 2 AS c");
  EXPECT_EQ(Query("FROM p.s.t AT (VERSION => " + version + ")"), "1\n");
  Run("ALTER TABLE p.s.t RENAME TO u");
  EXPECT_EQ(Query("SELECT a FROM p.s.t AT (VERSION => " + version + ")"), "1\n");
  EXPECT_THAT(Error("FROM p.s.u AT (VERSION => " + version + ")"), HasSubstr("u"));
  Run("DROP SCHEMA p.s CASCADE");
  EXPECT_EQ(Query("SELECT a FROM p.s.t AT (VERSION => " + version + ")"), "1\n");
}

TEST_F(TimeTravelTest, PreparedStatementsStayAtTheirVersion) {
  Run("CREATE TABLE p.t AS SELECT 1 AS a");
  const std::string version = Commit();
  Run("PREPARE q AS SELECT count(*), sum(a) FROM p.t AT (VERSION => " + version + ")");
  EXPECT_EQ(Query("EXECUTE q"), "1|1\n");
  Run("INSERT INTO p.t VALUES (5)");
  EXPECT_EQ(Query("EXECUTE q"), "1|1\n");
  EXPECT_EQ(Query("EXECUTE q"), "1|1\n");
  Run("DETACH p");
  EXPECT_THAT(Error("EXECUTE q"), HasSubstr("p"));
}

TEST_F(TimeTravelTest, PreparedTimesMoveWithTheClock) {
  Run("CREATE TABLE p.t (v INTEGER)");
  Run("INSERT INTO p.t VALUES (1)");
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(600)); };
  wait();
  Run("INSERT INTO p.t VALUES (2)");
  Run("PREPARE q AS SELECT count(*) FROM p.t AT (TIMESTAMP => now() - INTERVAL 400 MILLISECOND)");
  Run("PREPARE joined AS SELECT count(*) FROM p.t new JOIN p.t AT (TIMESTAMP => now() - INTERVAL 400 MILLISECOND) "
      "USING (v)");
  EXPECT_EQ(Query("EXECUTE q"), "1\n");
  EXPECT_EQ(Query("EXECUTE joined"), "1\n");
  wait();
  EXPECT_EQ(Query("EXECUTE q"), "2\n");
  EXPECT_EQ(Query("EXECUTE joined"), "2\n");
}

TEST_F(TimeTravelTest, WhatIsGoneAndWhatIsNotYetThereIsSaid) {
  Reattach(", history_retention '0'");
  Run("CREATE TABLE p.t AS SELECT 1 AS a");
  const std::string version = Commit();
  Run("INSERT INTO p.t VALUES (2)");
  Run("INSERT INTO p.t VALUES (3)");
  Run("CALL petalite_flush()");
  EXPECT_THAT(Error("FROM p.t AT (VERSION => " + version + ")"), HasSubstr("history_retention"));
  EXPECT_THAT(Error("FROM p.t AT (VERSION => 1000000)"), HasSubstr("not there yet"));
  EXPECT_THAT(Error("FROM p.t AT (VERSION => NULL)"), HasSubstr("NULL"));
  EXPECT_THAT(Error("FROM p.t AT (VERSION => 'x')"), HasSubstr("x"));
  EXPECT_THAT(Error("FROM p.t AT (COLOUR => 3)"), HasSubstr("COLOUR"));
}

TEST_F(TimeTravelTest, ATransactionKeepsWhatItHasLookedAt) {
  Reattach(", history_retention '0'");
  Run("CREATE TABLE p.t (k BIGINT PRIMARY KEY, v INTEGER)");
  Run("INSERT INTO p.t VALUES (1, 1)");
  const std::string version = Commit();
  const std::string question = "SELECT sum(v) FROM p.t AT (VERSION => " + version + ")";
  Run("BEGIN");
  EXPECT_EQ(Query(question), "1\n");
  duckdb::Connection other(*instance_);
  for (const char* sql : {"INSERT INTO p.t VALUES (2, 2)", "CALL petalite_flush()", "INSERT INTO p.t VALUES (3, 4)",
                          "CALL petalite_flush()", "CALL petalite_compact()"}) {
    const auto result = other.Query(sql);
    EXPECT_FALSE(result->HasError()) << result->GetError();
  }
  EXPECT_EQ(Query(question), "1\n");
  Run("COMMIT");
  Run("INSERT INTO p.t VALUES (4, 8)");
  Run("CALL petalite_flush()");
  EXPECT_THAT(Error(question), HasSubstr("history_retention"));
}

}  // namespace
}  // namespace petalite::sql
