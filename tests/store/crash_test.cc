// What survives when the power fails, the disk fails or fills, or a bit flips, at any step of a workload that does all
// that a database can do.

#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "number_tables.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;

constexpr const char* kReadOnlyNow = "read-only until it is opened again";

NumberRows Range(int64_t begin, int64_t end, int64_t step, int64_t value) {
  NumberRows rows;
  for (int64_t key = begin; key < end; key += step) rows.emplace_back(key, value);
  return rows;
}

// One step of the workload: on a database, and on what it is to hold afterwards.
struct Step {
  const char* name;
  Status (*run)(Database&);
  void (*model)(NumberTables&);
};

void Put(Numbers* numbers, const NumberRows& rows) {
  for (const auto& [key, value] : rows) (*numbers)[key] = value;
}
void Take(Numbers* numbers, const NumberRows& rows) {
  for (const auto& [key, value] : rows) numbers->erase(key);
}

const NumberRows kFirst = Range(0, 300, 1, 1);
const NumberRows kChanged = Range(0, 300, 7, 2);
const NumberRows kGone = Range(3, 300, 11, 0);
const NumberRows kShared = Range(250, 350, 3, 3);
const NumberRows kLater = Range(100, 500, 9, 4);
constexpr int64_t kLoaded = 70'000;  // more than the memory of imports holds

Status Load(Database& database) {
  const auto transaction = database.Begin();
  RETURN_IF_ERROR(transaction->CreateTable(NumberTable("loaded")).status());
  RETURN_IF_ERROR(WriteNumbers(*transaction, "a", WriteOp::kUpsert, {{-1, 1}}));
  ASSIGN_OR_RETURN(const auto appender, transaction->Append({"main", "loaded"}));
  std::vector<int64_t> keys(10'000);
  for (int64_t begin = 0; begin < kLoaded; begin += static_cast<int64_t>(keys.size())) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = begin + static_cast<int64_t>(i);
    const ColumnView views[] = {{.values = keys.data(), .size = keys.size()},
                                {.values = keys.data(), .size = keys.size()}};
    RETURN_IF_ERROR(appender->Append(views, keys.size()));
  }
  RETURN_IF_ERROR(appender->Finish());
  return transaction->Commit();
}

Status WriteThree(Database& database, WriteOp op, const NumberRows& rows) {
  const auto transaction = database.Begin();
  for (const char* table : {"a", "b", "c"}) RETURN_IF_ERROR(WriteNumbers(*transaction, table, op, rows));
  return transaction->Commit();
}

Status DropAndTruncate(Database& database) {
  const auto transaction = database.Begin();
  if (transaction->view().FindTable({"main", "loaded"}) != nullptr) {
    RETURN_IF_ERROR(transaction->DropTable({"main", "loaded"}));
  }
  RETURN_IF_ERROR(transaction->Truncate({"main", "b"}));
  RETURN_IF_ERROR(WriteNumbers(*transaction, "b", WriteOp::kInsert, {{1, 5}, {2, 5}}));
  RETURN_IF_ERROR(WriteNumbers(*transaction, "a", WriteOp::kDelete, {{1, 0}, {2, 0}}));
  return transaction->Commit();
}

void Nothing(NumberTables&) {}

// The load is long; the workload without it is what is done at every single step.
std::vector<Step> Workload(bool with_load) {
  std::vector<Step> steps = {
      {"create", [](Database& d) { return CreateNumberTables(d, {{"a", 1}, {"b", 1}, {"c", 3}}); },
       [](NumberTables& t) { t["a"], t["b"], t["c"]; }},
      {"insert", [](Database& d) { return WriteNumbers(d, "a", WriteOp::kInsertOrIgnore, kFirst).status(); },
       [](NumberTables& t) { Put(&t["a"], kFirst); }},
      {"insert into tablets", [](Database& d) { return WriteNumbers(d, "c", WriteOp::kUpsert, kFirst).status(); },
       [](NumberTables& t) { Put(&t["c"], kFirst); }},
      {"flush", [](Database& d) { return d.Flush(); }, Nothing},
      {"upsert", [](Database& d) { return WriteNumbers(d, "a", WriteOp::kUpsert, kChanged).status(); },
       [](NumberTables& t) { Put(&t["a"], kChanged); }},
      {"delete", [](Database& d) { return WriteNumbers(d, "c", WriteOp::kDelete, kGone).status(); },
       [](NumberTables& t) { Take(&t["c"], kGone); }},
      {"three tables", [](Database& d) { return WriteThree(d, WriteOp::kUpsert, kShared); },
       [](NumberTables& t) { Put(&t["a"], kShared), Put(&t["b"], kShared), Put(&t["c"], kShared); }},
      {"checkpoint", [](Database& d) { return d.Checkpoint(); }, Nothing},
      {"delete from three", [](Database& d) { return WriteThree(d, WriteOp::kDelete, kGone); },
       [](NumberTables& t) { Take(&t["a"], kGone), Take(&t["b"], kGone), Take(&t["c"], kGone); }},
      {"flush again", [](Database& d) { return d.Flush(); }, Nothing},
      {"upsert again", [](Database& d) { return WriteNumbers(d, "c", WriteOp::kUpsert, kLater).status(); },
       [](NumberTables& t) { Put(&t["c"], kLater); }},
      {"compact", [](Database& d) { return d.Compact(std::nullopt, true); }, Nothing},
      {"drop and truncate", DropAndTruncate,
       [](NumberTables& t) {
         t.erase("loaded");
         t["b"] = {{1, 5}, {2, 5}};
         Take(&t["a"], {{1, 0}, {2, 0}});
       }},
      {"last", [](Database& d) { return WriteThree(d, WriteOp::kUpsert, kLater); },
       [](NumberTables& t) { Put(&t["a"], kLater), Put(&t["b"], kLater), Put(&t["c"], kLater); }},
      {"last checkpoint", [](Database& d) { return d.Checkpoint(); }, Nothing},
  };
  if (with_load) {
    steps.insert(steps.begin() + 7, {"load", Load, [](NumberTables& t) {
                                       Put(&t["a"], {{-1, 1}});
                                       for (int64_t key = 0; key < kLoaded; ++key) t["loaded"][key] = key;
                                     }});
  }
  return steps;
}

DatabaseOptions Options(FileSystem& fs, Durability durability = Durability::kSync, bool read_only = false) {
  return {.read_only = read_only,
          .create = !read_only,
          .cache_bytes = 1 << 20,
          .write_bytes = 2 << 20,
          .threads = 1,
          .durability = durability,
          .async_interval_ms = 1 << 30,
          .history_retention_micros = 0,
          .wal_segment_bytes = 1 << 16,
          .background = false,
          .fs = &fs};
}

class CrashTest : public ::testing::Test {
 protected:
  CrashTest() : seed_(TestSeed()), random_(seed_) {}

  std::unique_ptr<Database> MustOpen(FileSystem& fs, Durability durability = Durability::kSync,
                                     bool read_only = false) {
    auto opened = Database::Open("db", Options(fs, durability, read_only));
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *std::move(opened) : nullptr;
  }

  static void Crash(FaultFileSystem& fs, std::unique_ptr<Database> database, uint64_t seed) {
    fs.FailFrom(1, Fault::kIoError);
    database = nullptr;
    fs.Crash(seed);
  }

  // Writes, flushes, compacts.
  static void ExpectWorks(Database& database, NumberTables expected) {
    if (!expected.contains("a")) {
      ASSERT_TRUE(CreateNumberTables(database, {{"a", 1}, {"b", 1}, {"c", 3}}).ok());
      expected["a"], expected["b"], expected["c"];
    }
    const auto write = [&](WriteOp op, const NumberRows& rows) {
      const Status written = WriteThree(database, op, rows);
      ASSERT_TRUE(written.ok()) << written.message();
      for (const char* table : {"a", "b", "c"}) {
        op == WriteOp::kDelete ? Take(&expected[table], rows) : Put(&expected[table], rows);
      }
    };
    ASSERT_NO_FATAL_FAILURE(write(WriteOp::kUpsert, Range(-50, 400, 13, 6)));
    ASSERT_NO_FATAL_FAILURE(write(WriteOp::kDelete, Range(-50, 400, 17, 0)));
    ASSERT_TRUE(database.Flush().ok());
    ASSERT_NO_FATAL_FAILURE(write(WriteOp::kUpsert, Range(-50, 400, 17, 7)));
    ASSERT_TRUE(database.Compact(std::nullopt, true).ok());
    ExpectNumbers(database, expected);
    ExpectSound(database);
  }

  // The power fails at the n-th mutating call. False if the workload ends before.
  bool CrashAt(const std::vector<Step>& steps, uint64_t n, uint64_t variant) {
    FaultFileSystem fs(seed_ + variant);
    auto database = MustOpen(fs);
    if (database == nullptr) return false;
    const uint64_t before = fs.mutations();
    fs.FailFrom(n, Fault::kIoError);
    NumberTables sure;
    NumberTables perhaps;
    for (const Step& step : steps) {
      perhaps = sure;
      step.model(perhaps);
      const Status status = step.run(*database);
      if (!status.ok()) break;
      sure = perhaps;
    }
    const bool reached = fs.mutations() - before >= n;
    Crash(fs, std::move(database), seed_ + variant);
    for (const bool read_only : {true, false}) {
      database = nullptr;
      database = MustOpen(fs, Durability::kSync, read_only);
      if (database == nullptr) return false;
      const auto contents = ReadAllNumbers(*database);
      EXPECT_TRUE(contents.ok()) << contents.status().message();
      if (!contents.ok()) return false;
      EXPECT_TRUE(*contents == sure || *contents == perhaps);
      if (read_only) continue;
      ExpectSound(*database);
      if (*contents == sure || *contents == perhaps) ExpectWorks(*database, *contents);
    }
    return reached && !HasFailure();
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  const Silence silence_;
};

TEST_F(CrashTest, ACrashAnywhereLosesNoAcknowledgedCommit) {
  SCOPED_TRACE(SeedTrace(seed_));
  const auto steps = Workload(false);
  for (uint64_t n = 1;; n += 1 + random_() % 6) {
    SCOPED_TRACE(fmt::format("crash at {}", n));
    if (!CrashAt(steps, n, n)) break;
  }
}

TEST_F(CrashTest, ACrashAroundALoadLosesNothing) {
  SCOPED_TRACE(SeedTrace(seed_));
  const auto steps = Workload(true);
  for (uint64_t n = 100 + random_() % 20;; n += 1 + random_() % 150) {
    SCOPED_TRACE(fmt::format("crash at {}", n));
    if (!CrashAt(steps, n, n)) break;
  }
}

TEST_F(CrashTest, LongEveryCrashInManyWays) {
  SCOPED_TRACE(SeedTrace(seed_));
  const auto steps = Workload(true);
  bool reached = true;
  for (uint64_t n = 1; reached; ++n) {
    for (uint64_t variant = 0; variant < 4 && reached; ++variant) {
      SCOPED_TRACE(fmt::format("crash at {}, variant {}", n, variant));
      reached = CrashAt(steps, n, variant);
    }
  }
}

// Three tables that every commit writes: what survives is what some first so many commits left.
TEST_F(CrashTest, WithoutSyncAPrefixOfWholeCommitsSurvives) {
  SCOPED_TRACE(SeedTrace(seed_));
  for (const Durability durability : {Durability::kAsync, Durability::kNone}) {
    uint64_t n = 1;
    for (bool reached = true; reached; n += 1 + random_() % 40) {
      SCOPED_TRACE(fmt::format("durability {}, crash at {}", static_cast<int>(durability), n));
      FaultFileSystem fs(seed_ + n);
      auto database = MustOpen(fs, durability);
      ASSERT_TRUE(CreateNumberTables(*database, {{"a", 1}, {"b", 1}, {"c", 3}}).ok());
      ASSERT_TRUE(database->Checkpoint().ok());
      const uint64_t before = fs.mutations();
      fs.FailFrom(n, Fault::kIoError);
      std::vector<NumberTables> states = {{{"a", {}}, {"b", {}}, {"c", {}}}};
      size_t durable = 0;  // the first state that must survive
      for (int64_t i = 0; i < 60; ++i) {
        const bool removes = i % 5 == 4;
        const NumberRows rows = removes ? Range(i % 7, 40, 7, 0) : Range(i % 11, 40 + i, 3, i);
        states.push_back(states.back());
        for (auto& [_, numbers] : states.back()) removes ? Take(&numbers, rows) : Put(&numbers, rows);
        if (!WriteThree(*database, removes ? WriteOp::kDelete : WriteOp::kUpsert, rows).ok()) break;
        if (i % 9 == 8 && database->Flush(TableName{"main", i % 2 == 0 ? "a" : "c"}).ok()) durable = states.size() - 1;
        if (i % 20 == 15 && database->Compact(std::nullopt, true).ok()) durable = states.size() - 1;
      }
      reached = fs.mutations() - before >= n;
      Crash(fs, std::move(database), seed_ * 3 + n);
      database = MustOpen(fs, durability);
      ASSERT_NE(database, nullptr);
      const auto contents = ReadAllNumbers(*database);
      ASSERT_TRUE(contents.ok()) << contents.status().message();
      ASSERT_TRUE(std::find(states.begin() + static_cast<ptrdiff_t>(durable), states.end(), *contents) != states.end());
      ExpectSound(*database);
      if (n % 2 == 0) ExpectWorks(*database, *contents);
      if (HasFailure()) return;
    }
  }
}

// One call fails, and the next ones do not: the step has no effect, or the database takes no more until it is opened.
TEST_F(CrashTest, AFailureAnywhereIsSaidAndLeavesTheStateBefore) {
  SCOPED_TRACE(SeedTrace(seed_));
  const auto steps = Workload(false);
  for (const Fault fault : {Fault::kNoSpace, Fault::kShortWrite, Fault::kIoError}) {
    bool reached = true;
    for (uint64_t n = 1 + random_() % 10; reached; n += 1 + random_() % 40) {
      SCOPED_TRACE(fmt::format("fault {} at {}", static_cast<int>(fault), n));
      FaultFileSystem fs(seed_ + n);
      auto database = MustOpen(fs);
      const uint64_t before = fs.mutations();
      fs.FailAt(n, fault);
      NumberTables sure;
      for (const Step& step : steps) {
        SCOPED_TRACE(step.name);
        NumberTables after = sure;
        step.model(after);
        Status status = step.run(*database);
        if (!status.ok()) {
          EXPECT_THAT(status.message(), HasSubstr(fault == Fault::kIoError ? "Input/output error" : "No space left"));
          EXPECT_THAT(status.message(), HasSubstr("db"));
          ExpectNumbers(*database, sure);
        }
        if (!database->health().ok()) {
          if (!status.ok()) {
            EXPECT_THAT(step.run(*database).message(), HasSubstr(kReadOnlyNow));
          }
          database = nullptr;
          database = MustOpen(fs);
          ASSERT_NE(database, nullptr);
          ExpectSound(*database);
          const auto contents = ReadAllNumbers(*database);
          ASSERT_TRUE(contents.ok()) << contents.status().message();
          ASSERT_TRUE(*contents == sure || *contents == after);
          if (*contents == after) status = Status::Ok();
        }
        if (!status.ok()) status = step.run(*database);
        ASSERT_TRUE(status.ok()) << status.message();
        sure = after;
        ExpectNumbers(*database, sure);
      }
      reached = fs.mutations() - before >= n;
      Crash(fs, std::move(database), seed_ + n);
      database = MustOpen(fs);
      ASSERT_NE(database, nullptr);
      ExpectNumbers(*database, sure);
      ExpectSound(*database);
      if (HasFailure()) return;
    }
  }
}

// Rowsets with deaths in Puffin files, and a log that a crash left.
std::vector<NumberTables> MakeCrashed(FaultFileSystem& fs) {
  std::vector<NumberTables> states = {{}};
  auto opened = Database::Open("db", Options(fs));
  EXPECT_TRUE(opened.ok());
  auto database = *std::move(opened);
  auto steps = Workload(false);
  std::erase_if(steps, [](const Step& step) { return std::string_view(step.name) == "drop and truncate"; });
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    EXPECT_TRUE(steps[i].run(*database).ok());
    NumberTables next = states.back();
    steps[i].model(next);
    if (next != states.back()) states.push_back(next);
    if (std::string_view(steps[i].name) != "compact") continue;
    EXPECT_TRUE(WriteThree(*database, WriteOp::kDelete, Range(5, 300, 13, 0)).ok());
    for (auto& [_, numbers] : next) Take(&numbers, Range(5, 300, 13, 0));
    states.push_back(next);
    EXPECT_TRUE(database->Checkpoint().ok());
  }
  for (int64_t i = 0; i < 5; ++i) {
    const NumberRows rows = Range(i, 200, 17, 20 + i);
    EXPECT_TRUE(WriteThree(*database, WriteOp::kUpsert, rows).ok());
    states.push_back(states.back());
    for (auto& [_, numbers] : states.back()) Put(&numbers, rows);
  }
  fs.FailFrom(1, Fault::kIoError);
  database = nullptr;
  fs.Crash(1);
  return states;
}

// What reading everything in every way says; an error, or nothing.
Status ReadEverything(Database& database, const std::vector<NumberTables>& allowed, bool* wrong) {
  ASSIGN_OR_RETURN(const auto contents, ReadAllNumbers(database));
  const auto found = std::find(allowed.begin(), allowed.end(), contents);
  *wrong = found == allowed.end();
  const auto snapshot = database.CurrentSnapshot();
  for (const auto& [name, numbers] : contents) {
    const auto view = snapshot->View(snapshot->version().FindTable({"main", name}));
    for (int64_t key = -2; key < 60; ++key) {
      ASSIGN_OR_RETURN(const auto value, LookUpNumber(*view, key));
      const auto expected = numbers.find(key);
      if (value.value_or(kAbsent) != (expected == numbers.end() ? kAbsent : expected->second)) *wrong = true;
    }
  }
  ASSIGN_OR_RETURN(const auto damage, Verify(database, [](size_t, size_t) { return true; }));
  return damage.empty() ? Status::Ok() : Corruption("{}", damage[0].what);
}

TEST_F(CrashTest, AReadErrorAnywhereIsAnErrorOrHarmless) {
  SCOPED_TRACE(SeedTrace(seed_));
  FaultFileSystem fs;
  const auto states = MakeCrashed(fs);
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(fmt::format("read {}", n));
    const uint64_t before = fs.reads();
    fs.FailReadAt(n);
    auto database = Database::Open("db", Options(fs, Durability::kSync, true));
    bool wrong = false;
    const Status status = database.ok() ? ReadEverything(**database, {states.back()}, &wrong) : database.status();
    const bool reached = fs.reads() - before >= n;
    ASSERT_FALSE(wrong);
    if (!status.ok()) {
      ASSERT_THAT(status.message(), HasSubstr("db/"));
    }
    if (!reached) {
      ASSERT_TRUE(status.ok()) << status.message();
    }
    fs.Heal();
    if (database.ok()) {
      const Status again = ReadEverything(**database, {states.back()}, &wrong);
      ASSERT_TRUE(again.ok() && !wrong) << again.message();
    }
    if (!reached) break;
  }
}

TEST_F(CrashTest, AReadErrorWhileWritingChangesNothing) {
  SCOPED_TRACE(SeedTrace(seed_));
  for (uint64_t n = 1;; n += 1 + random_() % 5) {
    SCOPED_TRACE(fmt::format("read {}", n));
    FaultFileSystem fs;
    NumberTables expected = MakeCrashed(fs).back();
    auto database = MustOpen(fs);
    ASSERT_NE(database, nullptr);
    const uint64_t before = fs.reads();
    fs.FailReadAt(n);
    const NumberRows rows = Range(-20, 300, 5, 9);
    Status status = WriteThree(*database, WriteOp::kUpsert, rows);
    const bool is_written = status.ok();
    if (status.ok()) status = database->Compact(std::nullopt, true);
    const bool reached = fs.reads() - before >= n;
    ASSERT_EQ(status.ok(), !reached) << status.message();
    fs.Heal();
    if (is_written) {
      for (auto& [_, numbers] : expected) Put(&numbers, rows);
    }
    ExpectNumbers(*database, expected);
    // What a checkpoint that failed wrote and never named goes when the database is opened.
    database = nullptr;
    database = MustOpen(fs);
    ASSERT_NE(database, nullptr);
    ExpectWorks(*database, expected);
    if (!reached || HasFailure()) break;
  }
}

void FlipBit(FileSystem& fs, const std::string& path, uint64_t bit) {
  const auto file = *fs.Open(path, OpenMode::kReadWrite);
  uint8_t byte = 0;
  ASSERT_TRUE(file->Read(bit / 8, {&byte, 1}).ok());
  byte = static_cast<uint8_t>(byte ^ (1 << bit % 8));
  ASSERT_TRUE(file->Write(bit / 8, {&byte, 1}).ok());
}

TEST_F(CrashTest, AFlippedBitAnywhereIsNamedOrHarmless) {
  SCOPED_TRACE(SeedTrace(seed_));
  FaultFileSystem fs;
  const auto states = MakeCrashed(fs);
  // The log's last record may as well have been torn by the crash.
  const std::vector<NumberTables> without_last(states.end() - 2, states.end());
  std::vector<std::string> paths = {"db/catalog.sqlite"};
  for (const std::string folder : {"db/wal", "db/data/1", "db/data/2", "db/data/3"}) {
    const auto names = *fs.List(folder);
    for (const std::string& name : names) paths.push_back(folder + "/" + name);
  }
  {
    const auto reader = *Database::Open("db", Options(fs, Durability::kSync, true));
    const auto orphans = *reader->FindOrphans();  // the crash left them behind, and nobody reads them
    for (const std::string& orphan : orphans) std::erase(paths, orphan);
  }
  constexpr int kFlips = 60;
  std::map<std::string, int> kinds;
  for (const std::string& path : paths) {
    const std::string kind = path.substr(path.rfind('.'));
    const bool is_log = path.find("/wal/") != std::string::npos;
    const uint64_t bits = 8 * *fs.FileSize(path);
    int noticed = 0;
    for (int i = 0; i < kFlips; ++i) {
      // The log is empty behind its first pages.
      const uint64_t bit = random_() % (is_log && i % 2 == 0 ? std::min<uint64_t>(bits, 8 * 20'000) : bits);
      SCOPED_TRACE(fmt::format("{}: bit {} of byte {}", path, bit % 8, bit / 8));
      FlipBit(fs, path, bit);
      const auto database = Database::Open("db", Options(fs, Durability::kSync, true));
      bool wrong = false;
      const Status status = database.ok()
                                ? ReadEverything(**database, is_log ? without_last : std::vector{states.back()}, &wrong)
                                : database.status();
      ASSERT_FALSE(wrong);
      if (!status.ok()) {
        ++noticed;
        ASSERT_THAT(status.message(), HasSubstr(path.substr(path.rfind('/') + 1)));
      }
      FlipBit(fs, path, bit);
    }
    if (kind == ".parquet") {
      EXPECT_EQ(noticed, kFlips) << path;
    }
    EXPECT_TRUE(is_log || noticed > 0) << path;
    kinds[kind] += noticed;
  }
  for (const char* kind : {".sqlite", ".log", ".parquet", ".puffin"}) EXPECT_GT(kinds[kind], 0) << kind;
}

}  // namespace
}  // namespace petalite::store
