// Races made to happen: jobs that stand still in their middle while others commit, and threads that want the same key.

#include <atomic>
#include <barrier>
#include <future>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "gate_file_system.h"
#include "number_tables.h"
#include "store/snapshots.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;
using Call = GateFileSystem::Call;

class RaceTest : public ::testing::Test {
 protected:
  RaceTest() : gate_(fs_) {}

  void Open(DatabaseOptions options = {}) {
    options.create = true;
    options.cache_bytes = 1 << 20;
    if (options.write_bytes == 0) options.write_bytes = 64 << 20;
    options.threads = 1;
    options.wal_segment_bytes = 1 << 16;
    options.background = false;
    options.fs = &gate_;
    auto opened = Database::Open("db", options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    database_ = *std::move(opened);
  }

  // The power fails, whatever is under way; then the database is opened again.
  void CrashAndReopen(uint64_t seed, DatabaseOptions options = {}) {
    fs_.FailFrom(1, Fault::kIoError);
    gate_.Open();
    if (job_.valid()) (void)job_.get();
    database_ = nullptr;
    fs_.Crash(seed);
    Open(options);
  }

  void ExpectAll(const NumberTables& expected) {
    ExpectContents(expected);
    ExpectSound(*database_);
  }

  // No database any more.
  void Clear() {
    database_ = nullptr;
    ASSERT_TRUE(fs_.Remove("db/catalog.sqlite").ok());
    std::vector<std::string> folders = {"db/wal"};
    const auto tables = *fs_.List("db/data");
    for (const std::string& table : tables) folders.push_back("db/data/" + table);
    for (const std::string& folder : folders) {
      const auto names = *fs_.List(folder);
      for (const std::string& name : names) ASSERT_TRUE(fs_.Remove(fmt::format("{}/{}", folder, name)).ok());
    }
  }

  // By scan and by lookups.
  void ExpectContents(const NumberTables& expected) {
    ExpectNumbers(*database_, expected);
    for (const auto& [name, numbers] : expected) {
      const auto view = ViewOf(*database_, name);
      for (int64_t key = -2; key < 40; ++key) {
        const auto value = LookUpNumber(*view, key);
        ASSERT_TRUE(value.ok()) << value.status().message();
        const auto found = numbers.find(key);
        EXPECT_EQ(value->value_or(kAbsent), found == numbers.end() ? kAbsent : found->second) << key;
      }
    }
  }

  void MustWrite(const std::string& table, WriteOp op, const NumberRows& rows) {
    const auto written = WriteNumbers(*database_, table, op, rows);
    ASSERT_TRUE(written.ok()) << written.status().message();
  }

  Status CompactTable(const std::string& name) {
    const auto table = database_->Current()->FindTable({"main", name});
    for (const auto& tablet : table->tablets()) {
      const auto state = tablet->state();
      if (!state->rowsets().empty()) RETURN_IF_ERROR(CompactRowsets(*tablet, *table, state->rowsets()));
    }
    return Status::Ok();
  }

  const Silence silence_;
  FaultFileSystem fs_;
  GateFileSystem gate_;
  std::unique_ptr<Database> database_;
  std::future<Status> job_;
};

NumberRows Range(int64_t begin, int64_t end, int64_t value) {
  NumberRows rows;
  for (int64_t key = begin; key < end; ++key) rows.emplace_back(key, value);
  return rows;
}

Numbers ToNumbers(const NumberRows& rows) { return {rows.begin(), rows.end()}; }

TEST_F(RaceTest, OfTwoWhoInsertOneAbsentKeyOneSucceeds) {
  Open();
  ASSERT_TRUE(CreateNumberTables(*database_, {{"t", 1}}).ok());
  std::atomic<bool> stop{false};
  std::thread flusher([&] {
    while (!stop) EXPECT_TRUE(database_->Flush().ok());
  });
  constexpr int64_t kRounds = 300;
  std::barrier start(2);
  std::array<std::vector<Status>, 2> outcomes;
  std::array<std::thread, 2> writers;
  for (int64_t writer = 0; writer < 2; ++writer) {
    writers[writer] = std::thread([&, writer] {
      for (int64_t round = 0; round < kRounds; ++round) {
        const auto transaction = database_->Begin();
        start.arrive_and_wait();
        // Alone, in a transaction, and one of each.
        const bool alone = (round + (round % 2 == 0 ? 0 : writer)) % 4 < 2;
        if (alone) {
          outcomes[writer].push_back(WriteNumbers(*database_, "t", WriteOp::kInsert, {{round, writer}}).status());
        } else {
          Status status = WriteNumbers(*transaction, "t", WriteOp::kInsert, {{round, writer}});
          if (status.ok()) status = transaction->Commit();
          outcomes[writer].push_back(status);
        }
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  stop = true;
  flusher.join();
  Numbers expected;
  for (int64_t round = 0; round < kRounds; ++round) {
    const bool first = outcomes[0][round].ok();
    EXPECT_NE(first, outcomes[1][round].ok()) << round;
    const Status& lost = outcomes[first ? 1 : 0][round];
    EXPECT_TRUE(lost.code() == StatusCode::kAlreadyExists || lost.code() == StatusCode::kBusy) << lost.message();
    EXPECT_THAT(lost.message(), HasSubstr(fmt::format("key ({})", round)));
    expected[round] = first ? 0 : 1;
  }
  ExpectNumbers(*database_, {{"t", expected}});
  ExpectSound(*database_);
}

struct Standstill {
  const char* name;
  Call call;
  bool compaction;  // else a flush
};

class StandstillTest : public RaceTest, public ::testing::WithParamInterface<Standstill> {
 protected:
  // 30 keys, on disk in three rowsets or in memory, some of them dead already; the job stands still, and others die,
  // change and come again.
  void StandStill() {
    const bool compaction = GetParam().compaction;
    Open();
    ASSERT_TRUE(CreateNumberTables(*database_, {{"t", 1}, {"other", 1}}).ok());
    held_ = database_->CurrentSnapshot();
    for (int64_t part = 0; part < 3; ++part) {
      MustWrite("t", WriteOp::kInsert, Range(part * 10, part * 10 + 10, 1));
      MustWrite("t", WriteOp::kUpsert, {{part, 100 + part}, {part + 5, 200 + part}});
      MustWrite("t", WriteOp::kDelete, {{part * 10 + 9, 0}});
      if (compaction) {
        ASSERT_TRUE(database_->Flush().ok());
      }
    }
    if (compaction) MustWrite("t", WriteOp::kDelete, {{8, 0}});
    before_ = *ReadNumbers(ViewOf(*database_, "t"));
    old_ = database_->CurrentSnapshot();
    gate_.Shut(GetParam().call, ".parquet");
    job_ = std::async(std::launch::async, [this, compaction] {
      return compaction ? CompactTable("t") : database_->Flush(TableName{"main", "t"});
    });
    gate_.AwaitWaiter();
    MustWrite("t", WriteOp::kDelete, {{0, 0}, {11, 0}, {22, 0}});
    MustWrite("t", WriteOp::kUpsert, {{1, 7}, {12, 7}, {35, 7}});
    MustWrite("t", WriteOp::kUpdate, {{1, 8}, {13, 8}, {99, 8}});
    MustWrite("t", WriteOp::kInsert, {{0, 9}, {9, 9}, {36, 9}});
    MustWrite("t", WriteOp::kDelete, {{0, 0}, {36, 0}, {23, 0}});
    const auto transaction = database_->Begin();
    ASSERT_TRUE(WriteNumbers(*transaction, "t", WriteOp::kUpsert, {{24, 10}}).ok());
    ASSERT_TRUE(WriteNumbers(*transaction, "t", WriteOp::kDelete, {{25, 0}}).ok());
    ASSERT_TRUE(WriteNumbers(*transaction, "other", WriteOp::kInsert, {{1, 10}}).ok());
    ASSERT_TRUE(transaction->Commit().ok());
    after_ = before_;
    for (const int64_t key : {0, 11, 22, 23, 25}) after_.erase(key);
    for (const auto& [key, value] : NumberRows{{1, 8}, {12, 7}, {35, 7}, {13, 8}, {9, 9}, {24, 10}})
      after_[key] = value;
    ExpectContents({{"t", after_}, {"other", {{1, 10}}}});
  }

  void ExpectOld() {
    EXPECT_EQ(*ReadNumbers(old_->View(old_->version().FindTable({"main", "t"}))), before_);
    EXPECT_EQ(*ReadNumbers(held_->View(held_->version().FindTable({"main", "t"}))), Numbers());
  }

  void LetGo() {
    held_ = nullptr;
    old_ = nullptr;
  }

  void ExpectWorks() {
    MustWrite("t", WriteOp::kInsert, {{0, 11}, {22, 11}});
    MustWrite("t", WriteOp::kDelete, {{1, 0}, {9, 0}});
    after_[0] = after_[22] = 11;
    after_.erase(1);
    after_.erase(9);
    ASSERT_TRUE(database_->Compact(std::nullopt, true).ok());
    ExpectAll({{"t", after_}, {"other", {{1, 10}}}});
  }

  std::shared_ptr<const Snapshot> held_, old_;
  Numbers before_, after_;
};

TEST_P(StandstillTest, DeathsThatComeMeanwhileAreCarriedOver) {
  ASSERT_NO_FATAL_FAILURE(StandStill());
  gate_.Open();
  const Status done = job_.get();
  ASSERT_TRUE(done.ok()) << done.message();
  ExpectAll({{"t", after_}, {"other", {{1, 10}}}});
  ExpectOld();
  ASSERT_TRUE(CompactTable("t").ok());
  ExpectOld();
  LetGo();
  ExpectWorks();
}

TEST_P(StandstillTest, ACrashInTheMiddleLosesNothing) {
  ASSERT_NO_FATAL_FAILURE(StandStill());
  LetGo();
  CrashAndReopen(3);
  ExpectAll({{"t", after_}, {"other", {{1, 10}}}});
  ExpectWorks();
}

TEST_P(StandstillTest, ACrashAtTheEndLosesNothing) {
  ASSERT_NO_FATAL_FAILURE(StandStill());
  gate_.Open();
  ASSERT_TRUE(job_.get().ok());
  LetGo();
  CrashAndReopen(4);
  ExpectAll({{"t", after_}, {"other", {{1, 10}}}});
  ASSERT_TRUE(database_->Checkpoint().ok());
  CrashAndReopen(5);
  ExpectAll({{"t", after_}, {"other", {{1, 10}}}});
  ExpectWorks();
}

TEST_P(StandstillTest, ACheckpointInTheMiddleMakesNoDifference) {
  ASSERT_NO_FATAL_FAILURE(StandStill());
  ASSERT_TRUE(database_->Checkpoint().ok());
  MustWrite("t", WriteOp::kDelete, {{14, 0}});
  after_.erase(14);
  gate_.Open();
  ASSERT_TRUE(job_.get().ok());
  MustWrite("t", WriteOp::kDelete, {{15, 0}});
  after_.erase(15);
  LetGo();
  CrashAndReopen(6);
  ExpectAll({{"t", after_}, {"other", {{1, 10}}}});
  ExpectWorks();
}

TEST_P(StandstillTest, ADropInTheMiddleEndsWell) {
  ASSERT_NO_FATAL_FAILURE(StandStill());
  const auto transaction = database_->Begin();
  ASSERT_TRUE(transaction->DropTable({"main", "t"}).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  gate_.Open();
  const Status done = job_.get();
  EXPECT_TRUE(done.ok() || done.code() == StatusCode::kBusy || done.code() == StatusCode::kNotFound) << done.message();
  ExpectOld();
  LetGo();
  ExpectAll({{"other", {{1, 10}}}});
  CrashAndReopen(7);
  ExpectAll({{"other", {{1, 10}}}});
}

constexpr Standstill kStandstills[] = {
    {"FlushAtCreation", Call::kCreate, false},   {"FlushAtAppend", Call::kAppend, false},
    {"FlushAtSync", Call::kSyncWriter, false},   {"CompactionAtCreation", Call::kCreate, true},
    {"CompactionAtAppend", Call::kAppend, true}, {"CompactionAtSync", Call::kSyncWriter, true},
};
INSTANTIATE_TEST_SUITE_P(Jobs, StandstillTest, ::testing::ValuesIn(kStandstills),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(RaceTest, AFlushTakesWhatWasThereWhenItBegan) {
  Open();
  ASSERT_TRUE(CreateNumberTables(*database_, {{"t", 1}}).ok());
  MustWrite("t", WriteOp::kInsert, Range(0, 10, 1));
  gate_.Shut(Call::kCreate, ".parquet");
  job_ = std::async(std::launch::async, [this] { return database_->Flush(); });
  gate_.AwaitWaiter();
  MustWrite("t", WriteOp::kInsert, Range(10, 20, 1));  // to a memrowset that goes on taking rows
  gate_.Open();
  ASSERT_TRUE(job_.get().ok());
  EXPECT_EQ(database_->metrics().flushes.load(), 1u);
  ExpectAll({{"t", ToNumbers(Range(0, 20, 1))}});
}

TEST_F(RaceTest, ACommitThatIsNotDurableYetIsSeenByNobody) {
  Open();
  ASSERT_TRUE(CreateNumberTables(*database_, {{"a", 1}, {"b", 1}}).ok());
  const uint64_t before = database_->CurrentSnapshot()->commit();
  gate_.Shut(Call::kSyncFile, "/wal/");
  job_ = std::async(std::launch::async, [this] {
    const auto transaction = database_->Begin();
    RETURN_IF_ERROR(WriteNumbers(*transaction, "a", WriteOp::kInsert, {{1, 1}}));
    RETURN_IF_ERROR(WriteNumbers(*transaction, "b", WriteOp::kInsert, {{1, 1}}));
    return transaction->Commit();
  });
  gate_.AwaitWaiter();
  const auto snapshot = database_->CurrentSnapshot();
  EXPECT_EQ(snapshot->commit(), before);
  ExpectNumbers(*database_, {{"a", {}}, {"b", {}}});
  // A transaction that began before it is in conflict with it, though it cannot see it.
  auto conflict = std::async(std::launch::async, [this] {
    const auto transaction = database_->Begin();
    RETURN_IF_ERROR(WriteNumbers(*transaction, "b", WriteOp::kUpsert, {{1, 2}}));
    return transaction->Commit();
  });
  EXPECT_EQ(conflict.get().code(), StatusCode::kBusy);
  gate_.Open();
  ASSERT_TRUE(job_.get().ok());
  ExpectNumbers(*database_, {{"a", {{1, 1}}}, {"b", {{1, 1}}}});
  EXPECT_EQ(*ReadNumbers(snapshot->View(snapshot->version().FindTable({"main", "a"}))), Numbers());
}

// What a writer is told about a key may rest on a commit that nobody sees yet: it is told when it can be seen.
TEST_F(RaceTest, AnAnswerThatRestsOnAPendingCommitWaitsForIt) {
  struct Case {
    WriteOp pending, asked;
    StatusCode code;
  };
  for (const Case& each : {Case{WriteOp::kInsert, WriteOp::kInsertOrIgnore, StatusCode::kOk},
                           Case{WriteOp::kInsert, WriteOp::kInsert, StatusCode::kAlreadyExists},
                           Case{WriteOp::kDelete, WriteOp::kDelete, StatusCode::kOk},
                           Case{WriteOp::kDelete, WriteOp::kUpdate, StatusCode::kOk}}) {
    SCOPED_TRACE(fmt::format("{} after {}", static_cast<int>(each.asked), static_cast<int>(each.pending)));
    database_ = nullptr;
    fs_.Crash(1);
    Open();
    const std::string table = fmt::format("t{}{}", static_cast<int>(each.pending), static_cast<int>(each.asked));
    ASSERT_TRUE(CreateNumberTables(*database_, {{table, 1}}).ok());
    if (each.pending == WriteOp::kDelete) MustWrite(table, WriteOp::kInsert, {{1, 1}});
    gate_.Shut(Call::kSyncFile, "/wal/");
    job_ = std::async(std::launch::async,
                      [&] { return WriteNumbers(*database_, table, each.pending, {{1, 1}}).status(); });
    gate_.AwaitWaiter();
    auto answer =
        std::async(std::launch::async, [&] { return WriteNumbers(*database_, table, each.asked, {{1, 2}}).status(); });
    EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    gate_.Open();
    EXPECT_EQ(answer.get().code(), each.code);
    EXPECT_TRUE(job_.get().ok());
  }
}

TEST_F(RaceTest, ACommitWhoseSyncFailsIsNobodysAnswer) {
  Open();
  ASSERT_TRUE(CreateNumberTables(*database_, {{"t", 1}}).ok());
  gate_.Shut(Call::kSyncFile, "/wal/");
  job_ = std::async(std::launch::async,
                    [&] { return WriteNumbers(*database_, "t", WriteOp::kInsert, {{1, 1}}).status(); });
  gate_.AwaitWaiter();
  auto ignored = std::async(std::launch::async,
                            [&] { return WriteNumbers(*database_, "t", WriteOp::kInsertOrIgnore, {{1, 2}}).status(); });
  ignored.wait_for(std::chrono::milliseconds(20));
  fs_.FailFrom(1, Fault::kIoError);
  gate_.Open();
  EXPECT_THAT(job_.get().message(), HasSubstr("read-only until it is opened again"));
  EXPECT_THAT(ignored.get().message(), HasSubstr("read-only until it is opened again"));
  ExpectNumbers(*database_, {{"t", {}}});
  EXPECT_THAT(WriteNumbers(*database_, "t", WriteOp::kInsert, {{2, 2}}).status().message(),
              HasSubstr("read-only until it is opened again"));
  CrashAndReopen(1);
  const auto contents = *ReadNumbers(ViewOf(*database_, "t"));
  EXPECT_TRUE(contents.empty() || contents == (Numbers{{1, 1}}));
}

TEST_F(RaceTest, AFlushOfOneTableTearsNoCommitOfTwo) {
  for (const Durability durability : {Durability::kAsync, Durability::kNone}) {
    bool reached = true;
    for (uint64_t n = 1; reached; ++n) {
      SCOPED_TRACE(fmt::format("durability {}, crash at {}", static_cast<int>(durability), n));
      const DatabaseOptions options{.durability = durability, .async_interval_ms = 1 << 30};
      Open(options);
      ASSERT_TRUE(CreateNumberTables(*database_, {{"a", 1}, {"b", 3}}).ok());
      ASSERT_TRUE(database_->Checkpoint().ok());
      const auto transaction = database_->Begin();
      ASSERT_TRUE(WriteNumbers(*transaction, "a", WriteOp::kInsert, Range(0, 20, 1)).ok());
      ASSERT_TRUE(WriteNumbers(*transaction, "b", WriteOp::kInsert, Range(0, 20, 2)).ok());
      ASSERT_TRUE(transaction->Commit().ok());
      const uint64_t before = fs_.mutations();
      fs_.FailFrom(n, Fault::kIoError);
      const Status flushed = database_->Flush(TableName{"main", "a"});
      reached = fs_.mutations() - before >= n;
      CrashAndReopen(n, options);
      const auto contents = *ReadAllNumbers(*database_);
      const bool is_there = !contents.at("a").empty();
      EXPECT_TRUE(is_there || !flushed.ok());
      EXPECT_EQ(contents.at("a"), is_there ? ToNumbers(Range(0, 20, 1)) : Numbers());
      EXPECT_EQ(contents.at("b"), is_there ? ToNumbers(Range(0, 20, 2)) : Numbers());
      ExpectSound(*database_);
      Clear();
    }
  }
}

TEST_F(RaceTest, AHeldSnapshotStopsNoFlushAndNoWriter) {
  Open({.write_bytes = 1 << 20, .history_retention_micros = 0});
  ASSERT_TRUE(CreateNumberTables(*database_, {{"t", 1}}).ok());
  MustWrite("t", WriteOp::kInsert, Range(0, 1000, 1));
  const auto held = database_->CurrentSnapshot();
  int64_t round = 2;
  for (; round < 60 || database_->metrics().flushes.load() < 2; ++round) {
    ASSERT_LT(round, 10'000) << "nothing was flushed";
    MustWrite("t", WriteOp::kUpsert, Range(0, 1000, round));
  }
  MustWrite("t", WriteOp::kDelete, Range(0, 500, 0));
  ASSERT_TRUE(database_->Flush().ok());
  EXPECT_LT(database_->context().memory.used(MemoryUse::kMemRowsets), size_t{1} << 20);
  ASSERT_TRUE(database_->Compact(std::nullopt, true).ok());
  EXPECT_EQ(*ReadNumbers(held->View(held->version().FindTable({"main", "t"}))), ToNumbers(Range(0, 1000, 1)));
  ExpectNumbers(*database_, {{"t", ToNumbers(Range(500, 1000, round - 1))}});
  ExpectSound(*database_);
}

struct Change {
  WriteOp op;
  int64_t key;  // 1 is there, 2 is not
};

// What the first committer does to a key, and what the second one wanted to do with it.
TEST_F(RaceTest, TheFirstCommitterWins) {
  const std::vector<std::vector<Change>> firsts = {
      {{WriteOp::kUpsert, 1}},
      {{WriteOp::kUpdate, 1}},
      {{WriteOp::kDelete, 1}},
      {{WriteOp::kInsert, 2}},
      {{WriteOp::kInsert, 2}, {WriteOp::kDelete, 2}},
      {{WriteOp::kDelete, 1}, {WriteOp::kInsert, 1}},
  };
  int64_t tables = 0;
  for (const auto& first : firsts) {
    for (const WriteOp second : {WriteOp::kInsert, WriteOp::kUpsert, WriteOp::kUpdate, WriteOp::kDelete}) {
      const bool present = first[0].key == 1;
      if (present == (second == WriteOp::kInsert)) continue;                               // an error long before
      if (!present && second != WriteOp::kInsert && second != WriteOp::kUpsert) continue;  // nothing to commit
      for (const int between : {0, 1, 2, 3}) {
        SCOPED_TRACE(fmt::format("{} of {} changes, then {}, maintenance {}", static_cast<int>(first[0].op),
                                 first.size(), static_cast<int>(second), between));
        if (database_ == nullptr) {
          ASSERT_NO_FATAL_FAILURE(Open({.history_retention_micros = 0}));
        }
        const std::string table = fmt::format("t{}", ++tables);
        ASSERT_TRUE(CreateNumberTables(*database_, {{table, 1}}).ok());
        MustWrite(table, WriteOp::kInsert, {{1, 0}, {3, 0}});
        if (between == 3) {
          ASSERT_TRUE(database_->Flush().ok());
        }
        const auto late = database_->Begin();
        const auto untouched = database_->Begin();
        ASSERT_TRUE(WriteNumbers(*late, table, second, {{first[0].key, 9}}).ok());
        ASSERT_TRUE(WriteNumbers(*untouched, table, WriteOp::kUpsert, {{3, 9}, {4, 9}}).ok());
        for (const Change& change : first) MustWrite(table, change.op, {{change.key, 5}});
        const auto expected = *ReadNumbers(ViewOf(*database_, table));
        if (between >= 1) {
          ASSERT_TRUE(database_->Flush().ok());
        }
        if (between >= 2) {
          ASSERT_TRUE(database_->Compact(TableName{"main", table}, true).ok());
        }
        const Status lost = late->Commit();
        EXPECT_EQ(lost.code(), StatusCode::kBusy) << lost.message();
        EXPECT_THAT(lost.message(), HasSubstr(fmt::format("key ({})", first[0].key)));
        EXPECT_THAT(lost.message(), HasSubstr(table));
        EXPECT_EQ(*ReadNumbers(ViewOf(*database_, table)), expected);
        const Status won = untouched->Commit();
        EXPECT_TRUE(won.ok()) << won.message();
      }
    }
  }
  ExpectSound(*database_);
}

// Commits of different tables tell when they were in any order.
TEST_F(RaceTest, ATimeNamesTheNewestCommitHoweverTheyWereNoted) {
  Snapshots snapshots(1'000'000'000);
  snapshots.Note({1, 1'000'000});
  snapshots.Note({3, 1'500'001});
  snapshots.Note({2, 1'500'000});
  snapshots.Note({6, 3'000'000});
  snapshots.Note({4, 2'000'000});
  snapshots.Note({5, 2'500'000});
  EXPECT_EQ(*snapshots.CommitAt(1'000'000), 1u);
  EXPECT_EQ(*snapshots.CommitAt(1'600'000), 3u);
  EXPECT_EQ(*snapshots.CommitAt(2'000'000), 4u);
  EXPECT_EQ(*snapshots.CommitAt(2'600'000), 5u);
  EXPECT_EQ(*snapshots.CommitAt(9'000'000), 6u);
}

}  // namespace
}  // namespace petalite::store
