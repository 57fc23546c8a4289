#include <gmock/gmock.h>

#include "sql_fixture.h"

namespace petalite::sql {
namespace {

using ::testing::HasSubstr;

class CatalogTest : public SqlTest {};

TEST_F(CatalogTest, TablesSchemasAndViewsSurviveReattaching) {
  Run("CREATE SCHEMA p.sales");
  Run("CREATE TABLE p.sales.orders (id BIGINT PRIMARY KEY, customer VARCHAR NOT NULL, total DECIMAL(10,2)) "
      "WITH (codec = 'zstd:3; total = lz4', bloom_fpp = 0.001)");
  Run("INSERT INTO p.sales.orders VALUES (2, 'b', 2.5), (1, 'a', NULL)");
  Run("CREATE VIEW p.sales.large AS SELECT id FROM p.sales.orders WHERE total > 2");
  Reattach();
  EXPECT_EQ(Query("FROM p.sales.orders"), "1|a|NULL\n2|b|2.50\n");
  EXPECT_EQ(Query("FROM p.sales.large"), "2\n");
  EXPECT_EQ(Query("SELECT table_name, primary_key, row_count, rowsets FROM petalite_tables()"), "orders|[id]|2|1\n");
  EXPECT_THAT(Query("SELECT options FROM petalite_tables()"), HasSubstr("codec = zstd:3; total = lz4"));
  EXPECT_EQ(Query("SELECT count(*) FROM petalite_rowsets('p.sales.orders')"), "1\n");
  EXPECT_EQ(Query("SELECT column_name, kind, target_fpp FROM petalite_filters('p.sales.orders')"),
            "id|column|0.001\ncustomer|column|0.001\ntotal|column|0.001\n(primary key)|key|0.0001\n");
}

TEST_F(CatalogTest, CreateTableAsKeepsOrderAndValues) {
  Run("CREATE TABLE p.t AS SELECT i AS a, CASE WHEN i % 3 = 0 THEN NULL ELSE 'v' || i END AS b FROM range(250000) "
      "r(i)");
  EXPECT_EQ(Query("SELECT count(*), count(b), min(a), max(a), sum(a) FROM p.t"),
            "250000|166666|0|249999|31249875000\n");
  EXPECT_EQ(Query("SELECT a FROM p.t LIMIT 3"), "0\n1\n2\n");
  EXPECT_EQ(Query("SELECT count(*) FROM p.t t JOIN range(250000) r(i) ON t.a = r.i WHERE t.b IS DISTINCT FROM "
                  "CASE WHEN i % 3 = 0 THEN NULL ELSE 'v' || i END"),
            "0\n");
}

TEST_F(CatalogTest, TransactionsSeeTheirOwnChangesAndRollBack) {
  Run("CREATE TABLE p.t (a INTEGER)");
  Run("BEGIN");
  Run("INSERT INTO p.t VALUES (1)");
  Run("CREATE TABLE p.u AS FROM p.t");
  EXPECT_EQ(Query("SELECT count(*) FROM p.u"), "1\n");
  duckdb::Connection other(*instance_);
  EXPECT_EQ(other.Query("SELECT count(*) FROM p.t")->GetValue(0, 0).ToString(), "0");
  Run("ROLLBACK");
  EXPECT_EQ(Query("SELECT count(*) FROM p.t"), "0\n");
  EXPECT_THAT(Error("FROM p.u"), HasSubstr("u"));
}

TEST_F(CatalogTest, PreparedStatementsSeeLaterCommits) {
  Run("CREATE TABLE p.t (a INTEGER)");
  Run("PREPARE q AS SELECT count(*), max(a) FROM p.t");
  EXPECT_EQ(Query("EXECUTE q"), "0|NULL\n");
  Run("INSERT INTO p.t VALUES (7)");
  EXPECT_EQ(Query("EXECUTE q"), "1|7\n");
  Run("DROP TABLE p.t");
  Run("CREATE TABLE p.t (a INTEGER)");
  EXPECT_EQ(Query("EXECUTE q"), "0|NULL\n");
}

TEST_F(CatalogTest, DropReplaceRenameAndSetOptions) {
  Run("CREATE TABLE p.t AS SELECT 1 AS a");
  Run("CREATE OR REPLACE TABLE p.t AS SELECT 2 AS b");
  EXPECT_EQ(Query("FROM p.t"), "2\n");
  Run("ALTER TABLE p.t RENAME TO u");
  Run("ALTER TABLE p.u SET (codec = 'zstd')");
  Run("INSERT INTO p.u VALUES (3)");
  EXPECT_EQ(Query("FROM p.u ORDER BY ALL"), "2\n3\n");
  Run("DROP TABLE p.u");
  Run("DROP TABLE IF EXISTS p.u");
  EXPECT_EQ(Query("SELECT count(*) FROM petalite_tables()"), "0\n");
}

TEST_F(CatalogTest, SkippingWhatIsUnchangedIsAnOptionOfATable) {
  Run("CREATE TABLE p.t (k INTEGER PRIMARY KEY, v INTEGER) WITH (skip_unchanged = true)");
  EXPECT_THAT(Query("SELECT options FROM petalite_tables()"), HasSubstr("skip_unchanged = true"));
  Reattach();
  Run("ALTER TABLE p.t SET (skip_unchanged = 'off')");
  EXPECT_THAT(Query("SELECT options FROM petalite_tables()"), HasSubstr("skip_unchanged = off"));
  EXPECT_THAT(Error("ALTER TABLE p.t SET (skip_unchanged = 2)"), HasSubstr("'2' must be on or off"));
}

TEST_F(CatalogTest, ColumnsAreAddedDroppedRenamedAndWidened) {
  Run("CREATE TABLE p.t (a INTEGER PRIMARY KEY, b SMALLINT, c VARCHAR)");
  Run("INSERT INTO p.t VALUES (1, 10, 'x')");
  Run("CALL petalite_flush('p.t')");
  Run("ALTER TABLE p.t ADD COLUMN d DOUBLE");
  Run("ALTER TABLE p.t DROP COLUMN c");
  Run("ALTER TABLE p.t RENAME COLUMN b TO e");
  Run("ALTER TABLE p.t ALTER COLUMN e TYPE BIGINT");
  Run("INSERT INTO p.t VALUES (2, 5000000000, 0.5)");
  EXPECT_EQ(Query("FROM p.t ORDER BY a"), "1|10|NULL\n2|5000000000|0.5\n");
  EXPECT_EQ(Query("SELECT a FROM p.t WHERE e > 20"), "2\n");
  EXPECT_EQ(Query("SELECT a FROM p.t WHERE d IS NULL"), "1\n");
  Run("CALL petalite_flush('p.t')");
  EXPECT_EQ(Query("SELECT sum(e), count(d) FROM p.t"), "5000000010|1\n");
  EXPECT_THAT(Error("SELECT c FROM p.t"), HasSubstr("c"));
}

TEST_F(CatalogTest, MistakesAreNamed) {
  Run("CREATE TABLE p.t (a INTEGER PRIMARY KEY, b VARCHAR)");
  Run("INSERT INTO p.t VALUES (1, 'x')");
  EXPECT_THAT(Error("INSERT INTO p.t VALUES (2, 'y'), (1, 'z')"), HasSubstr("duplicate key (1)"));
  EXPECT_THAT(Error("INSERT INTO p.t VALUES (NULL, 'y')"), HasSubstr("'a'"));
  EXPECT_THAT(Error("CREATE TABLE p.u (a INTEGER) WITH (codek = 'lz4')"), HasSubstr("the nearest is 'codec'"));
  EXPECT_THAT(Error("CREATE TABLE p.u (a INTEGER) WITH (bloom_fpp = 1.5)"), HasSubstr("between 0 and 1"));
  EXPECT_THAT(Error("CREATE TABLE p.u (a INTEGER) WITH (codec = 'zstd:99')"), HasSubstr("zstd"));
  EXPECT_THAT(Error("CREATE TABLE p.u (a INTEGER[])"), HasSubstr("column 'a': type INTEGER[] is not supported"));
  EXPECT_THAT(Error("CREATE TABLE p.u (a DOUBLE PRIMARY KEY)"), HasSubstr("cannot be part of a key"));
  EXPECT_THAT(Error("CREATE TABLE p.u (a INTEGER DEFAULT 5)"), HasSubstr("DEFAULT is not supported"));
  EXPECT_THAT(Error("CREATE TABLE p.u (a INTEGER CHECK (a > 0))"), HasSubstr("not supported"));
  EXPECT_THAT(Error("CREATE TABLE p.t (a INTEGER)"), HasSubstr("exists"));
  EXPECT_THAT(Error("UPDATE p.t SET b = 'z'"), HasSubstr("UPDATE is not supported"));
  EXPECT_THAT(Error("DELETE FROM p.t"), HasSubstr("DELETE is not supported"));
  EXPECT_THAT(Error("INSERT INTO p.t VALUES (9, 'n') RETURNING a"), HasSubstr("RETURNING is not supported"));
  EXPECT_THAT(Error("CREATE INDEX i ON p.t (b)"), HasSubstr("no indexes"));
  EXPECT_THAT(Error("CREATE SEQUENCE p.s"), HasSubstr("no sequences"));
  EXPECT_THAT(Error("DROP SCHEMA p.none"), HasSubstr("none"));
  EXPECT_THAT(Error("ALTER TABLE p.t ADD COLUMN c INTEGER DEFAULT 5"), HasSubstr("DEFAULT is not supported"));
  EXPECT_THAT(Error("ALTER TABLE p.t ALTER COLUMN a TYPE BIGINT"), HasSubstr("whose type cannot change"));
  EXPECT_THAT(Error("ALTER TABLE p.t ALTER COLUMN b SET NOT NULL"), HasSubstr("this ALTER TABLE is not supported"));
  EXPECT_THAT(Error("CREATE VIEW p.t AS SELECT 1"), HasSubstr("t"));
  EXPECT_THAT(Error("ATTACH 'x' AS q (TYPE petalite, colour 3)"), HasSubstr("unknown option 'colour'"));
  EXPECT_THAT(Error("FROM petalite_rowsets('p.none')"), HasSubstr("none"));
  EXPECT_EQ(Query("SELECT count(*) FROM p.t"), "1\n");
}

TEST_F(CatalogTest, AReadOnlyAttachmentRefusesWrites) {
  Run("CREATE TABLE p.t AS SELECT 1 AS a");
  Run("DETACH p");
  Run("ATTACH '" + (folder_ / "db") + "' AS p (TYPE petalite, READ_ONLY)");
  EXPECT_EQ(Query("FROM p.t"), "1\n");
  EXPECT_THAT(Error("INSERT INTO p.t VALUES (2)"), HasSubstr("read"));
}

TEST_F(CatalogTest, ExplainAnalyzeCountsWhatWasPruned) {
  Run("CREATE TABLE p.t AS SELECT i AS a, hash(i) AS h FROM range(1000000) r(i)");
  const std::string plan = Query("EXPLAIN ANALYZE SELECT * FROM p.t WHERE a = 500000");
  EXPECT_THAT(plan, HasSubstr("11 considered, 10 pruned"));
  EXPECT_THAT(Query("EXPLAIN ANALYZE SELECT * FROM p.t WHERE h = 1"), HasSubstr("by Bloom"));
}

}  // namespace
}  // namespace petalite::sql
