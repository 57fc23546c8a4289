// Writers, readers and every kind of maintenance at once, with memory so small that something is always being flushed:
// what is read stays what it was, and in the end the tables hold what the acknowledged commits say.

#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "number_tables.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

constexpr int64_t kAccounts = 40;
constexpr int64_t kDeposit = 1000;
constexpr int64_t kWriters = 2;
constexpr auto kDuration = std::chrono::milliseconds(1500);

// A commit that others may have raced with: where it stands in the order of commits says what it must have met.
struct Contested {
  std::string table;
  WriteOp op;
  NumberRows rows;
  std::vector<RowOutcome> outcomes;
};

class Commotion {
 public:
  explicit Commotion(uint64_t seed) : seed_(seed), fs_(seed) {}

  void Run() {
    ASSERT_NO_FATAL_FAILURE(Prepare());
    std::vector<std::function<void(Commotion&, uint64_t)>> jobs = {
        &Commotion::Contend, &Commotion::Contend, &Commotion::Transfer,   &Commotion::Transfer,
        &Commotion::Read,    &Commotion::Read,    &Commotion::Flush,      &Commotion::Compact,
        &Commotion::Hold,    &Commotion::Define,  &Commotion::Checkpoint,
    };
    for (int64_t i = 0; i < kWriters; ++i) jobs.push_back([i](Commotion& self, uint64_t seed) { self.Write(i, seed); });
    std::vector<std::thread> threads;
    for (size_t i = 0; i < jobs.size(); ++i) threads.emplace_back([this, i, &jobs] { jobs[i](*this, seed_ + i); });
    std::this_thread::sleep_for(kDuration);
    stop_ = true;
    for (std::thread& thread : threads) thread.join();
    const Status idle = database_->WaitUntilIdle();
    EXPECT_TRUE(idle.ok()) << idle.message();
    CompareHeld();
    CompareContents();
    EXPECT_GT(database_->metrics().flushes.load(), 0u);
    EXPECT_GT(database_->metrics().compactions.load(), 0u);
    EXPECT_GT(contested_.size(), 0u);
    database_ = nullptr;
    ASSERT_NO_FATAL_FAILURE(Open(false));
    CompareContents();
  }

 private:
  struct Held {
    std::shared_ptr<const Snapshot> snapshot;
    NumberTables contents;
  };

  void Open(bool background) {
    auto opened = Database::Open("db", {.create = true,
                                        .cache_bytes = 1 << 20,
                                        .write_bytes = 1 << 20,
                                        .threads = 2,
                                        .history_retention_micros = 100'000,
                                        .wal_segment_bytes = 1 << 16,
                                        .background = background,
                                        .fs = &fs_});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    database_ = *std::move(opened);
  }

  void Prepare() {
    ASSERT_NO_FATAL_FAILURE(Open(true));
    ASSERT_TRUE(CreateNumberTables(*database_, {{"one", 1}, {"three", 3}, {"left", 1}, {"right", 3}}).ok());
    NumberRows accounts;
    for (int64_t i = 0; i < kAccounts; ++i) accounts.emplace_back(i, kDeposit);
    for (const char* table : {"left", "right"}) {
      ASSERT_TRUE(WriteNumbers(*database_, table, WriteOp::kInsert, accounts).ok());
    }
  }

  // The first failure ends the run.
  bool Check(bool sound, const std::string& what) {
    if (sound) return true;
    if (!stop_.exchange(true)) ADD_FAILURE() << what;
    return false;
  }
  bool Check(const Status& status, const std::string& what) {
    return Check(status.ok(), what + ": " + std::string(status.message()));
  }

  // What a batch does to the rows of a table.
  static void Apply(WriteOp op, const NumberRows& rows, Numbers* numbers, std::vector<RowOutcome>* outcomes) {
    for (const auto& [key, value] : rows) {
      const bool present = numbers->contains(key);
      switch (op) {
        case WriteOp::kInsert:
        case WriteOp::kInsertOrIgnore:
          if (!present) (*numbers)[key] = value;
          outcomes->push_back(present ? RowOutcome::kIgnored : RowOutcome::kInserted);
          break;
        case WriteOp::kUpsert:
          (*numbers)[key] = value;
          outcomes->push_back(present ? RowOutcome::kUpdated : RowOutcome::kInserted);
          break;
        case WriteOp::kUpdate:
          if (present) (*numbers)[key] = value;
          outcomes->push_back(present ? RowOutcome::kUpdated : RowOutcome::kAbsent);
          break;
        case WriteOp::kDelete:
          numbers->erase(key);
          outcomes->push_back(present ? RowOutcome::kDeleted : RowOutcome::kAbsent);
          break;
      }
    }
  }

  // Keys that are one writer's alone: no write of them may fail, and each meets what the last one left.
  void Write(int64_t writer, uint64_t seed) {
    std::mt19937_64 random(seed);
    NumberTables own;
    while (!stop_) {
      const auto op = static_cast<WriteOp>(2 + random() % 4);
      NumberRows rows;
      for (uint64_t i = 0, count = 1 + random() % 30; i < count; ++i) {
        rows.emplace_back(static_cast<int64_t>(random() % 2000) * kWriters + writer,
                          static_cast<int64_t>(random() % 1000));
      }
      if (random() % 3 == 0) {
        const auto transaction = database_->Begin();
        std::vector<RowOutcome> ignored;
        for (const char* table : {"one", "three"}) {
          if (!Check(WriteNumbers(*transaction, table, op, rows), "a write in a transaction")) return;
          Apply(op, rows, &own[table], &ignored);
        }
        if (!Check(transaction->Commit(), "a transaction")) return;
        continue;
      }
      const char* table = random() % 2 == 0 ? "one" : "three";
      std::vector<RowOutcome> outcomes;
      std::vector<RowOutcome> expected;
      const auto written = WriteNumbers(*database_, table, op, rows, &outcomes);
      if (!Check(written.status(), "a batch")) return;
      Apply(op, rows, &own[table], &expected);
      if (!Check(outcomes == expected, "the outcomes of a batch are others")) return;
    }
    const std::lock_guard lock(mutex_);
    for (const auto& [table, numbers] : own) expected_[table].insert(numbers.begin(), numbers.end());
  }

  // Few keys, below 0, that others write too.
  void Contend(uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!stop_) {
      const auto op = static_cast<WriteOp>(1 + random() % 5);
      NumberRows rows;
      int64_t key = -1;
      for (uint64_t i = 0, count = 1 + random() % 4; i < count; ++i) {
        key -= static_cast<int64_t>(1 + random() % 8);
        rows.emplace_back(key, static_cast<int64_t>(random() % 1000));
      }
      const char* table = random() % 2 == 0 ? "one" : "three";
      std::vector<RowOutcome> outcomes;
      const auto written = WriteNumbers(*database_, table, op, rows, &outcomes);
      if (written.status().code() == StatusCode::kAlreadyExists && op == WriteOp::kInsert) continue;
      if (!Check(written.status(), "a contested batch")) return;
      if (written->commit == 0) continue;
      const std::lock_guard lock(mutex_);
      const bool is_new = contested_.emplace(written->commit, Contested{table, op, rows, outcomes}).second;
      if (!Check(is_new, "two commits have one number")) return;
    }
  }

  // Moves money between two tables: the sum of both stays.
  void Transfer(uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!stop_) {
      const auto from = static_cast<int64_t>(random() % kAccounts);
      const auto to = static_cast<int64_t>(random() % kAccounts);
      const auto amount = static_cast<int64_t>(random() % 100);
      const auto transaction = database_->Begin();
      const auto balance = [&](const char* name, int64_t account) {
        const auto view = transaction->View(transaction->view().FindTable({"main", name}));
        const auto found = view.ok() ? LookUpNumber(**view, account) : Result<std::optional<int64_t>>(view.status());
        Check(found.status(), "a lookup");
        Check(!found.ok() || found->has_value(), "an account is gone");
        return found.ok() ? found->value_or(0) : 0;
      };
      const NumberRows left = {{from, balance("left", from) - amount}};
      const NumberRows right = {{to, balance("right", to) + amount}};
      if (stop_) return;
      if (!Check(WriteNumbers(*transaction, "left", WriteOp::kUpsert, left), "a withdrawal")) return;
      if (!Check(WriteNumbers(*transaction, "right", WriteOp::kUpdate, right), "a deposit")) return;
      const Status committed = transaction->Commit();
      if (committed.code() != StatusCode::kBusy && !Check(committed, "a transfer")) return;
    }
  }

  bool CheckSum(const NumberTables& tables) {
    int64_t sum = 0;
    for (const char* table : {"left", "right"}) {
      for (const auto& [_, balance] : tables.at(table)) sum += balance;
    }
    return Check(sum == 2 * kAccounts * kDeposit, fmt::format("the accounts' sum is {}", sum));
  }

  void Read(uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!stop_) {
      const auto snapshot = database_->CurrentSnapshot();
      const auto first = ReadAllNumbers(*snapshot);
      if (!Check(first.status(), "a scan") || !CheckSum(*first)) return;
      for (const auto& [_, table] : snapshot->version().TablesById()) {
        const Numbers& numbers = first->at(table->name().table);
        const auto view = snapshot->View(table);
        for (int i = 0; i < 10; ++i) {
          const int64_t key = static_cast<int64_t>(random() % 4200) - 40;
          const auto value = LookUpNumber(*view, key);
          if (!Check(value.status(), "a lookup")) return;
          const auto found = numbers.find(key);
          const int64_t expected = found == numbers.end() ? kAbsent : found->second;
          if (!Check(value->value_or(kAbsent) == expected, fmt::format("a lookup of {} differs from the scan", key)))
            return;
        }
      }
      const auto second = ReadAllNumbers(*snapshot);
      if (!Check(second.status(), "a scan") || !Check(*first == *second, "a snapshot changed")) return;
    }
  }

  void Hold(uint64_t) {
    while (!stop_) {
      auto snapshot = database_->CurrentSnapshot();
      auto contents = ReadAllNumbers(*snapshot);
      if (!Check(contents.status(), "a scan")) return;
      held_.push_back({std::move(snapshot), *std::move(contents)});
      for (int i = 0; i < 20 && !stop_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (held_.size() > 5) held_.erase(held_.begin() + 1);
    }
  }

  void Flush(uint64_t seed) {
    std::mt19937_64 random(seed);
    constexpr const char* kTables[] = {"one", "three", "left", "right"};
    while (!stop_) {
      if (!Check(database_->Flush(TableName{"main", kTables[random() % 4]}), "a flush")) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 10));
    }
  }

  void Compact(uint64_t seed) {
    std::mt19937_64 random(seed);
    constexpr const char* kTables[] = {"one", "three", "left", "right"};
    while (!stop_) {
      const auto table = database_->Current()->FindTable({"main", kTables[random() % 4]});
      if (random() % 8 == 0) {
        const Status compacted = database_->Compact(table->name(), random() % 2 == 0);
        if (compacted.code() != StatusCode::kBusy && !Check(compacted, "a compaction of a table")) return;
        continue;
      }
      Tablet& tablet = *table->tablets()[random() % table->tablets().size()];
      std::vector<std::shared_ptr<Rowset>> inputs;
      const auto state = tablet.state();
      for (const auto& rowset : state->rowsets()) {
        if (random() % 2 == 0) inputs.push_back(rowset);
      }
      if (inputs.empty()) continue;
      const Status compacted = CompactRowsets(tablet, *table, inputs);
      if (compacted.code() != StatusCode::kBusy && !Check(compacted, "a compaction")) return;
    }
  }

  void Checkpoint(uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!stop_) {
      if (!Check(database_->Checkpoint(), "a checkpoint")) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    }
  }

  // A table that comes with rows and goes.
  void Define(uint64_t seed) {
    std::mt19937_64 random(seed);
    const TableName name{"main", "passing"};
    while (!stop_) {
      const auto made = database_->Begin();
      NumberRows rows;
      for (int64_t i = 0; i < 50; ++i) rows.emplace_back(i, i);
      if (!Check(made->CreateTable(NumberTable("passing", 1 + static_cast<int>(random() % 3))).status(), "a table"))
        return;
      if (!Check(WriteNumbers(*made, "passing", WriteOp::kInsert, rows), "rows of a new table")) return;
      if (!Check(made->Commit(), "a new table")) return;
      if (random() % 2 == 0) {
        const auto truncated = database_->Begin();
        if (!Check(truncated->Truncate(name), "a truncation")) return;
        if (!Check(truncated->Commit(), "a truncation's commit")) return;
        if (!Check(WriteNumbers(*database_, "passing", WriteOp::kInsert, rows).status(), "rows after it")) return;
      }
      const auto dropped = database_->Begin();
      if (!Check(dropped->DropTable(name), "a drop")) return;
      if (!Check(dropped->Commit(), "a drop's commit")) return;
    }
  }

  void CompareHeld() {
    for (const Held& held : held_) {
      const auto contents = ReadAllNumbers(*held.snapshot);
      ASSERT_TRUE(contents.ok()) << contents.status().message();
      EXPECT_EQ(*contents, held.contents) << "as of " << held.snapshot->commit();
    }
    held_.clear();
  }

  void CompareContents() {
    NumberTables expected = expected_;
    for (const auto& [commit, each] : contested_) {
      std::vector<RowOutcome> outcomes;
      Apply(each.op, each.rows, &expected[each.table], &outcomes);
      ASSERT_EQ(outcomes, each.outcomes) << "of commit " << commit;
    }
    auto contents = ReadAllNumbers(*database_);
    ASSERT_TRUE(contents.ok()) << contents.status().message();
    CheckSum(*contents);
    for (const char* table : {"one", "three"}) EXPECT_EQ((*contents)[table], expected[table]) << table;
    ExpectSound(*database_);
  }

  const uint64_t seed_;
  FaultFileSystem fs_;
  std::unique_ptr<Database> database_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;                         // guards the next two
  NumberTables expected_;                    // of the keys that are one writer's alone
  std::map<uint64_t, Contested> contested_;  // by commit
  std::vector<Held> held_;                   // of one thread, then of the main one
};

TEST(ConcurrencyTest, EverythingAtOnceKeepsEveryPromise) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  Commotion(seed).Run();
}

}  // namespace
}  // namespace petalite::store
