// What the write-ahead log promises when the disk fails: what was synced is there, what is there is a prefix of what
// was appended, and a failure is final until the log is opened again.

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/wal_testing.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;

// What a log holds, as its user knows it.
struct Model {
  std::vector<Record> records;  // all that were appended and may still be there
  Lsn from = 0;                 // durable elsewhere
  Lsn durable = 0;              // promised

  // Takes over what an opening has shown.
  void ExpectReplayed(const std::vector<Record>& replayed) {
    std::erase_if(records, [&](const Record& record) { return record.lsn < from; });
    ASSERT_LE(replayed.size(), records.size());
    const std::vector<Record> prefix(records.begin(), records.begin() + static_cast<ptrdiff_t>(replayed.size()));
    EXPECT_EQ(replayed, prefix);
    if (replayed.size() < records.size()) {
      EXPECT_GT(records[replayed.size()].end, durable) << "a synced record is lost";
    }
    records = replayed;
    if (!records.empty()) durable = std::max(durable, records.back().end);
  }
};

class RandomUse {
 public:
  RandomUse(FaultFileSystem& fs, uint64_t seed) : fs_(fs), random_(seed) {}

  // Opens, uses and leaves the log once. A power cut, a process that dies, or an orderly end.
  void Round() {
    const bool faulty = random_() % 2 == 0;
    const auto durability = static_cast<Durability>(1 + random_() % 3);
    if (faulty) fs_.FailFrom(1 + random_() % 60, Fault(random_() % 3), random_() % 2 == 0 ? 1 : INT64_MAX);
    auto opened = OpenWal(fs_, model_.from, SmallSegments(durability));
    if (!opened.ok()) {
      ASSERT_TRUE(faulty) << opened.status().message();
      ASSERT_EQ(opened.status().code(), StatusCode::kIoError) << opened.status().message();
      if (random_() % 2 == 0) fs_.Crash(random_());
      fs_.Heal();
      opened = OpenWal(fs_, model_.from, SmallSegments(durability));
      ASSERT_TRUE(opened.ok()) << opened.status().message();
    }
    ASSERT_NO_FATAL_FAILURE(model_.ExpectReplayed(opened->replayed));
    for (uint64_t i = random_() % 40; i > 0; --i) ASSERT_NO_FATAL_FAILURE(Step(*opened->wal, durability));
    const uint64_t end = random_() % 4;
    if (end == 0) {
      opened->wal.reset();
    } else {
      CrashProcess(std::move(opened->wal));
      if (end == 1) fs_.Crash(random_());
    }
    fs_.Heal();
    if (end == 2) fs_.Crash(random_());
  }

 private:
  void CrashProcess(std::unique_ptr<Wal> wal) {
    fs_.FailFrom(1, Fault::kIoError);
    wal.reset();
  }

  void Step(Wal& wal, Durability durability) {
    const uint64_t kind = random_() % 20;
    if (kind < 12) {
      const std::string payload(random_() % (kind == 0 ? 9000 : 400), static_cast<char>(random_()));
      if (const auto record = AppendText(wal, static_cast<uint8_t>(1 + random_() % 255), payload); record.ok()) {
        model_.records.push_back(*record);
      }
    } else if (kind < 17) {
      const Lsn end = model_.records.empty() ? model_.from : model_.records[random_() % model_.records.size()].end;
      const bool sync = kind < 15;
      const Status status = sync ? wal.Sync(end) : wal.WaitDurable(end);
      if (status.ok() && (sync || durability == Durability::kSync)) model_.durable = std::max(model_.durable, end);
    } else if (kind < 18) {
      model_.durable = std::max(model_.durable, wal.durable());
      if (const auto& records = model_.records; !records.empty()) {
        const Record& record = records[random_() % records.size()];
        if (record.lsn >= model_.from && record.end <= model_.durable) {
          model_.from = random_() % 2 == 0 ? record.lsn : record.end;
        }
      }
      (void)wal.Truncate(model_.from);
    } else {
      (void)wal.WaitForRoom();
    }
  }

  FaultFileSystem& fs_;
  std::mt19937_64 random_;
  Model model_;
};

TEST(WalFaultTest, WhatWasSyncedIsThereAndWhatIsThereIsAPrefix) {
  const QuietLog quiet;
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (uint64_t run = 0; run < 60; ++run) {
    FaultFileSystem fs(seed + run);
    MakeWal(fs);
    RandomUse use(fs, seed + run);
    for (int round = 0; round < 40; ++round) {
      SCOPED_TRACE(fmt::format("run {}, round {}", run, round));
      ASSERT_NO_FATAL_FAILURE(use.Round());
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Appends over several segments, syncs now and then, truncates, and closes. Stops at the first error.
Status Script(FileSystem& fs, Model* model) {
  ASSIGN_OR_RETURN(auto opened, OpenWal(fs, model->from));
  Wal& wal = *opened.wal;
  for (int i = 0; i < 24; ++i) {
    ASSIGN_OR_RETURN(const Record record, AppendText(wal, 1, std::string(static_cast<size_t>(i * 37), 'r')));
    model->records.push_back(record);
    if (i % 3 != 0) continue;
    RETURN_IF_ERROR(wal.WaitDurable(record.end));
    model->durable = record.end;
    if (i == 15) {
      model->from = model->records[12].lsn;
      RETURN_IF_ERROR(wal.Truncate(model->from));
    }
  }
  return Status::Ok();
}

TEST(WalFaultTest, ACrashAtAnyCallKeepsAPrefix) {
  const QuietLog quiet;
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  bool reached = true;
  for (uint64_t n = 1; reached; ++n) {
    for (uint64_t variant = 0; variant < 6; ++variant) {
      SCOPED_TRACE(fmt::format("crash at {}, variant {}", n, variant));
      FaultFileSystem fs(seed + variant);
      ASSERT_TRUE(fs.CreateDirectories("db").ok() && fs.SyncDirectory(".").ok());
      const uint64_t before = fs.mutations();
      Model model;
      fs.FailFrom(n, variant % 2 == 0 ? Fault::kIoError : Fault::kShortWrite);
      (void)Script(fs, &model);
      reached = fs.mutations() - before >= n;
      fs.Crash(seed * 6 + variant);
      const auto read = OpenWal(fs, model.from, SmallSegments(), true);
      ASSERT_TRUE(read.ok()) << read.status().message();
      auto opened = OpenWal(fs, model.from);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      EXPECT_EQ(opened->replayed, read->replayed);
      ASSERT_NO_FATAL_FAILURE(model.ExpectReplayed(opened->replayed));
      // What was replayed is durable, and the log goes on.
      ASSERT_TRUE(AppendText(*opened->wal, 2, "not synced").ok());
      CrashWal(fs, std::move(opened->wal), seed + n);
      const auto again = OpenWal(fs, model.from);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(again->replayed, model.records);
    }
  }
}

TEST(WalFaultTest, ACrashWhileTheTailIsCutLosesNothing) {
  const QuietLog quiet;
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (uint64_t n = 1; n < 60; ++n) {
    SCOPED_TRACE(n);
    FaultFileSystem fs(seed + n);
    ASSERT_TRUE(fs.CreateDirectories("db").ok() && fs.SyncDirectory(".").ok());
    Model model;
    fs.FailFrom(n, Fault::kIoError);
    (void)Script(fs, &model);
    fs.Crash(seed + n);
    for (uint64_t m = 1;; ++m) {
      ASSERT_LT(m, 60u);
      fs.FailFrom(m, Fault::kShortWrite);
      auto opened = OpenWal(fs, model.from);
      if (opened.ok()) {
        ASSERT_NO_FATAL_FAILURE(model.ExpectReplayed(opened->replayed));
      }
      const bool done = opened.ok();
      // The process ends, and sometimes the machine too.
      if (done) opened->wal.reset();
      if (m % 2 == 0) fs.Crash(seed + m);
      fs.Heal();
      if (done) break;
    }
    const auto again = OpenWal(fs, model.from);
    ASSERT_TRUE(again.ok()) << again.status().message();
    ASSERT_NO_FATAL_FAILURE(model.ExpectReplayed(again->replayed));
  }
}

TEST(WalFaultTest, AFailureIsFinalUntilTheLogIsOpenedAgain) {
  for (const Fault fault : {Fault::kIoError, Fault::kNoSpace, Fault::kShortWrite}) {
    bool reached = true;
    for (uint64_t n = 1; reached; ++n) {
      SCOPED_TRACE(fmt::format("fault {} at {}", static_cast<int>(fault), n));
      FaultFileSystem fs;
      auto wal = MakeWal(fs);
      const Record first = *AppendText(*wal, 1, "first");
      ASSERT_TRUE(wal->WaitDurable(first.end).ok());
      const Record second = *AppendText(*wal, 1, std::string(5000, 's'));
      const uint64_t before = fs.mutations();
      fs.FailAt(n, fault);
      const Status status = wal->WaitDurable(second.end);
      reached = fs.mutations() - before >= n;
      ASSERT_EQ(status.ok(), !reached);
      fs.Heal();
      if (!reached) break;
      EXPECT_THAT(status.message(), HasSubstr("db/wal"));
      EXPECT_THAT(status.message(), HasSubstr(fault == Fault::kIoError ? "Input/output" : "No space left on device"));
      EXPECT_THAT(status.message(), HasSubstr("the database is read-only until it is opened again"));
      const uint64_t after = fs.mutations();
      EXPECT_EQ(AppendText(*wal, 1, "third").status().message(), status.message());
      EXPECT_EQ(wal->Sync(second.end).message(), status.message());
      EXPECT_EQ(wal->WaitForRoom().message(), status.message());
      EXPECT_TRUE(wal->WaitDurable(first.end).ok()) << "was durable before";
      wal.reset();
      EXPECT_EQ(fs.mutations(), after) << "a failed log was written to";
    }
  }
}

// After a failed sync the system shows what it has not written. What a process reads then and builds on must stay.
TEST(WalFaultTest, WhatIsReplayedAfterAFailedSyncIsDurable) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (uint64_t variant = 0; variant < 50; ++variant) {
    FaultFileSystem fs(seed + variant);
    auto wal = MakeWal(fs);
    ASSERT_TRUE(wal->Sync(AppendText(*wal, 1, "first")->end).ok());
    std::vector<Record> appended;
    for (int i = 0; i < 10; ++i) appended.push_back(*AppendText(*wal, 1, std::string(150, 'a')));
    fs.FailAt(2, Fault::kIoError);
    ASSERT_FALSE(wal->Sync(appended.back().end).ok());
    wal.reset();
    auto opened = OpenWal(fs);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    ASSERT_EQ(opened->replayed.size(), 11u);
    CrashWal(fs, std::move(opened->wal), seed + variant);
    const auto again = OpenWal(fs);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->replayed, opened->replayed);
  }
}

TEST(WalFaultTest, ACrashWhileAnUndurableTailIsMadeDurableIsNoDamage) {
  const QuietLog quiet;
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (uint64_t variant = 0; variant < 200; ++variant) {
    FaultFileSystem fs(seed + variant);
    auto wal = MakeWal(fs);
    const Record first = *AppendText(*wal, 1, "first");
    ASSERT_TRUE(wal->Sync(first.end).ok());
    Lsn end = 0;
    for (int i = 0; i < 10; ++i) end = AppendText(*wal, 1, std::string(150, 'a'))->end;
    fs.FailAt(2, Fault::kIoError);
    ASSERT_FALSE(wal->Sync(end).ok());
    wal.reset();
    fs.FailFrom(1 + variant % 8, Fault::kIoError);
    (void)OpenWal(fs);
    fs.Crash(seed + variant);
    const auto opened = OpenWal(fs);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    ASSERT_FALSE(opened->replayed.empty());
    EXPECT_EQ(opened->replayed.front(), first);
  }
}

TEST(WalFaultTest, ThePositionOfALogThatWasOpenedAfterAFailureIsDurable) {
  const QuietLog quiet;
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (uint64_t n = 1; n < 12; ++n) {
    for (uint64_t variant = 0; variant < 10; ++variant) {
      FaultFileSystem fs(seed + variant);
      auto wal = MakeWal(fs);
      Lsn end = 0;
      for (int i = 0; i < 3; ++i) end = AppendText(*wal, 1, std::string(2000, 'a'))->end;
      fs.FailAt(n, Fault::kIoError);
      (void)wal->Sync(end);
      wal.reset();
      fs.Heal();
      auto opened = OpenWal(fs);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      const Lsn from = opened->wal->end();
      CrashWal(fs, std::move(opened->wal), seed + variant);
      const auto again = OpenWal(fs, from);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_TRUE(again->replayed.empty());
    }
  }
}

TEST(WalFaultTest, AReadErrorIsAnErrorAndNotATail) {
  for (const bool read_only : {true, false}) {
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE(n);
      FaultFileSystem fs(7);
      auto wal = MakeWal(fs);
      Lsn end = 0;
      for (int i = 0; i < 20; ++i) end = AppendText(*wal, 1, std::string(1000, 'x'))->end;
      ASSERT_TRUE(wal->Sync(end).ok());
      CrashWal(fs, std::move(wal), n);
      const auto contents = WalContents(fs);
      const uint64_t before = fs.reads();
      fs.FailReadAt(n);
      const auto opened = OpenWal(fs, 0, SmallSegments(), read_only);
      const bool reached = fs.reads() - before >= n;
      EXPECT_EQ(opened.ok(), !reached);
      fs.Heal();
      if (!opened.ok()) {
        EXPECT_EQ(opened.status().code(), StatusCode::kIoError);
        EXPECT_THAT(opened.status().message(), HasSubstr("Input/output error"));
        const auto again = OpenWal(fs, 0, SmallSegments(), read_only);
        ASSERT_TRUE(again.ok());
        EXPECT_EQ(again->replayed.size(), 20u);
      }
      if (!reached) break;
    }
  }
}

// A record whose neighbour in front was lost stands whole behind the cut, exactly where the next writing may end.
TEST(WalFaultTest, WhatStoodBehindACutNeverComesBack) {
  for (const size_t first_size : {size_t{0}, size_t{8}, size_t{40}}) {
    for (uint64_t crash = 0; crash < 8; ++crash) {
      FaultFileSystem fs(crash);
      auto wal = MakeWal(fs);
      const Record kept = *AppendText(*wal, 1, "kept");
      ASSERT_TRUE(wal->Sync(kept.end).ok());
      const Record lost = *AppendText(*wal, 1, std::string(first_size, 'l'));
      const Record stale = *AppendText(*wal, 1, "stale");
      fs.FailAt(2, Fault::kIoError);  // the sync
      ASSERT_FALSE(wal->Sync(stale.end).ok());
      wal.reset();
      FlipBit(fs, SegmentPath(0), (lost.lsn + 3) * 8);
      fs.FailFrom(1 + crash, Fault::kIoError);
      (void)OpenWal(fs);
      fs.Heal();
      if (crash % 2 == 0) fs.Crash(crash);
      auto opened = OpenWal(fs);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      EXPECT_EQ(opened->replayed, std::vector{kept});
      const Record next = *AppendText(*opened->wal, 1, std::string(first_size, 'n'));
      ASSERT_TRUE(opened->wal->Sync(next.end).ok());
      CrashWal(fs, std::move(opened->wal), crash);
      const auto again = OpenWal(fs);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(again->replayed, (std::vector{kept, next}));
    }
  }
}

TEST(WalFaultTest, ACrashWhileSalvagingLeavesADamagedOrASalvagedLog) {
  const QuietLog quiet;
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    FaultFileSystem fs(n);
    auto wal = MakeWal(fs);
    std::vector<Record> records;
    for (int i = 0; i < 20; ++i) records.push_back(*AppendText(*wal, 1, std::string(900, 'x')));
    wal.reset();
    FlipBit(fs, SegmentPath(0), records[2].lsn * 8);
    fs.FailFrom(n, Fault::kIoError);
    const bool salvaged = SalvageWal(fs, kWalFolder, 0).ok();
    fs.Crash(n);
    const auto between = OpenWal(fs, 0, SmallSegments(), true);
    if (!between.ok()) {
      EXPECT_FALSE(salvaged);
      EXPECT_EQ(between.status().code(), StatusCode::kCorruption);
      ASSERT_TRUE(SalvageWal(fs, kWalFolder, 0).ok());
    }
    const auto opened = OpenWal(fs);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened->replayed, (std::vector{records[0], records[1]}));
    if (salvaged) break;
    ASSERT_LT(n, 100u);
  }
}

}  // namespace
}  // namespace petalite::store
