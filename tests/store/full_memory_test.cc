// Writers and the memory that they fill: who waits, for whom, and what comes of it when the disk is full or fails; and
// how many syncs many writers need.

#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "gate_file_system.h"
#include "number_tables.h"
#include "store/commit_log.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Call = GateFileSystem::Call;

constexpr size_t kWriteBytes = 2 << 20;
constexpr int64_t kBatch = 1000;

DatabaseOptions Options(FileSystem& fs, bool background) {
  return {.create = true,
          .write_bytes = kWriteBytes,
          .threads = 1,
          .history_retention_micros = 0,
          .wal_segment_bytes = 1 << 18,
          .background = background,
          .fs = &fs};
}

Status WriteBatchFrom(Database& database, const std::string& table, int64_t first) {
  NumberRows rows;
  for (int64_t key = first; key < first + kBatch; ++key) rows.emplace_back(key, key);
  return WriteNumbers(database, table, WriteOp::kUpsert, rows).status();
}

// Batches until so much memory is used.
int64_t FillUpTo(Database& database, const std::string& table, size_t bytes) {
  int64_t next = 0;
  while (database.context().memory.used(MemoryUse::kMemRowsets) < bytes) {
    const Status written = WriteBatchFrom(database, table, next);
    EXPECT_TRUE(written.ok()) << written.message();
    if (!written.ok()) break;
    next += kBatch;
  }
  return next;
}

Status NoSpace() { return IoError("cannot write: No space left on device"); }

// The rows that nobody can write to any more are flushed like others, though only a reader wants them.
TEST(FullMemoryTest, ADroppedTableThatAReaderHoldsDoesNotHoldWritersUp) {
  for (const bool background : {false, true}) {
    SCOPED_TRACE(background);
    FaultFileSystem fs;
    const auto database = *Database::Open("db", Options(fs, background));
    ASSERT_TRUE(CreateNumberTables(*database, {{"dropped", 1}, {"t", 1}}).ok());
    const int64_t rows = FillUpTo(*database, "dropped", kWriteBytes / 3);
    const size_t held = database->context().memory.used(MemoryUse::kMemRowsets);
    const auto view = ViewOf(*database, "dropped");
    const auto transaction = database->Begin();
    ASSERT_TRUE(transaction->DropTable({"main", "dropped"}).ok());
    ASSERT_TRUE(transaction->Commit().ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(database->Checkpoint().ok());
    auto writer = std::async(std::launch::async, [&] {
      for (int64_t i = 0; i < 200; ++i) RETURN_IF_ERROR(WriteBatchFrom(*database, "t", i * kBatch));
      return Status::Ok();
    });
    ASSERT_EQ(writer.wait_for(std::chrono::minutes(2)), std::future_status::ready) << "writers wait for ever";
    const Status written = writer.get();
    EXPECT_TRUE(written.ok()) << written.message();
    ASSERT_TRUE(database->Flush().ok());
    EXPECT_LT(database->context().memory.used(MemoryUse::kMemRowsets), held);
    EXPECT_EQ(ReadNumbers(view)->size(), static_cast<size_t>(rows));
    ExpectSound(*database);
  }
}

TEST(FullMemoryTest, AFullDiskStopsWritersAndNothingElseUntilThereIsRoom) {
  const Silence silence;
  FaultFileSystem fs;
  GateFileSystem gate(fs);
  int64_t acknowledged = 0;
  {
    const auto database = *Database::Open("db", Options(gate, true));
    ASSERT_TRUE(CreateNumberTables(*database, {{"t", 1}}).ok());
    gate.Fail(Call::kCreate, ".parquet", NoSpace());
    Status status;
    while (status.ok() && acknowledged < 1000 * kBatch) {
      status = WriteBatchFrom(*database, "t", acknowledged);
      if (status.ok()) acknowledged += kBatch;
    }
    EXPECT_THAT(status.message(), HasSubstr("memory is full, and flushing it fails"));
    EXPECT_THAT(status.message(), HasSubstr("No space left on device"));
    EXPECT_GE(database->context().memory.used(MemoryUse::kMemRowsets), kWriteBytes);
    EXPECT_TRUE(database->health().ok());
    EXPECT_THAT(database->Flush().message(), HasSubstr("No space left on device"));
    EXPECT_EQ(ReadNumbers(ViewOf(*database, "t"))->size(), static_cast<size_t>(acknowledged));
    ExpectSound(*database);
    // It is tried again by itself.
    gate.Heal();
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    do {
      status = WriteBatchFrom(*database, "t", acknowledged);
    } while (!status.ok() && std::chrono::steady_clock::now() < end);
    ASSERT_TRUE(status.ok()) << status.message();
    acknowledged += kBatch;
    const Status idle = database->WaitUntilIdle();
    EXPECT_TRUE(idle.ok()) << idle.message();
    EXPECT_EQ(ReadNumbers(ViewOf(*database, "t"))->size(), static_cast<size_t>(acknowledged));
    ExpectSound(*database);
  }
  const auto database = *Database::Open("db", Options(fs, false));
  EXPECT_EQ(ReadNumbers(ViewOf(*database, "t"))->size(), static_cast<size_t>(acknowledged));
}

// At each of the places where a flush needs room.
TEST(FullMemoryTest, AFlushThatFindsNoRoomChangesNothingAndIsDoneLater) {
  const Silence silence;
  for (const Call call : {Call::kCreate, Call::kAppend, Call::kSyncWriter}) {
    SCOPED_TRACE(static_cast<int>(call));
    FaultFileSystem fs;
    GateFileSystem gate(fs);
    const auto database = *Database::Open("db", Options(gate, false));
    ASSERT_TRUE(CreateNumberTables(*database, {{"t", 1}}).ok());
    ASSERT_TRUE(WriteBatchFrom(*database, "t", 0).ok());
    gate.Fail(call, ".parquet", NoSpace());
    EXPECT_THAT(database->Flush().message(), HasSubstr("No space left on device"));
    const auto names = *fs.List("db/data");
    for (const std::string& name : names) EXPECT_THAT(*fs.List("db/data/" + name), IsEmpty());
    ASSERT_TRUE(WriteBatchFrom(*database, "t", kBatch / 2).ok());
    ExpectSound(*database);
    gate.Heal();
    const Status flushed = database->Flush();
    EXPECT_TRUE(flushed.ok()) << flushed.message();
    EXPECT_EQ(ReadNumbers(ViewOf(*database, "t"))->size(), static_cast<size_t>(kBatch / 2 * 3));
    ExpectSound(*database);
  }
}

// Without threads the writer flushes itself, and is told what stops it.
TEST(FullMemoryTest, AWriterThatFlushesItselfSaysWhyItCannot) {
  const Silence silence;
  FaultFileSystem fs;
  GateFileSystem gate(fs);
  const auto database = *Database::Open("db", Options(gate, false));
  ASSERT_TRUE(CreateNumberTables(*database, {{"t", 1}}).ok());
  const int64_t next = FillUpTo(*database, "t", kWriteBytes);
  gate.Fail(Call::kCreate, ".parquet", NoSpace());
  EXPECT_THAT(WriteBatchFrom(*database, "t", next).message(), HasSubstr("No space left on device"));
  EXPECT_EQ(ReadNumbers(ViewOf(*database, "t"))->size(), static_cast<size_t>(next));
  gate.Heal();
  EXPECT_TRUE(WriteBatchFrom(*database, "t", next).ok());
  EXPECT_LT(database->context().memory.used(MemoryUse::kMemRowsets), kWriteBytes);
}

TEST(FullMemoryTest, ASyncOfTheLogThatFailsEndsWritingUntilTheDatabaseIsOpenedAgain) {
  const Silence silence;
  FaultFileSystem fs;
  GateFileSystem gate(fs);
  {
    const auto database = *Database::Open("db", Options(gate, false));
    ASSERT_TRUE(CreateNumberTables(*database, {{"t", 1}}).ok());
    ASSERT_TRUE(WriteNumbers(*database, "t", WriteOp::kInsert, {{1, 1}}).ok());
    const auto transaction = database->Begin();
    ASSERT_TRUE(WriteNumbers(*transaction, "t", WriteOp::kInsert, {{2, 2}}).ok());
    gate.Fail(Call::kSyncFile, "/wal/", IoError("cannot sync: Input/output error"));
    EXPECT_FALSE(WriteNumbers(*database, "t", WriteOp::kInsert, {{3, 3}}).ok());
    gate.Heal();
    // It is never tried as if nothing had happened.
    EXPECT_FALSE(database->health().ok());
    for (const Status& status : {WriteNumbers(*database, "t", WriteOp::kInsert, {{4, 4}}).status(),
                                 transaction->Commit(), database->Flush()}) {
      EXPECT_THAT(status.message(), HasSubstr("read-only until it is opened again"));
      EXPECT_THAT(status.message(), HasSubstr("Input/output error"));
    }
    ExpectNumbers(*database, {{"t", {{1, 1}}}});
  }
  const auto database = *Database::Open("db", Options(fs, false));
  EXPECT_TRUE(database->health().ok());
  const auto rows = ReadNumbers(ViewOf(*database, "t"));
  ASSERT_TRUE(rows.ok());
  EXPECT_TRUE(rows->contains(1) && !rows->contains(2) && !rows->contains(4));  // of 3 nobody knew
  EXPECT_TRUE(WriteNumbers(*database, "t", WriteOp::kInsert, {{5, 5}}).ok());
  ExpectSound(*database);
}

// Those that wait while one sync runs share the next. A sync takes long here, so that how many wait is no matter of
// luck.
TEST(GroupCommitTest, ManyWritersShareTheirSyncs) {
  constexpr int kThreads = 16;
  constexpr int64_t kCommits = 10'000 / kThreads;
  FaultFileSystem fs;
  GateFileSystem gate(fs);
  auto options = Options(gate, false);
  options.write_bytes = 256 << 20;
  const auto database = *Database::Open("db", options);
  ASSERT_TRUE(CreateNumberTables(*database, {{"t", 1}}).ok());
  gate.Slow(Call::kSyncFile, "/wal/", std::chrono::milliseconds(1));
  std::vector<std::thread> threads;
  std::atomic<uint64_t> failures{0};
  for (int64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int64_t i = 0; i < kCommits; ++i) {
        const auto written = WriteNumbers(*database, "t", WriteOp::kInsert, {{i * kThreads + thread, i}});
        if (!written.ok() || written->commit == 0) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0u);
  const uint64_t syncs = gate.slow_calls();
  EXPECT_GT(syncs, 0u);
  EXPECT_LE(syncs * 5, uint64_t{kThreads} * kCommits);
  ASSERT_TRUE(database->Flush().ok());
  EXPECT_THAT(ViewOf(*database, "t")->rowsets(), SizeIs(1));
  EXPECT_THAT(*fs.List("db/data/1"), SizeIs(1));
  EXPECT_EQ(ReadNumbers(ViewOf(*database, "t"))->size(), size_t{kThreads} * kCommits);
}

}  // namespace
}  // namespace petalite::store
