// Filters on equals filters off equals DuckDB: random tables of every type, random predicates over them.

#include <array>
#include <random>

#include "sql_fixture.h"

namespace petalite::sql {
namespace {

struct ColumnKind {
  const char* type;
  std::vector<const char*> values;  // SQL literals; drawn with repetition, beside random ones
};

// Extremes, neighbours, equal-looking values.
const std::vector<ColumnKind> kKinds = {
    {"BOOLEAN", {"true", "false"}},
    {"TINYINT", {"-128", "127", "0", "1", "-1"}},
    {"SMALLINT", {"-32768", "32767", "0", "5"}},
    {"INTEGER", {"-2147483648", "2147483647", "0", "7", "8"}},
    {"BIGINT", {"-9223372036854775808", "9223372036854775807", "0", "42"}},
    {"UTINYINT", {"0", "255", "3"}},
    {"USMALLINT", {"0", "65535", "3"}},
    {"UINTEGER", {"0", "4294967295", "2147483648"}},
    {"UBIGINT", {"0", "18446744073709551615", "9223372036854775808"}},
    {"FLOAT", {"'nan'", "'inf'", "'-inf'", "0.0", "'-0.0'", "1.5", "3.4e38"}},
    {"DOUBLE", {"'nan'", "'inf'", "'-inf'", "0.0", "'-0.0'", "1.5", "1e308", "5e-324"}},
    {"DECIMAL(4,1)", {"-999.9", "999.9", "0.0", "0.1"}},
    {"DECIMAL(9,2)", {"-9999999.99", "9999999.99", "0.00", "1.25"}},
    {"DECIMAL(18,3)", {"-999999999999999.999", "0.001"}},
    {"DECIMAL(38,10)", {"-9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999", "0.5"}},
    {"DATE", {"'1970-01-01'", "'0001-01-01'", "'9999-12-31'", "'2024-02-29'"}},
    {"TIME", {"'00:00:00'", "'23:59:59.999999'", "'12:00:00'"}},
    {"TIMESTAMP", {"'1970-01-01 00:00:00'", "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'"}},
    {"TIMESTAMP_S", {"'1970-01-01 00:00:00'", "'2000-01-01 00:00:01'"}},
    {"TIMESTAMP_MS", {"'1970-01-01 00:00:00.001'", "'2000-01-01 00:00:01'"}},
    {"TIMESTAMP_NS", {"'1970-01-01 00:00:00.000000001'", "'2200-01-01 00:00:01'"}},
    {"TIMESTAMPTZ", {"'1970-01-01 00:00:00+00'", "'2024-06-01 12:00:00+02'"}},
    {"VARCHAR",
     {"''", "'a'", "'aa'", "'A'", "'ä'", "'zzzzzzzzzzzzzzzzzzzzzzzz'", "'row7'", "'row70'", "repeat('x', 200)"}},
    {"BLOB", {"''::BLOB", "'\\x00'::BLOB", "'\\xff\\xff'::BLOB", "'abc'::BLOB"}},
    {"UUID",
     {"'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
      "'80000000-0000-0000-0000-000000000000'"}},
};

class PropertyTest : public SqlTest {
 protected:
  std::string Literal(const ColumnKind& kind) {
    const std::string value = kind.values[random_() % kind.values.size()];
    return "CAST(" + value + " AS " + kind.type + ")";
  }

  // A predicate over the column `c`, in every form that a scan may be asked to apply.
  std::string Predicate(const ColumnKind& kind, int depth) {
    static constexpr const char* kComparisons[] = {"=", "<>", "<", "<=", ">", ">="};
    const bool number = std::string(kind.type).find("INT") != std::string::npos || kind.type == std::string("DOUBLE");
    const bool text = kind.type == std::string("VARCHAR");
    switch (random_() % (depth > 0 ? 13 : 10)) {
      case 0:
      case 1:
      case 2:
        return std::string("c ") + kComparisons[random_() % 6] + " " + Literal(kind);
      case 3:
        return "c IN (" + Literal(kind) + ", " + Literal(kind) + ", " + Literal(kind) + ")";
      case 4:
        return "c BETWEEN " + Literal(kind) + " AND " + Literal(kind);
      case 5:
        return "c IS NULL";
      case 6:
        return "c IS NOT NULL";
      case 7:
        return "c IS NOT DISTINCT FROM " + Literal(kind);
      case 8:
        if (text) return random_() % 2 == 0 ? "c LIKE 'row%'" : "c LIKE '%7%'";
        if (number) return "TRY_CAST(c AS HUGEINT) + 1 > 7";
        return "c = " + Literal(kind);
      case 9:
        if (text) return "upper(c) = 'A'";
        if (number) return "TRY_CAST(c AS SMALLINT) = 5";
        return "c::VARCHAR = (" + Literal(kind) + ")::VARCHAR";
      case 10:
        return "(" + Predicate(kind, depth - 1) + " AND " + Predicate(kind, depth - 1) + ")";
      case 11:
        return "(" + Predicate(kind, depth - 1) + " OR " + Predicate(kind, depth - 1) + ")";
      default:
        return "NOT (" + Predicate(kind, depth - 1) + ")";
    }
  }

  // Small pages and row groups, so that there is much to prune; sorted now and then, so that zones are narrow.
  void MakeTables(const ColumnKind& kind) {
    std::string cases;
    for (size_t i = 0; i < kind.values.size(); ++i) {
      cases += " WHEN " + std::to_string(i) + " THEN CAST(" + kind.values[i] + " AS " + kind.type + ")";
    }
    const std::string nulls = random_() % 3 == 0 ? "false" : "hash(i, 'n') % 5 = 0";
    // Rows in order of their values have no key; those with a key can be deleted.
    const bool keyed = random_() % 2 == 0;
    const std::string order = keyed ? " ORDER BY i" : " ORDER BY c";
    Run("CREATE OR REPLACE TABLE memory.t AS SELECT i, CASE WHEN " + nulls + " THEN NULL ELSE CASE (hash(i, " +
        std::to_string(random_() % 1000) + ") % " + std::to_string(kind.values.size()) + ")::INTEGER" + cases +
        " END END AS c FROM range(1500) r(i)" + order);
    static constexpr const char* kEncodings[] = {"auto", "plain", "dictionary"};
    static constexpr const char* kCodecs[] = {"lz4", "uncompressed", "zstd", "snappy"};
    Run(std::string("CREATE OR REPLACE TABLE p.t (i BIGINT") + (keyed ? " PRIMARY KEY" : "") + ", c " + kind.type +
        ") WITH (page_rows = 64, row_group_rows = 256, bloom_fpp = 0.001, encoding = '" + kEncodings[random_() % 3] +
        "', codec = '" + kCodecs[random_() % 4] + "')");
    FillTable(keyed);
  }

  // All rows in a rowset, all in memory, or some here and some there; and some of them dead.
  void FillTable(bool keyed) {
    const uint64_t flushed = std::array<uint64_t, 4>{1500, 1500, 0, random_() % 1500}[random_() % 4];
    Run("INSERT INTO p.t FROM memory.t LIMIT " + std::to_string(flushed));
    Run("CALL petalite_flush('p.t')");
    Run("INSERT INTO p.t FROM memory.t OFFSET " + std::to_string(flushed));
    if (!keyed || random_() % 2 == 0) return;
    const std::string dead =
        "SELECT i FROM memory.t WHERE hash(i) % " + std::to_string(1 + random_() % 10) + " = 0 ORDER BY i";
    WriteRows("t", WriteOp::kDelete, {0}, dead);
    Run("DELETE FROM memory.t WHERE i IN (" + dead + ")");
  }

  std::mt19937_64 random_;
};

TEST_F(PropertyTest, FiltersOnEqualsFiltersOffEqualsDuckDB) {
  const char* given = std::getenv("PETALITE_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE("PETALITE_TEST_SEED=" + std::to_string(seed));
  random_.seed(seed);
  for (const ColumnKind& kind : kKinds) {
    for (int table = 0; table < 4; ++table) {
      MakeTables(kind);
      ASSERT_EQ(Query("SELECT i, c::VARCHAR FROM p.t"), Query("SELECT i, c::VARCHAR FROM memory.t")) << kind.type;
      for (int i = 0; i < 25; ++i) {
        const std::string where = " WHERE " + Predicate(kind, 2) + " ORDER BY i";
        const std::string expected = Query("SELECT i, c::VARCHAR FROM memory.t" + where);
        Run("SET petalite_bloom_filters = true");
        ASSERT_EQ(Query("SELECT i, c::VARCHAR FROM p.t" + where), expected) << kind.type << where;
        Run("SET petalite_bloom_filters = false");
        ASSERT_EQ(Query("SELECT i, c::VARCHAR FROM p.t" + where), expected) << kind.type << where;
      }
      EXPECT_EQ(Query("SELECT min(c)::VARCHAR, max(c)::VARCHAR, count(c), count(DISTINCT c) FROM p.t"),
                Query("SELECT min(c)::VARCHAR, max(c)::VARCHAR, count(c), count(DISTINCT c) FROM memory.t"))
          << kind.type;
    }
  }
}

TEST_F(PropertyTest, JoinsPruneWithWhatTheyLearn) {
  Run("CREATE TABLE memory.small AS SELECT i * 5000 AS k FROM range(40) r(i)");
  Run("CREATE TABLE memory.large AS SELECT i AS k, i % 100 AS v, 'text ' || (i % 1000) AS s FROM range(300000) r(i)");
  Run("CREATE TABLE p.large AS FROM memory.large");
  for (const char* query :
       {"SELECT count(*), sum(v) FROM {}.large JOIN memory.small USING (k)",
        "SELECT s, count(*) FROM {}.large SEMI JOIN memory.small USING (k) GROUP BY ALL ORDER BY ALL",
        "SELECT * FROM {}.large ORDER BY k DESC LIMIT 5", "SELECT * FROM {}.large ORDER BY s, k LIMIT 7"}) {
    std::string text = query;
    const size_t at = text.find("{}");
    std::string ours = text, theirs = text;
    EXPECT_EQ(Query(ours.replace(at, 2, "p")), Query(theirs.replace(at, 2, "memory"))) << query;
  }
}

}  // namespace
}  // namespace petalite::sql
