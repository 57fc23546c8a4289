// What verification says: a flipped bit of any file is named, and the files of running jobs are no orphans.

#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "gate_file_system.h"
#include "number_tables.h"
#include "store/catalog.h"
#include "store/flush.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Call = GateFileSystem::Call;

DatabaseOptions Options(FileSystem& fs, uint64_t retention = 0) {
  return {.create = true,
          .cache_bytes = 1 << 20,
          .write_bytes = 1 << 20,
          .threads = 1,
          .history_retention_micros = static_cast<int64_t>(retention),
          .wal_segment_bytes = 1 << 16,
          .background = false,
          .fs = &fs};
}

std::vector<std::string> FilesOf(FileSystem& fs, const std::string& ending) {
  std::vector<std::string> paths;
  const auto tables = *fs.List("db/data");
  for (const std::string& table : tables) {
    const auto names = *fs.List("db/data/" + table);
    for (const std::string& name : names) {
      if (name.ends_with(ending)) paths.push_back("db/data/" + table + "/" + name);
    }
  }
  return paths;
}

void Flip(FileSystem& fs, const std::string& path, uint64_t at) {
  const auto file = *fs.Open(path, OpenMode::kReadWrite);
  uint8_t byte = 0;
  ASSERT_TRUE(file->Read(at, {&byte, 1}).ok());
  byte = static_cast<uint8_t>(byte ^ (1 << at % 8));
  ASSERT_TRUE(file->Write(at, {&byte, 1}).ok());
}

// A table with rows of several commits, some of them dead, at known commits and settled.
void Fill(Database& database) {
  ASSERT_TRUE(CreateNumberTables(database, {{"t", 1}}).ok());
  NumberRows rows;
  for (int64_t key = 0; key < 100; ++key) rows.emplace_back(key, key * key);
  ASSERT_TRUE(WriteNumbers(database, "t", WriteOp::kInsert, rows).ok());
  ASSERT_TRUE(WriteNumbers(database, "t", WriteOp::kInsert, {{1000, 1}, {1001, 2}}).ok());
  ASSERT_TRUE(database.Flush().ok());
  ASSERT_TRUE(WriteNumbers(database, "t", WriteOp::kDelete, {{3, 0}, {5, 0}}).ok());
  ASSERT_TRUE(WriteNumbers(database, "t", WriteOp::kUpsert, {{4, -4}, {7, -7}}).ok());
  ASSERT_TRUE(database.Flush().ok());
}

constexpr uint64_t kMinute = 60'000'000;

TEST(VerifyTest, AFlippedBitOfAnyByteOfADataFileIsNamed) {
  FaultFileSystem fs;
  const auto database = *Database::Open("db", Options(fs, kMinute));
  ASSERT_NO_FATAL_FAILURE(Fill(*database));
  ExpectSound(*database);
  for (const char* kind : {".parquet", ".puffin"}) {
    const auto paths = FilesOf(fs, kind);
    ASSERT_FALSE(paths.empty()) << kind;
    for (const std::string& path : paths) {
      const uint64_t bytes = *fs.FileSize(path);
      for (uint64_t at = 0; at < bytes; ++at) {
        SCOPED_TRACE(fmt::format("{}: byte {} of {}", path, at, bytes));
        Flip(fs, path, at);
        const auto damage = Verify(*database, [](size_t, size_t) { return true; });
        ASSERT_TRUE(damage.ok()) << damage.status().message();
        ASSERT_FALSE(damage->empty());
        EXPECT_THAT(damage->front().what, HasSubstr(path));
        Flip(fs, path, at);
      }
    }
  }
  ExpectSound(*database);
}

// A blob whose rowset is gone is checked as long as its file is there.
TEST(VerifyTest, ADeleteLogThatIsNotUsedIsCheckedToo) {
  FaultFileSystem fs;
  const auto database = *Database::Open("db", Options(fs, kMinute));
  ASSERT_TRUE(CreateNumberTables(*database, {{"t", 1}}).ok());
  for (const int64_t first : {0, 100}) {
    NumberRows rows;
    for (int64_t key = first; key < first + 100; ++key) rows.emplace_back(key, key);
    ASSERT_TRUE(WriteNumbers(*database, "t", WriteOp::kInsert, rows).ok());
    ASSERT_TRUE(database->Flush().ok());
  }
  ASSERT_TRUE(WriteNumbers(*database, "t", WriteOp::kDelete, {{3, 0}, {103, 0}}).ok());
  ASSERT_TRUE(database->Checkpoint().ok());
  const auto table = database->Current()->FindTable({"main", "t"});
  const auto state = table->tablets()[0]->state();
  ASSERT_EQ(state->rowsets().size(), 2u);
  ASSERT_TRUE(CompactRowsets(*table->tablets()[0], *table, {state->rowsets()[0]}).ok());
  ASSERT_TRUE(database->Checkpoint().ok());
  const auto paths = FilesOf(fs, ".puffin");
  ASSERT_FALSE(paths.empty());
  for (const std::string& path : paths) {
    for (uint64_t at = 0, bytes = *fs.FileSize(path); at < bytes; ++at) {
      Flip(fs, path, at);
      const auto damage = Verify(*database, [](size_t, size_t) { return true; });
      ASSERT_TRUE(damage.ok());
      EXPECT_FALSE(damage->empty()) << path << ": byte " << at;
      Flip(fs, path, at);
    }
  }
}

// Every `stride`-th byte of a catalog, from `first` on: an error that names it, or what was there before.
void FlipCatalog(uint64_t first, uint64_t stride) {
  FaultFileSystem fs;
  {
    const auto database = *Database::Open("db", Options(fs, kMinute));
    ASSERT_NO_FATAL_FAILURE(Fill(*database));
  }
  const std::string path = "db/catalog.sqlite";
  const uint64_t bytes = *fs.FileSize(path);
  uint64_t noticed = 0;
  uint64_t flips = 0;
  for (uint64_t at = first; at < bytes; at += stride, ++flips) {
    SCOPED_TRACE(fmt::format("byte {} of {}", at, bytes));
    Flip(fs, path, at);
    const auto catalog = CatalogFile::Open(fs, path, true, false);
    const auto image = catalog.ok() ? (*catalog)->Load() : Result<CatalogImage>(catalog.status());
    if (image.ok()) {
      const auto& rowsets = image->tablets.begin()->second.rowsets;
      ASSERT_EQ(rowsets.size(), 2u);
      EXPECT_EQ(rowsets[0].info->rows, 102u);
      EXPECT_EQ(rowsets[0].deletes.location.cardinality, 4u);
    } else {
      ++noticed;
      EXPECT_THAT(image.status().message(), HasSubstr(path));
    }
    Flip(fs, path, at);
  }
  EXPECT_GT(noticed * 2, flips);  // the rest lies on pages that nobody reads
}

TEST(VerifyTest, AFlippedBitOfTheCatalogIsNamedOrHarmless) { FlipCatalog(0, 61); }

TEST(VerifyLongTest, AFlippedBitOfAnyByteOfTheCatalogIsNamedOrHarmless) { FlipCatalog(0, 1); }

// A database whose jobs stop where a test wants them to.
class JobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Database::Open("db", Options(gate_));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    database_ = *std::move(opened);
    ASSERT_TRUE(CreateNumberTables(*database_, {{"t", 1}}).ok());
    ASSERT_TRUE(WriteNumbers(*database_, "t", WriteOp::kInsert, Rows(0, 200)).ok());
    ASSERT_TRUE(database_->Flush().ok());
  }

  static NumberRows Rows(int64_t begin, int64_t end) {
    NumberRows rows;
    for (int64_t key = begin; key < end; ++key) rows.emplace_back(key, key);
    return rows;
  }
  const Table& table() const { return *database_->Current()->FindTable({"main", "t"}); }

  // While `job` stands at the gate, nothing is an orphan, and its file outlives a checkpoint.
  template <typename Job>
  void ExpectNoOrphansWhile(Call call, Job&& job) {
    const auto before = FilesOf(fs_, "");
    gate_.Shut(call, ".parquet");
    std::thread thread([&] { EXPECT_TRUE(job().ok()); });
    gate_.AwaitWaiter();
    const auto during = FilesOf(fs_, "");
    EXPECT_EQ(during.size(), before.size() + (call == Call::kCreate ? 0 : 1));
    EXPECT_THAT(*database_->FindOrphans(), IsEmpty());
    EXPECT_TRUE(database_->Checkpoint().ok());
    EXPECT_EQ(FilesOf(fs_, ""), during);
    ExpectSound(*database_);
    gate_.Open();
    thread.join();
    ExpectSound(*database_);
  }

  FaultFileSystem fs_;
  GateFileSystem gate_{fs_};
  std::unique_ptr<Database> database_;
};

TEST_F(JobsTest, AFlushesFileIsNoOrphan) {
  for (const Call call : {Call::kCreate, Call::kAppend, Call::kSyncWriter}) {
    SCOPED_TRACE(static_cast<int>(call));
    const int64_t first = 1000 * (static_cast<int64_t>(call) + 1);
    ASSERT_TRUE(WriteNumbers(*database_, "t", WriteOp::kInsert, Rows(first, first + 10)).ok());
    ExpectNoOrphansWhile(call, [&] { return FlushTablet(*table().tablets()[0], table()); });
  }
}

TEST_F(JobsTest, AMergesFileIsNoOrphan) {
  for (const Call call : {Call::kAppend, Call::kSyncWriter}) {
    ASSERT_TRUE(database_->Checkpoint().ok());  // which removes the inputs of the merge before
    const auto rowsets = table().tablets()[0]->state()->rowsets();
    ExpectNoOrphansWhile(call, [&] { return CompactRowsets(*table().tablets()[0], table(), rowsets); });
  }
}

TEST_F(JobsTest, ALoadsFilesAreNoOrphansUntilItIsGivenUp) {
  const auto before = FilesOf(fs_, "");
  {
    const auto transaction = database_->Begin();
    const auto appender = *transaction->Append({"main", "t"});
    for (int64_t first = 1000; first < 101'000; first += 1000) {
      const NumberBatch batch(WriteOp::kInsert, Rows(first, first + 1000));
      ASSERT_TRUE(appender->Append((*batch).columns, (*batch).rows).ok());
    }
    EXPECT_GT(FilesOf(fs_, "").size(), before.size() + 1);  // finished ones and one that is being written
    EXPECT_THAT(*database_->FindOrphans(), IsEmpty());
    ASSERT_TRUE(appender->Finish().ok());
    EXPECT_THAT(*database_->FindOrphans(), IsEmpty());
    EXPECT_TRUE(database_->Checkpoint().ok());
  }
  EXPECT_EQ(FilesOf(fs_, ""), before);
}

TEST_F(JobsTest, FilesOfAnOpenTransactionAreNoOrphans) {
  const auto before = FilesOf(fs_, "");
  const auto transaction = database_->Begin();
  ASSERT_TRUE(WriteNumbers(*transaction, "t", WriteOp::kInsert, Rows(1000, 20'000)).ok());
  EXPECT_GT(FilesOf(fs_, "").size(), before.size());
  ExpectSound(*database_);
  transaction->Rollback();
  EXPECT_EQ(FilesOf(fs_, ""), before);
}

TEST_F(JobsTest, WhatAReaderStillHasIsNoOrphan) {
  const auto view = ViewOf(*database_, "t");
  ASSERT_TRUE(database_->Compact(std::nullopt, true).ok());
  ASSERT_TRUE(database_->Checkpoint().ok());
  EXPECT_THAT(FilesOf(fs_, ".parquet"), SizeIs(2));
  ExpectSound(*database_);
  const auto dropped = ViewOf(*database_, "t");
  const auto transaction = database_->Begin();
  ASSERT_TRUE(transaction->DropTable({"main", "t"}).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(database_->Checkpoint().ok());
  EXPECT_TRUE(database_->ReadableTables().empty());
  ExpectSound(*database_);
  EXPECT_EQ(ReadNumbers(view)->size(), 200u);
  EXPECT_EQ(ReadNumbers(dropped)->size(), 200u);
}

// A checkpoint that fails leaves nothing behind, wherever it fails, and the next one does it all.
TEST(CheckpointTest, OneThatFailsLeavesNoFile) {
  bool reached = true;
  const Silence silence;
  for (uint64_t n = 1; reached; ++n) {
    const Fault fault = n % 2 == 0 ? Fault::kIoError : Fault::kNoSpace;
    SCOPED_TRACE(fmt::format("fault {} at {}", static_cast<int>(fault), n));
    FaultFileSystem fs(n);
    auto database = *Database::Open("db", Options(fs));
    ASSERT_TRUE(CreateNumberTables(*database, {{"t", 1}, {"u", 2}}).ok());
    for (const char* table : {"t", "u"}) {
      ASSERT_TRUE(WriteNumbers(*database, table, WriteOp::kInsert, {{1, 1}, {2, 2}, {3, 3}}).ok());
    }
    ASSERT_TRUE(database->Flush().ok());
    ASSERT_TRUE(database->Checkpoint().ok());
    for (const char* table : {"t", "u"}) {
      ASSERT_TRUE(WriteNumbers(*database, table, WriteOp::kDelete, {{2, 0}}).ok());
    }
    ASSERT_THAT(FilesOf(fs, ".puffin"), IsEmpty());
    const uint64_t before = fs.mutations();
    fs.FailAt(n, fault);
    const Status failed = database->Checkpoint();
    reached = fs.mutations() - before >= n;
    fs.Heal();
    if (!failed.ok() && failed.message().find("shows when the database is opened again") == std::string::npos &&
        failed.message().find("db/wal") == std::string::npos) {
      EXPECT_THAT(FilesOf(fs, ".puffin"), IsEmpty()) << failed.message();
      ExpectSound(*database);
      EXPECT_TRUE(database->Checkpoint().ok());
      EXPECT_FALSE(FilesOf(fs, ".puffin").empty());
    }
    database = nullptr;
    database = *Database::Open("db", Options(fs));
    ExpectNumbers(*database, {{"t", {{1, 1}, {3, 3}}}, {"u", {{1, 1}, {3, 3}}}});
    ExpectSound(*database);
  }
}

}  // namespace
}  // namespace petalite::store
