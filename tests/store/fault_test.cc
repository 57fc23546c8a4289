// What the store promises when the disk fails: an operation that fails changes nothing and says why, and a crash at any
// point leaves the state before it or, only if it may have been durable, the state after it.

#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "store_testing.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCatalog = "db/catalog.sqlite";
constexpr const char* kOpenOutcome = "read-only until it is opened again";

DatabaseOptions Options(FileSystem& fs, bool create = false, bool read_only = false) {
  return {.read_only = read_only,
          .create = create,
          .cache_bytes = 1 << 20,
          .write_bytes = 1 << 20,
          .threads = 1,
          .wal_segment_bytes = 1 << 16,
          .background = false,
          .fs = &fs};
}

TableDefinition Definition(const std::string& name, bool keyed) {
  TableDefinition definition{.name = {"main", name}};
  definition.schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt64)},
                              {.name = "v", .type = Type::Of(TypeId::kString)}};
  if (keyed) definition.key = {"k"};
  return definition;
}

Status AppendKeys(Transaction& transaction, const std::string& table, std::vector<int64_t> keys) {
  ASSIGN_OR_RETURN(const auto appender, transaction.Append({"main", table}));
  const std::vector<StringRef> values(keys.size(), StringRef("value"));
  const ColumnView views[] = {{.values = keys.data(), .size = keys.size()},
                              {.values = values.data(), .size = keys.size()}};
  RETURN_IF_ERROR(appender->Append(views, keys.size()));
  return appender->Finish();
}

// Keys by table.
using Contents = std::map<std::string, std::vector<int64_t>>;

Result<Contents> Read(const Database& database) {
  Contents contents;
  const auto snapshot = database.CurrentSnapshot();
  for (const auto& [_, table] : snapshot->version().TablesById()) {
    ASSIGN_OR_RETURN(auto keys, ScanKeys(snapshot->View(table)));
    // The rows of a keyed table stand in the order of its parts.
    if (table->is_keyed()) std::sort(keys.begin(), keys.end());
    contents[table->name().table] = std::move(keys);
  }
  return contents;
}

void ExpectContents(const Database& database, const Contents& expected) {
  const auto contents = Read(database);
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  EXPECT_EQ(*contents, expected);
}

// Something done to a prepared database, and what is in it before and after.
struct Operation {
  const char* name;
  Status (*run)(Database&);
  Contents after;
};

const Contents kBefore = {{"old", {3, 1, 2}}, {"keyed", {10, 20, 30}}};

Status Import(Database& database) {
  const auto transaction = database.Begin();
  RETURN_IF_ERROR(transaction->CreateTable(Definition("new", true)).status());
  RETURN_IF_ERROR(AppendKeys(*transaction, "new", {7, 5, 6}));
  RETURN_IF_ERROR(AppendKeys(*transaction, "old", {4}));
  return transaction->Commit();
}

Status DropAndTruncate(Database& database) {
  const auto transaction = database.Begin();
  RETURN_IF_ERROR(transaction->DropTable({"main", "old"}));
  RETURN_IF_ERROR(transaction->Truncate({"main", "keyed"}));
  return transaction->Commit();
}

const Operation kOperations[] = {
    {"import", Import, {{"old", {3, 1, 2, 4}}, {"keyed", {10, 20, 30}}, {"new", {5, 6, 7}}}},
    {"drop and truncate", DropAndTruncate, {{"keyed", {}}}},
};

void Prepare(FaultFileSystem& fs, std::unique_ptr<Database>* database) {
  auto opened = Database::Open("db", Options(fs, true));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const auto transaction = (*opened)->Begin();
  ASSERT_TRUE(transaction->CreateTable(Definition("old", false)).ok());
  ASSERT_TRUE(transaction->CreateTable(Definition("keyed", true)).ok());
  ASSERT_TRUE(AppendKeys(*transaction, "old", {3, 1, 2}).ok());
  ASSERT_TRUE(AppendKeys(*transaction, "keyed", {10, 30, 20}).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  *database = *std::move(opened);
}

// The power fails: nothing that the database still does reaches the disk.
void Crash(FaultFileSystem& fs, std::unique_ptr<Database> database, uint64_t seed) {
  fs.FailFrom(1, Fault::kIoError);
  database.reset();
  fs.Crash(seed);
}

// Opens after a crash, for reading and then for writing.
void ExpectAfterCrash(FaultFileSystem& fs, const Operation& operation, const Status& outcome) {
  for (const bool read_only : {true, false}) {
    const auto database = Database::Open("db", Options(fs, false, read_only));
    ASSERT_TRUE(database.ok()) << database.status().message();
    if (!read_only) ExpectSound(**database);
    const auto contents = Read(**database);
    ASSERT_TRUE(contents.ok()) << contents.status().message();
    const bool may_be_before = !outcome.ok();
    const bool may_be_after = outcome.ok() || outcome.message().find(kOpenOutcome) != std::string::npos;
    EXPECT_TRUE((may_be_before && *contents == kBefore) || (may_be_after && *contents == operation.after))
        << (*contents == kBefore ? "the state before" : "another state") << " after: " << outcome.message();
  }
}

TEST(FaultTest, AFullDiskFailsTheOperationAndNothingElse) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (const Operation& operation : kOperations) {
    for (const Fault fault : {Fault::kNoSpace, Fault::kShortWrite}) {
      for (uint64_t n = 1;; ++n) {
        SCOPED_TRACE(fmt::format("{}, fault {} at {}", operation.name, static_cast<int>(fault), n));
        FaultFileSystem fs(seed + n);
        std::unique_ptr<Database> database;
        ASSERT_NO_FATAL_FAILURE(Prepare(fs, &database));
        const uint64_t before = fs.mutations();
        fs.FailAt(n, fault);
        const Status outcome = operation.run(*database);
        const bool reached = fs.mutations() - before >= n;
        fs.Heal();
        EXPECT_TRUE(reached || outcome.ok()) << outcome.message();
        if (!outcome.ok()) {
          EXPECT_THAT(outcome.message(), HasSubstr("No space left on device"));
          EXPECT_THAT(outcome.message(), HasSubstr("db/"));
        }
        ExpectContents(*database, outcome.ok() ? operation.after : kBefore);
        Crash(fs, std::move(database), seed + n);
        ExpectAfterCrash(fs, operation, outcome);
        if (!reached) break;
      }
    }
  }
}

TEST(FaultTest, AfterAFailureTheSameOperationSucceedsAndSurvivesACrash) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (const Operation& operation : kOperations) {
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE(fmt::format("{}, fault at {}", operation.name, n));
      FaultFileSystem fs(seed + n);
      std::unique_ptr<Database> database;
      ASSERT_NO_FATAL_FAILURE(Prepare(fs, &database));
      const uint64_t before = fs.mutations();
      fs.FailAt(n, Fault::kIoError);
      Status outcome = operation.run(*database);
      const bool reached = fs.mutations() - before >= n;
      fs.Heal();
      if (!outcome.ok()) {
        // What the log could not take ends all writing until the database is opened again.
        const bool was_open = !database->health().ok();
        if (was_open) {
          EXPECT_THAT(operation.run(*database).message(), HasSubstr(kOpenOutcome));
          database = nullptr;
          auto opened = Database::Open("db", Options(fs));
          ASSERT_TRUE(opened.ok()) << opened.status().message();
          database = *std::move(opened);
        }
        const auto contents = Read(*database);
        ASSERT_TRUE(contents.ok()) << contents.status().message();
        if (!was_open || *contents != operation.after) outcome = operation.run(*database);
        if (was_open && *contents == operation.after) outcome = Status::Ok();
      }
      EXPECT_TRUE(outcome.ok()) << outcome.message();
      Crash(fs, std::move(database), seed + n);
      ExpectAfterCrash(fs, operation, outcome);
      if (!reached) break;
    }
  }
}

TEST(FaultTest, ADiskThatFailsForAWhileLosesNoFileThatTheCatalogNames) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (const Operation& operation : kOperations) {
    bool reached = true;
    for (uint64_t n = 1; reached; ++n) {
      for (const uint64_t count : {1, 2, 3, 4, 6, 9}) {
        SCOPED_TRACE(fmt::format("{}, {} faults at {}", operation.name, count, n));
        FaultFileSystem fs(seed + n * 10 + count);
        std::unique_ptr<Database> database;
        ASSERT_NO_FATAL_FAILURE(Prepare(fs, &database));
        const uint64_t before = fs.mutations();
        fs.FailFrom(n, Fault::kIoError, count);
        const Status outcome = operation.run(*database);
        reached = fs.mutations() - before >= n;
        ExpectContents(*database, outcome.ok() ? operation.after : kBefore);
        Crash(fs, std::move(database), seed + n);
        ExpectAfterCrash(fs, operation, outcome);
      }
    }
  }
}

TEST(FaultTest, ACrashAnywhereLeavesOneStateOrTheOther) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (const Operation& operation : kOperations) {
    bool reached = true;
    for (uint64_t n = 1; reached; ++n) {
      for (uint64_t variant = 0; variant < 4; ++variant) {
        SCOPED_TRACE(fmt::format("{}, crash at {}, variant {}", operation.name, n, variant));
        FaultFileSystem fs(seed * 4 + variant);
        std::unique_ptr<Database> database;
        ASSERT_NO_FATAL_FAILURE(Prepare(fs, &database));
        const uint64_t before = fs.mutations();
        fs.FailFrom(n, Fault::kIoError);
        const Status outcome = operation.run(*database);
        reached = fs.mutations() - before >= n;
        EXPECT_TRUE(outcome.ok() || reached);
        ExpectContents(*database, outcome.ok() ? operation.after : kBefore);
        if (!outcome.ok()) {
          EXPECT_FALSE(operation.run(*database).ok());
        }
        Crash(fs, std::move(database), seed * 4 + variant);
        ExpectAfterCrash(fs, operation, outcome);
      }
    }
  }
}

TEST(FaultTest, ACrashWhileADatabaseIsMadeLeavesNoneOrOne) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  bool made = false;
  for (uint64_t n = 1; !made; ++n) {
    for (uint64_t variant = 0; variant < 4; ++variant) {
      SCOPED_TRACE(fmt::format("crash at {}, variant {}", n, variant));
      FaultFileSystem fs(seed * 4 + variant);
      fs.FailFrom(n, Fault::kNoSpace);
      auto database = Database::Open("deep/folder/db", Options(fs, true));
      made = database.ok();
      if (!made) {
        EXPECT_THAT(database.status().message(), HasSubstr("No space left on device"));
      }
      Crash(fs, made ? *std::move(database) : nullptr, seed * 4 + variant);
      if (made) {
        EXPECT_TRUE(Database::Open("deep/folder/db", Options(fs)).ok());
      }
      const auto again = Database::Open("deep/folder/db", Options(fs, true));
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_TRUE(Import(**again).code() == StatusCode::kNotFound);  // there is no table 'old'
      ExpectSound(**again);
    }
  }
}

TEST(FaultTest, ACrashWhileADatabaseRecoversChangesNothing) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (uint64_t n = 1; n < 80; ++n) {
    SCOPED_TRACE(n);
    FaultFileSystem fs(seed + n);
    std::unique_ptr<Database> database;
    ASSERT_NO_FATAL_FAILURE(Prepare(fs, &database));
    fs.FailFrom(n, Fault::kIoError);
    const Status outcome = Import(*database);
    Crash(fs, std::move(database), seed + n);
    for (uint64_t m = 1;; ++m) {
      fs.FailFrom(m, Fault::kIoError);
      auto opened = Database::Open("db", Options(fs));
      const bool recovered = opened.ok();
      Crash(fs, recovered ? *std::move(opened) : nullptr, seed + n * 100 + m);
      if (recovered) break;
      ASSERT_LT(m, 100u);
    }
    ExpectAfterCrash(fs, kOperations[0], outcome);
  }
}

TEST(FaultTest, AFlippedBitInTheCatalogIsNoticedOrHarmless) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  FaultFileSystem fs;
  {
    std::unique_ptr<Database> database;
    ASSERT_NO_FATAL_FAILURE(Prepare(fs, &database));
  }
  auto file = *fs.Open(kCatalog, OpenMode::kReadWrite);
  const uint64_t size = *file->Size();
  size_t noticed = 0;
  for (uint64_t at = 0; at < size; at += at < 200 ? 1 : 1 + random() % 40) {
    const uint64_t bit = random() % 8;
    SCOPED_TRACE(fmt::format("bit {} of byte {}", bit, at));
    uint8_t byte;
    ASSERT_TRUE(file->Read(at, {&byte, 1}).ok());
    const auto flipped = static_cast<uint8_t>(byte ^ (1 << bit));
    ASSERT_TRUE(file->Write(at, {&flipped, 1}).ok());
    const auto database = Database::Open("db", Options(fs, false, true));
    if (database.ok()) {
      ExpectSound(**database);
      ExpectContents(**database, kBefore);
    } else {
      ++noticed;
      EXPECT_THAT(database.status().message(), HasSubstr("catalog.sqlite"));
    }
    EXPECT_EQ(Database::Open("db", Options(fs)).ok(), database.ok());
    ASSERT_TRUE(file->Write(at, {&byte, 1}).ok());
  }
  EXPECT_GT(noticed, 100u);
}

TEST(FaultTest, AReadErrorSurfacesAndPasses) {
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    FaultFileSystem fs;
    std::unique_ptr<Database> database;
    ASSERT_NO_FATAL_FAILURE(Prepare(fs, &database));
    database.reset();
    const uint64_t before = fs.reads();
    fs.FailReadAt(n);
    auto opened = Database::Open("db", Options(fs));
    const Status status = opened.ok() ? Read(**opened).status() : opened.status();
    const bool reached = fs.reads() - before >= n;
    EXPECT_EQ(status.ok(), !reached) << status.message();
    if (!status.ok()) {
      EXPECT_THAT(status.message(), HasSubstr("Input/output error"));
      EXPECT_THAT(status.message(), HasSubstr("db/"));
    }
    fs.Heal();
    if (opened.ok()) {
      ExpectContents(**opened, kBefore);
      ExpectSound(**opened);
    }
    if (!reached) break;
  }
}

}  // namespace
}  // namespace petalite::store
