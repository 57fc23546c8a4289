// The write-ahead log on a disk that works, and on one whose bytes were changed.

#include "store/wal.h"

#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/log.h"
#include "store/wal_testing.h"
#include "temporary_folder.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Forwards to another file system, and calls `on_sync` before each sync of a file.
class HookedFileSystem : public FaultFileSystem {
 public:
  std::function<void()> on_sync = [] {};

  Result<std::unique_ptr<RandomFile>> Open(const std::string& path, OpenMode mode) override {
    ASSIGN_OR_RETURN(auto file, FaultFileSystem::Open(path, mode));
    return std::unique_ptr<RandomFile>(new File(this, std::move(file)));
  }

 private:
  class File : public RandomFile {
   public:
    File(HookedFileSystem* fs, std::unique_ptr<RandomFile> file) : fs_(fs), file_(std::move(file)) {}
    Status Read(uint64_t offset, MutableBytes out) const override { return file_->Read(offset, out); }
    Status Write(uint64_t offset, Bytes data) override { return file_->Write(offset, data); }
    Status Truncate(uint64_t size) override { return file_->Truncate(size); }
    Status Sync() override {
      fs_->on_sync();
      return file_->Sync();
    }
    Result<uint64_t> Size() const override { return file_->Size(); }
    const std::string& path() const override { return file_->path(); }

   private:
    HookedFileSystem* fs_;
    std::unique_ptr<RandomFile> file_;
  };
};

std::vector<Record> AppendMany(Wal& wal, size_t count, size_t size) {
  std::vector<Record> records;
  for (size_t i = 0; i < count; ++i) {
    const auto type = static_cast<uint8_t>(1 + i % 255);
    const auto record = AppendText(wal, type, std::string(size, static_cast<char>('a' + i % 26)));
    EXPECT_TRUE(record.ok()) << record.status().message();
    if (record.ok()) records.push_back(*record);
  }
  return records;
}

Status NoReplay(const WalRecord&) { return Status::Ok(); }

TEST(WalTest, RecordsComeBackInOrderWithTheirPositions) {
  FaultFileSystem fs;
  std::vector<Record> records;
  auto wal = MakeWal(fs);
  for (const size_t size : {0, 1, 7, 8, 9, 100, 4000, 4096, 0, 20000, 5}) {
    for (const Record& record : AppendMany(*wal, 3, size)) records.push_back(record);
  }
  EXPECT_EQ(records.front().lsn, kWalSegmentHeader);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].lsn % kWalAlignment, 0u);
    if (i > 0) {
      EXPECT_GE(records[i].lsn, records[i - 1].end);
    }
  }
  EXPECT_EQ(wal->end(), records.back().end);
  EXPECT_LT(wal->durable(), wal->end());
  ASSERT_TRUE(wal->WaitDurable(wal->end()).ok());
  EXPECT_EQ(wal->durable(), wal->end());
  EXPECT_EQ(wal->statistics().records, records.size());
  wal.reset();
  for (int i = 0; i < 3; ++i) {
    const auto opened = OpenWal(fs);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened->replayed, records);
    EXPECT_EQ(opened->wal->end(), records.back().end);
    EXPECT_EQ(opened->wal->durable(), records.back().end);
  }
}

TEST(WalTest, ReplayBeginsWhereItIsTold) {
  FaultFileSystem fs;
  auto wal = MakeWal(fs);
  const auto records = AppendMany(*wal, 50, 300);
  wal.reset();
  for (size_t i = 0; i < records.size(); ++i) {
    const std::vector<Record> rest(records.begin() + static_cast<ptrdiff_t>(i), records.end());
    const auto at = OpenWal(fs, records[i].lsn);
    ASSERT_TRUE(at.ok()) << at.status().message();
    EXPECT_EQ(at->replayed, rest);
    const auto behind = OpenWal(fs, records[i].end);
    ASSERT_TRUE(behind.ok()) << behind.status().message();
    EXPECT_THAT(behind->replayed, SizeIs(rest.size() - 1));
  }
}

TEST(WalTest, AnErrorOfTheReplayIsPassedOn) {
  FaultFileSystem fs;
  AppendMany(*MakeWal(fs), 5, 10);
  int seen = 0;
  const auto wal = Wal::Open(fs, kWalFolder, 0, SmallSegments(), false,
                             [&](const WalRecord&) { return ++seen == 3 ? Busy("not now") : Status::Ok(); });
  ASSERT_FALSE(wal.ok());
  EXPECT_EQ(wal.status().code(), StatusCode::kBusy);
  EXPECT_EQ(seen, 3);
}

TEST(WalTest, ARecordLargerThanASegmentGetsAFileThatFits) {
  FaultFileSystem fs;
  auto wal = MakeWal(fs);
  std::vector<Record> records = AppendMany(*wal, 1, 10);
  for (const Record& record : AppendMany(*wal, 2, 3 << 20)) records.push_back(record);
  for (const Record& record : AppendMany(*wal, 2, 10)) records.push_back(record);
  ASSERT_TRUE(wal->WaitDurable(wal->end()).ok());
  CrashWal(fs, std::move(wal), 1);
  const auto opened = OpenWal(fs);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->replayed, records);
}

TEST(WalTest, TruncateRecyclesSegmentsAndStaleRecordsStayOut) {
  FaultFileSystem fs;
  auto wal = MakeWal(fs);
  Lsn from = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    // Records of one size, so that stale ones stand where new ones would.
    const auto records = AppendMany(*wal, 40, 368);
    ASSERT_TRUE(wal->Sync(records.back().end).ok());
    const bool reopen = round % 4 == 2;
    if (reopen) {
      CrashWal(fs, std::move(wal), static_cast<uint64_t>(round));
      auto opened = OpenWal(fs, from);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      EXPECT_THAT(opened->replayed, SizeIs(40 + (from == 0 ? 0 : 5)));
      wal = std::move(opened->wal);
    }
    from = records[35].lsn;
    ASSERT_TRUE(wal->Truncate(from).ok());
    const auto listing = *ListWal(fs, kWalFolder);
    EXPECT_LE(listing.spares.size(), 2u);
    EXPECT_LE(listing.segments.size(), 3u);
    EXPECT_LE(listing.segments.front().first, from);
  }
  EXPECT_GT(wal->statistics().segments_created, 0u);
  EXPECT_GT(wal->statistics().segments_recycled, 1u);
}

TEST(WalTest, TheNewestSegmentStaysSoThatPositionsGoOn) {
  FaultFileSystem fs;
  auto wal = MakeWal(fs);
  Lsn last = 0;
  for (int round = 0; round < 5; ++round) {
    const auto records = AppendMany(*wal, 30, 500);
    EXPECT_GT(records.front().lsn, last);
    last = records.back().end;
    ASSERT_TRUE(wal->Sync(last).ok());
    ASSERT_TRUE(wal->Truncate(last).ok());
    wal.reset();
    auto opened = OpenWal(fs, last);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_TRUE(opened->replayed.empty());
    EXPECT_EQ(opened->wal->end(), last);
    wal = std::move(opened->wal);
    ASSERT_TRUE(wal->Truncate(last).ok());
  }
  EXPECT_LE(ListWal(fs, kWalFolder)->segments.size(), 2u);
}

TEST(WalTest, OpeningAndClosingLeavesNoTrace) {
  FaultFileSystem fs;
  AppendMany(*MakeWal(fs), 20, 500);
  ASSERT_TRUE(OpenWal(fs).ok());
  const auto contents = WalContents(fs);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(OpenWal(fs).ok());
  EXPECT_EQ(WalContents(fs), contents);
}

TEST(WalTest, AReadOnlyOpenChangesNothing) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  for (uint64_t crash = 0; crash < 20; ++crash) {
    FaultFileSystem fs(seed + crash);
    auto wal = MakeWal(fs);
    ASSERT_TRUE(wal->Sync(AppendMany(*wal, 20, 300).back().end).ok());
    AppendMany(*wal, 20, 300);
    fs.FailFrom(3, Fault::kShortWrite);
    (void)wal->Sync(wal->end());
    CrashWal(fs, std::move(wal), seed + crash);
    const auto contents = WalContents(fs);
    const uint64_t mutations = fs.mutations();
    const auto opened = OpenWal(fs, 0, SmallSegments(), true);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_GE(opened->replayed.size(), 20u);
    EXPECT_EQ(opened->wal->end(), opened->replayed.back().end);
    EXPECT_TRUE(opened->wal->WaitDurable(opened->wal->end()).ok());
    EXPECT_EQ(fs.mutations(), mutations);
    EXPECT_EQ(WalContents(fs), contents);
  }
  FaultFileSystem empty;
  EXPECT_TRUE(OpenWal(empty, 0, SmallSegments(), true).ok());
  EXPECT_EQ(empty.mutations(), 0u);
}

TEST(WalTest, AnyFlippedBitOfASyncedLogIsDamage) {
  FaultFileSystem fs;
  auto wal = MakeWal(fs);
  const auto records = AppendMany(*wal, 24, 237);
  wal.reset();
  const auto listing = *ListWal(fs, kWalFolder);
  ASSERT_THAT(listing.segments, SizeIs(2));
  for (const WalFile& segment : listing.segments) {
    const bool last = segment.first == listing.segments.back().first;
    const uint64_t marked = segment.first + segment.bytes - kWalRecordHeader;  // of the last
    const Lsn end = last ? marked : listing.segments.back().first;
    for (uint64_t bit = 0; bit < segment.bytes * 8; ++bit) {
      FlipBit(fs, segment.path, bit);
      const auto opened = OpenWal(fs, 0, SmallSegments(), true);
      const uint64_t offset = bit / 8;
      if (segment.first + offset < end) {
        ASSERT_FALSE(opened.ok()) << segment.path << ", bit " << bit;
        const bool version = offset >= 8 && offset < 12;
        ASSERT_TRUE(opened.status().code() == StatusCode::kCorruption || version) << opened.status().message();
        ASSERT_THAT(opened.status().message(), HasSubstr(segment.path + ": offset "));
      } else {
        ASSERT_TRUE(opened.ok()) << opened.status().message();
        ASSERT_EQ(opened->replayed, records);
      }
      FlipBit(fs, segment.path, bit);
    }
  }
}

TEST(WalTest, AFlippedBitOfAnUnsyncedTailIsATornTail) {
  FaultFileSystem fs;
  auto wal = MakeWal(fs);
  auto records = AppendMany(*wal, 3, 50);
  ASSERT_TRUE(wal->Sync(records.back().end).ok());
  for (const Record& record : AppendMany(*wal, 5, 50)) records.push_back(record);
  fs.FailAt(2, Fault::kIoError);  // the sync, but the file shows what was written
  ASSERT_FALSE(wal->Sync(wal->end()).ok());
  wal.reset();
  for (uint64_t bit = records[0].lsn * 8; bit < records.back().end * 8; ++bit) {
    FlipBit(fs, SegmentPath(0), bit);
    const auto opened = OpenWal(fs, 0, SmallSegments(), true);
    const auto hit = static_cast<size_t>(
        std::find_if(records.begin(), records.end(), [&](const Record& record) { return bit / 8 < record.end; }) -
        records.begin());
    // The records of the tail say that those in front of them were synced.
    ASSERT_EQ(opened.ok(), hit >= 3) << (opened.ok() ? "" : opened.status().message());
    if (opened.ok()) {
      ASSERT_EQ(opened->replayed, std::vector(records.begin(), records.begin() + static_cast<ptrdiff_t>(hit)));
    }
    FlipBit(fs, SegmentPath(0), bit);
  }
}

TEST(WalTest, WhatTheCallerKnowsToBeDurableIsMissed) {
  FaultFileSystem fs;
  auto wal = MakeWal(fs);
  const auto records = AppendMany(*wal, 60, 300);
  const Lsn end = wal->end();
  wal.reset();
  EXPECT_EQ(OpenWal(fs, end + 4096).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(OpenWal(fs, 4).status().code(), StatusCode::kCorruption);
  const auto listing = *ListWal(fs, kWalFolder);
  ASSERT_GE(listing.segments.size(), 4u);
  // A segment in the middle, the last, the first.
  ASSERT_TRUE(fs.Remove(listing.segments[2].path).ok());
  auto opened = OpenWal(fs);
  EXPECT_EQ(opened.status().code(), StatusCode::kCorruption);
  EXPECT_THAT(opened.status().message(), HasSubstr(listing.segments[1].path));
  EXPECT_TRUE(OpenWal(fs, listing.segments[3].first, SmallSegments(), true).ok());
  ASSERT_TRUE(fs.Remove(listing.segments.back().path).ok());
  EXPECT_EQ(OpenWal(fs, end).status().code(), StatusCode::kCorruption);
  ASSERT_TRUE(fs.Remove(listing.segments[0].path).ok());
  opened = OpenWal(fs);
  EXPECT_EQ(opened.status().code(), StatusCode::kCorruption);
  EXPECT_THAT(opened.status().message(), HasSubstr("is missing"));
}

TEST(WalTest, ANewerFormatIsRefused) {
  FaultFileSystem fs;
  AppendMany(*MakeWal(fs), 1, 1);
  auto bytes = *fs.ReadAll(SegmentPath(0));
  StoreLe<uint32_t>(bytes.data() + 8, 2);
  StoreLe<uint32_t>(bytes.data() + 28, Crc32c(Bytes(bytes).first(28)));
  ASSERT_TRUE((*fs.Open(SegmentPath(0), OpenMode::kReadWrite))->Write(0, bytes).ok());
  const auto opened = OpenWal(fs);
  EXPECT_EQ(opened.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(opened.status().message(), HasSubstr("version 2"));
  EXPECT_EQ(SalvageWal(fs, kWalFolder, 0).code(), StatusCode::kUnsupported);
  EXPECT_EQ(*fs.ReadAll(SegmentPath(0)), bytes);
}

TEST(WalTest, CheckNamesEachDamageAndSalvageKeepsWhatIsInFront) {
  const QuietLog quiet;
  FaultFileSystem fs;
  auto wal = MakeWal(fs);
  const auto records = AppendMany(*wal, 60, 300);
  wal.reset();
  const auto sound = *CheckWal(fs, kWalFolder, 0);
  EXPECT_TRUE(sound.sound());
  uint64_t count = 0;
  for (const WalSegmentCheck& segment : sound.segments) count += segment.scan.records;
  EXPECT_EQ(count, records.size());
  ASSERT_TRUE(SalvageWal(fs, kWalFolder, 0).ok());
  EXPECT_EQ(OpenWal(fs)->replayed, records);

  const Lsn second = sound.segments[1].first;
  const auto hit = std::find_if(records.begin(), records.end(), [&](const Record& r) { return r.lsn > second + 500; });
  FlipBit(fs, SegmentPath(second), (hit->lsn - second + 50) * 8);
  FlipBit(fs, SegmentPath(sound.segments[3].first), 3);
  const auto damaged = *CheckWal(fs, kWalFolder, 0);
  EXPECT_FALSE(damaged.sound());
  EXPECT_TRUE(damaged.segments[0].damage.ok());
  EXPECT_EQ(damaged.segments[1].scan.end, hit->lsn);
  EXPECT_THAT(damaged.segments[1].damage.message(), HasSubstr(fmt::format("offset {}:", hit->lsn - second)));
  EXPECT_TRUE(damaged.segments[2].damage.ok());
  EXPECT_EQ(damaged.segments[3].scan.epoch, 0u);

  const auto original = *fs.ReadAll(SegmentPath(second));
  ASSERT_TRUE(SalvageWal(fs, kWalFolder, 0).ok());
  EXPECT_EQ(*fs.ReadAll(SegmentPath(second) + ".damaged"), original);
  EXPECT_TRUE(*fs.Exists(SegmentPath(sound.segments[2].first) + ".damaged"));
  auto opened = OpenWal(fs);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  auto kept = std::vector(records.begin(), hit);
  EXPECT_EQ(opened->replayed, kept);
  kept.push_back(AppendMany(*opened->wal, 1, 10).front());
  opened->wal.reset();
  EXPECT_EQ(OpenWal(fs)->replayed, kept);
}

TEST(WalTest, SalvageGoesOnAtTheDurablePositionWhenTheLogIsGone) {
  const QuietLog quiet;
  for (const bool all : {true, false}) {
    FaultFileSystem fs;
    auto wal = MakeWal(fs);
    const Lsn from = AppendMany(*wal, 60, 300).back().end;
    wal.reset();
    const auto segments = ListWal(fs, kWalFolder)->segments;
    for (size_t i = all ? 0 : segments.size() - 1; i < segments.size(); ++i) {
      ASSERT_TRUE(fs.Remove(segments[i].path).ok());
    }
    ASSERT_FALSE(OpenWal(fs, from).ok());
    ASSERT_TRUE(SalvageWal(fs, kWalFolder, from).ok());
    auto opened = OpenWal(fs, from);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_TRUE(opened->replayed.empty());
    const auto next = AppendMany(*opened->wal, 1, 10);
    EXPECT_GT(next.front().lsn, from);
    opened->wal.reset();
    EXPECT_EQ(OpenWal(fs, from)->replayed, next);
  }
}

// The new log has the positions and the epoch of the first one, of which a spare holds records.
TEST(WalTest, ASalvagedLogDoesNotReviveWhatItsSparesHold) {
  const QuietLog quiet;
  FaultFileSystem fs;
  auto options = SmallSegments();
  options.segment_bytes = 1 << 14;
  options.spare_segments = 1;
  auto wal = MakeWal(fs, options);
  constexpr size_t kToThePageEnd = 4096 - kWalSegmentHeader - kWalRecordHeader;
  AppendMany(*wal, 20, kToThePageEnd);
  ASSERT_TRUE(wal->Sync(wal->end()).ok() && wal->Truncate(wal->end()).ok());
  wal.reset();
  const auto listing = *ListWal(fs, kWalFolder);
  ASSERT_THAT(listing.spares, SizeIs(1));
  for (const WalFile& segment : listing.segments) FlipBit(fs, segment.path, 0);
  ASSERT_TRUE(SalvageWal(fs, kWalFolder, 0).ok());
  auto opened = OpenWal(fs, 0, options);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const auto records = AppendMany(*opened->wal, 1, kToThePageEnd);
  ASSERT_TRUE(opened->wal->Sync(records.back().end).ok());
  CrashWal(fs, std::move(opened->wal), 1);
  EXPECT_EQ(OpenWal(fs, 0, options)->replayed, records);
}

TEST(WalTest, EachRunHasAGreaterEpoch) {
  FaultFileSystem fs;
  AppendMany(*MakeWal(fs), 20, 500);
  for (int run = 0; run < 3; ++run) {
    const auto opened = OpenWal(fs);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    AppendMany(*opened->wal, 20, 500);
  }
  std::set<uint32_t> epochs;
  uint32_t last = 0;
  const WalCheck check = *CheckWal(fs, kWalFolder, 0);
  for (const WalSegmentCheck& segment : check.segments) {
    EXPECT_GE(segment.scan.epoch, last);
    epochs.insert(last = segment.scan.epoch);
  }
  EXPECT_THAT(epochs, ElementsAre(1, 2, 3, 4));
}

TEST(WalTest, OnlyARecordThatFitsItsPlaceIsWhole) {
  const struct {
    const char* what;
    WalRecordHeader header;
    bool whole;
  } cases[] = {
      {"right", {.length = 8, .lsn = 4096 + 32, .synced = 4096, .epoch = 5, .type = 1}, true},
      {"another position", {.length = 8, .lsn = 32, .synced = 0, .epoch = 5, .type = 1}, false},
      {"another epoch", {.length = 8, .lsn = 4096 + 32, .synced = 4096, .epoch = 4, .type = 1}, false},
      {"synced behind itself", {.length = 8, .lsn = 4096 + 32, .synced = 4096 + 40, .epoch = 5, .type = 1}, false},
      {"longer than the file", {.length = 64, .lsn = 4096 + 32, .synced = 4096, .epoch = 5, .type = 1}, false},
      {"of any length", {.length = UINT32_MAX, .lsn = 4096 + 32, .synced = 4096, .epoch = 5, .type = 1}, false},
  };
  for (const auto& each : cases) {
    FaultFileSystem fs;
    ByteBuffer bytes(kWalSegmentHeader + kWalRecordHeader + 8);
    EncodeWalSegmentHeader({.epoch = 5, .first = 4096}, bytes.data());
    EncodeWalRecordHeader(each.header, Crc32c(Bytes(bytes).last(8)), bytes.data() + kWalSegmentHeader);
    ASSERT_TRUE((*fs.Open("segment", OpenMode::kCreate))->Write(0, bytes).ok());
    auto scanner = WalSegmentScanner::Open(fs, "segment", 4096, 4096);
    ASSERT_TRUE(scanner.ok()) << scanner.status().message();
    const auto record = scanner->Next();
    ASSERT_TRUE(record.ok());
    EXPECT_EQ(record->has_value(), each.whole) << each.what;
  }
}

// The first sync waits until all have appended; so the leader's and one more are enough.
TEST(WalTest, OneSyncServesAllThatWait) {
  constexpr size_t kThreads = 16;
  HookedFileSystem fs;
  const auto wal = MakeWal(fs, {});
  fs.on_sync = [&] {
    while (wal->statistics().records < kThreads) std::this_thread::yield();
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const auto record = AppendText(*wal, 1, "commit");
      EXPECT_TRUE(record.ok() && wal->WaitDurable(record->end).ok());
      EXPECT_GE(wal->durable(), record->end);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(wal->statistics().syncs, 3u);  // the new segment's header is one
  fs.on_sync = [] {};
}

TEST(WalTest, ManyThreadsLoseNothing) {
  constexpr size_t kThreads = 16;
  constexpr size_t kCommits = 50;
  for (const Durability durability : {Durability::kSync, Durability::kAsync, Durability::kNone}) {
    FaultFileSystem fs;
    auto wal =
        MakeWal(fs, {.segment_bytes = 1 << 15, .durability = durability, .async_interval_ms = 1, .max_buffered = 4096});
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (size_t n = 0; n < kCommits; ++n) {
          EXPECT_TRUE(wal->WaitForRoom().ok());
          const auto record = AppendText(*wal, static_cast<uint8_t>(i + 1), std::to_string(n));
          EXPECT_TRUE(record.ok() && wal->WaitDurable(record->end).ok());
          if (i == 0 && n % 10 == 9) {
            EXPECT_TRUE(wal->Sync(record->end).ok() && wal->Truncate(0).ok());
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (durability == Durability::kSync) {
      CrashWal(fs, std::move(wal), 3);
    } else {
      wal.reset();
    }
    const auto opened = OpenWal(fs);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened->replayed.size(), kThreads * kCommits);
    std::vector<size_t> next(kThreads, 0);  // each thread's records are in its order
    for (const Record& record : opened->replayed) {
      EXPECT_EQ(record.payload, std::to_string(next[record.type - 1u]++));
    }
  }
}

TEST(WalTest, AsyncSyncsByItself) {
  FaultFileSystem fs;
  auto options = SmallSegments(Durability::kAsync);
  options.async_interval_ms = 1;
  auto wal = MakeWal(fs, options);
  for (int i = 0; i < 3; ++i) {
    const Record record = AppendMany(*wal, 1, 100).front();
    EXPECT_TRUE(wal->WaitDurable(record.end).ok());
    while (wal->durable() < record.end) std::this_thread::yield();
  }
  CrashWal(fs, std::move(wal), 1);
  EXPECT_THAT(OpenWal(fs)->replayed, SizeIs(3));
}

TEST(WalTest, AsyncReportsAFailureAtTheNextCommit) {
  const QuietLog quiet;
  FaultFileSystem fs;
  auto options = SmallSegments(Durability::kAsync);
  options.async_interval_ms = 1;
  const auto wal = MakeWal(fs, options);
  fs.FailFrom(1, Fault::kNoSpace);
  const Record record = AppendMany(*wal, 1, 100).front();
  while (wal->WaitDurable(record.end).ok()) std::this_thread::yield();
  EXPECT_THAT(wal->Append(1, {}).status().message(), HasSubstr("read-only until it is opened again"));
}

TEST(WalTest, NoneWritesByItselfAndSyncsOnlyWhenAsked) {
  FaultFileSystem fs;
  auto options = SmallSegments(Durability::kNone);
  options.async_interval_ms = 1;
  options.segment_bytes = 1 << 20;
  auto wal = MakeWal(fs, options);
  const Record record = AppendMany(*wal, 1, 100).front();
  while (wal->statistics().bytes_written == 0) std::this_thread::yield();
  EXPECT_LT(wal->durable(), record.end);
  const uint64_t syncs = wal->statistics().syncs;
  ASSERT_TRUE(wal->Sync(record.end).ok());
  EXPECT_EQ(wal->statistics().syncs, syncs + 1);
  CrashWal(fs, std::move(wal), 1);
  EXPECT_THAT(OpenWal(fs)->replayed, SizeIs(1));
}

TEST(WalTest, MuchIsWrittenBeforeAnybodyWaits) {
  FaultFileSystem fs;
  const auto wal = MakeWal(fs, {.segment_bytes = 8 << 20});
  AppendMany(*wal, 20, 100 << 10);
  while (wal->statistics().bytes_written < 1 << 20) std::this_thread::yield();
}

TEST(WalTest, WritersWaitForRoomAndNotForever) {
  FaultFileSystem fs;
  auto options = SmallSegments(Durability::kNone);
  options.max_buffered = 1000;
  const auto wal = MakeWal(fs, options);
  AppendMany(*wal, 3, 1000);
  EXPECT_EQ(wal->statistics().bytes_written, 0u);
  EXPECT_TRUE(wal->WaitForRoom().ok());
  EXPECT_GE(wal->statistics().bytes_written, 3000u);
}

TEST(WalTest, RealFilesServeToo) {
  const TemporaryFolder folder;
  const std::string directory = folder.path() + "/wal";
  auto& fs = PosixFileSystem();
  Lsn from = 0;
  for (int round = 0; round < 3; ++round) {
    uint64_t replayed = 0;
    auto opened = Wal::Open(fs, directory, from, {.segment_bytes = 1 << 16}, false, [&](const WalRecord& record) {
      EXPECT_EQ(record.payload.size(), 100u);
      ++replayed;
      return Status::Ok();
    });
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(replayed, round == 0 ? 0u : 100u);
    const auto records = AppendMany(**opened, 2000, 100);
    ASSERT_TRUE((*opened)->WaitDurable(records.back().end).ok());
    from = records[1900].lsn;
    ASSERT_TRUE((*opened)->Truncate(from).ok());
  }
  const auto check = CheckWal(fs, directory, from);
  ASSERT_TRUE(check.ok());
  EXPECT_TRUE(check->sound());
}

// docs/format.md: the bytes of the worked example, which stand behind the heading in blocks of hexadecimal digits.
ByteBuffer DocumentedExample() {
  std::ifstream file(PETALITE_TEST_DATA "/../../docs/format.md");
  std::stringstream text;
  text << file.rdbuf();
  std::string rest = text.str();
  rest = rest.substr(rest.find("A segment with one record"));
  rest = rest.substr(rest.find("```") + 3);
  rest = rest.substr(0, rest.find("```"));
  ByteBuffer bytes;
  std::string digits;
  for (const char c : rest) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
    if (digits.size() == 2) {
      bytes.push_back(static_cast<uint8_t>(std::stoi(digits, nullptr, 16)));
      digits.clear();
    }
  }
  return bytes;
}

TEST(WalTest, TheDocumentedSegmentIsWhatIsWritten) {
  FaultFileSystem fs;
  auto wal = MakeWal(fs);
  const Bytes parts[] = {AsBytes("peta"), AsBytes("l")};
  ASSERT_TRUE(wal->Append(7, parts).ok());
  wal.reset();
  const auto documented = DocumentedExample();
  const auto written = *fs.ReadAll(SegmentPath(0));
  std::string hex;
  for (size_t i = 0; i < written.size(); ++i) hex += fmt::format("{}{:02x}", i % 8 == 0 ? " " : "", written[i]);
  EXPECT_EQ(written, documented) << hex;

  FaultFileSystem other;
  ASSERT_TRUE(other.CreateDirectories(kWalFolder).ok());
  ASSERT_TRUE((*other.Open(SegmentPath(0), OpenMode::kCreate))->Write(0, documented).ok());
  const auto opened = OpenWal(other, 0, SmallSegments(), true);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_THAT(opened->replayed, ElementsAre(Record{32, 72, 7, "petal"}));
}

TEST(WalTest, SegmentNamesAreReadBack) {
  EXPECT_EQ(WalSegmentName(4096), "00000000000000004096.log");
  EXPECT_EQ(ParseWalSegmentName(WalSegmentName(kWalMaxLsn)), kWalMaxLsn);
  for (const char* name : {"", "4096.log", "0000000000000000409x.log", "00000000000000004096.lag",
                           "99999999999999999999.log", "00000000000000004096.log.spare"}) {
    EXPECT_EQ(ParseWalSegmentName(name), std::nullopt) << name;
  }
}

TEST(WalDeathTest, NothingIsAppendedToALogOpenedForReading) {
  FaultFileSystem fs;
  const auto wal = *Wal::Open(fs, kWalFolder, 0, {}, true, NoReplay);
  EXPECT_DEATH((void)wal->Append(1, {}), "read_only_");
}

}  // namespace
}  // namespace petalite::store
