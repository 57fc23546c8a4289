// Questions over the flights file of the demo (3 million rows): Petalite's answers equal DuckDB's over the same file,
// at every codec.

#include <cstdlib>

#include "sql_fixture.h"

namespace petalite::sql {
namespace {

std::string FlightsFile() {
  if (const char* folder = std::getenv("PETALITE_CACHE")) return std::string(folder) + "/flights-3m.parquet";
  if (const char* xdg = std::getenv("XDG_CACHE_HOME")) return std::string(xdg) + "/petalite/flights-3m.parquet";
  return std::string(std::getenv("HOME")) + "/.cache/petalite/flights-3m.parquet";
}

constexpr const char* kQuestions[] = {
    "SELECT count(*), count(delay), min(date), max(date), min(origin), max(destination), sum(distance) FROM {}",
    "SELECT origin, count(*), avg(delay), max(distance) FROM {} GROUP BY origin ORDER BY ALL",
    "SELECT date_trunc('month', date) AS m, count(*), sum(delay) FROM {} GROUP BY m ORDER BY m",
    "SELECT * FROM {} WHERE origin = 'HNL' AND destination = 'LAX' AND delay > 60 ORDER BY ALL",
    "SELECT count(*) FROM {} WHERE origin IN ('SFO', 'QQQ', 'OAK') OR destination LIKE 'S%'",
    "SELECT count(*), sum(delay) FROM {} WHERE date BETWEEN '2001-03-01' AND '2001-03-02'",
    "SELECT count(*) FROM {} WHERE origin = 'QQQ'",
    "SELECT a.origin, count(*) FROM (SELECT * FROM {} WHERE delay > 600) a JOIN (SELECT DISTINCT destination FROM {} "
    "WHERE distance > 4000) b ON a.origin = b.destination GROUP BY ALL ORDER BY ALL",
    "SELECT origin, destination, delay FROM {} ORDER BY delay DESC, origin, destination, date LIMIT 10",
    "SELECT dayofweek(date) AS d, quantile_disc(delay, 0.9) FROM {} GROUP BY d ORDER BY d",
};

std::string Over(std::string question, const std::string& table) {
  for (size_t at = question.find("{}"); at != std::string::npos; at = question.find("{}"))
    question.replace(at, 2, table);
  return question;
}

class FlightsTest : public SqlTest {};

TEST_F(FlightsTest, AnswersEqualDuckDBsAtEveryCodec) {
  Run("CREATE TABLE memory.flights AS FROM '" + FlightsFile() + "'");
  std::vector<std::string> expected;
  for (const char* question : kQuestions) expected.push_back(Query(Over(question, "memory.flights")));
  for (const char* codec : {"uncompressed", "lz4", "snappy", "zstd:1", "zstd:3"}) {
    Run(std::string("CREATE OR REPLACE TABLE p.flights WITH (codec = '") + codec + "') AS FROM '" + FlightsFile() +
        "'");
    for (size_t i = 0; i < std::size(kQuestions); ++i) {
      EXPECT_EQ(Query(Over(kQuestions[i], "p.flights")), expected[i]) << kQuestions[i] << ", codec " << codec;
    }
  }
}

}  // namespace
}  // namespace petalite::sql
