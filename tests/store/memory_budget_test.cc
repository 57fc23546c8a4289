// That memory stays within its limit (invariant 7), and what happens where somebody else hands it out.

#include "store/memory_budget.h"

#include <algorithm>
#include <future>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "base/hash.h"
#include "number_tables.h"
#include "store/flush.h"
#include "store/key_index.h"
#include "store/maintenance.h"
#include "store/rowset_merge.h"
#include "store/rowset_writer.h"

namespace petalite::store {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Has so much and no more.
class Purse : public MemorySource {
 public:
  explicit Purse(size_t bytes) : left_(bytes) {}
  bool Reserve(size_t bytes) override {
    ++asked;
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  void Release(size_t bytes) override { left_ += bytes; }
  size_t left() const { return left_; }
  size_t asked = 0;

 private:
  std::atomic<size_t> left_;
};

TEST(MemoryBudgetTest, AReservationFollowsWhatIsUsed) {
  const auto purse = std::make_shared<Purse>(64 * kMiB);
  {
    MemoryBudget budget({.limit = 64 * kMiB}, purse);
    budget.Settle();
    EXPECT_EQ(purse->left(), 64 * kMiB);
    {
      const MemoryCharge charge(budget, MemoryUse::kStaged, 30 * kMiB);
      budget.Settle();
      EXPECT_EQ(budget.used(MemoryUse::kStaged), 30 * kMiB);
      EXPECT_LE(purse->left(), 34 * kMiB);
      EXPECT_GE(purse->left(), 26 * kMiB);
    }
    budget.Settle();
    EXPECT_EQ(budget.used(), 0u);
    EXPECT_EQ(budget.peak(), 30 * kMiB);
    EXPECT_GE(purse->left(), 60 * kMiB);
    budget.Add(MemoryUse::kFilters, 20 * kMiB);
    budget.Settle();
    budget.Remove(MemoryUse::kFilters, 20 * kMiB);
  }
  EXPECT_EQ(purse->left(), 64 * kMiB);
}

TEST(MemoryBudgetTest, WhereTheSourceHasNoMoreTheCacheGivesBack) {
  const auto purse = std::make_shared<Purse>(16 * kMiB);
  MemoryBudget budget({.limit = 64 * kMiB}, purse);
  size_t cached = 0;
  budget.SetShrink([&](size_t bytes) {
    const size_t given = std::min(bytes, cached);
    cached -= given;
    budget.Remove(MemoryUse::kPages, given);
  });
  const auto cache = [&](size_t bytes) {
    cached += bytes;
    budget.Add(MemoryUse::kPages, bytes);
    budget.Settle();
  };
  cache(16 * kMiB);
  EXPECT_FALSE(budget.is_tight());
  budget.Add(MemoryUse::kMemRowsets, 10 * kMiB);
  budget.Settle();
  EXPECT_EQ(cached, 6 * kMiB);
  EXPECT_LE(budget.used(), 16 * kMiB);
  EXPECT_FALSE(budget.is_tight());
  budget.Add(MemoryUse::kMemRowsets, 10 * kMiB);  // more than there is
  budget.Settle();
  EXPECT_EQ(cached, 0u);
  EXPECT_TRUE(budget.is_tight());
  const size_t asked = purse->asked;
  cache(kMiB);
  EXPECT_EQ(cached, 0u);
  EXPECT_EQ(purse->asked, asked);  // not again so soon
  budget.Remove(MemoryUse::kMemRowsets, 20 * kMiB);
  while (budget.is_tight()) budget.Settle();
  cache(kMiB);
  EXPECT_EQ(cached, kMiB);
}

TEST(MemoryBudgetTest, MergesThatDoNotFitTogetherTakeTurns) {
  MemoryBudget budget({.limit = 64 * kMiB, .jobs = 16 * kMiB});
  auto large = std::make_unique<MergeCharge>(budget, 100 * kMiB);  // alone it may run, however large
  auto waiting = std::async(std::launch::async, [&] {
    const MergeCharge first(budget, 4 * kMiB);
    const MergeCharge second(budget, 4 * kMiB);  // fits beside the first
    return budget.used(MemoryUse::kMerges);
  });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  large = nullptr;
  EXPECT_EQ(waiting.get(), 8 * kMiB);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudgetTest, AWriterWithLittleMemoryFillsSmallerGroups) {
  const Schema schema;
  const TableOptions options(schema);
  const WriterPlan wide = PlanWriter(options, 100, 0, size_t{1} << 30);
  EXPECT_TRUE(wide.parallel);
  EXPECT_EQ(wide.row_group_rows, options.row_group_rows());
  const WriterPlan serial = PlanWriter(options, 100, 0, 24 * kMiB);
  EXPECT_FALSE(serial.parallel);
  EXPECT_EQ(serial.row_group_rows, options.row_group_rows());
  const WriterPlan narrow = PlanWriter(options, 100, 0, 4 * kMiB);
  EXPECT_FALSE(narrow.parallel);
  EXPECT_EQ(narrow.row_group_rows, 2 * options.page_rows());
  EXPECT_LE(narrow.bytes, 4 * kMiB);
  EXPECT_EQ(PlanWriter(options, 100, 0, 0).row_group_rows, options.page_rows());
  EXPECT_GT(PlanWriter(options, 100, 1'000'000, 0).bytes, 2'000'000u);  // the key filter counts
}

TEST(MemoryBudgetTest, AKeyFilterIsTheSameWhetherOrNotItsKeysAreCounted) {
  std::vector<uint64_t> hashes(10'000);
  for (size_t i = 0; i < hashes.size(); ++i) hashes[i] = Remix(i);
  KeyFilterBuilder counted(hashes.size(), 0.0001);
  KeyFilterBuilder uncounted(0, 0.0001);
  for (size_t i = 0; i < hashes.size(); i += 1000) {
    counted.Add(std::span(hashes).subspan(i, 1000));
    uncounted.Add(std::span(hashes).subspan(i, 1000));
  }
  counted.Finish();
  uncounted.Finish();
  EXPECT_EQ(counted.header(), uncounted.header());
  EXPECT_TRUE(std::ranges::equal(counted.bits(), uncounted.bits()));
}

TEST(MemoryBudgetTest, SmallNumbersTakeAsFewBitsAsTheyNeed) {
  for (const uint32_t largest : {0u, 1u, 2u, 3u, 7u, 15u, 16u, 255u}) {
    SmallNumbers numbers(largest, 1000);
    for (uint32_t i = 0; i < 1000; ++i) numbers.Append(i * 7 % (largest + 1));
    for (uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(numbers[i], i * 7 % (largest + 1)) << largest;
  }
  EXPECT_LE(SmallNumbers::BytesFor(1, 1000), 126u);
  EXPECT_LE(SmallNumbers::BytesFor(5, 1000), 501u);
  EXPECT_LE(SmallNumbers::BytesFor(254, 1000), 1001u);
}

// Many enough to be sorted in parts, with long common prefixes, versions of keys, and some that are dead.
TEST(MemoryBudgetTest, RowsOfAMemrowsetAreSortedInParts) {
  Schema schema;
  schema.fields = {{.name = "k", .type = Type::Of(TypeId::kString)}};
  MemRowset mem(1, schema, {0});
  std::mt19937_64 random(7);
  std::vector<std::string> texts(300'000);
  std::vector<StringRef> values;
  std::vector<std::string_view> keys;
  std::vector<uint64_t> hashes;
  for (std::string& text : texts) {
    text = fmt::format("customer-{:06}", random() % 1'000'000);
    keys.push_back(text);
    hashes.push_back(Xxh64(std::string_view(text)));
    values.emplace_back(text);
  }
  for (uint32_t row = 0; row < texts.size(); ++row) {
    const uint32_t before = mem.FindNewest(keys[row], hashes[row]);
    if (before != kNoRow) mem.Kill({&before, 1}, row / 1000 + 1);
    const ColumnView view{.values = &values[row], .size = 1};
    mem.Append({&view, 1}, 1, {&keys[row], 1}, {&hashes[row], 1}, row / 1000 + 1, row);
  }
  std::vector<uint32_t> expected;
  constexpr uint64_t kHorizon = 100;
  const MemRowset::Births births(mem);
  for (uint32_t row = 0; row < texts.size(); ++row) {
    ASSERT_EQ(births[row], row / 1000 + 1);
    if (mem.DiedAt(row) > kHorizon) expected.push_back(row);
  }
  ASSERT_LT(expected.size(), texts.size());
  std::sort(expected.begin(), expected.end(),
            [&](uint32_t a, uint32_t b) { return texts[a] != texts[b] ? texts[a] < texts[b] : a > b; });
  EXPECT_EQ(SortedRows(mem, kHorizon), expected);
}

class MemoryWorkTest : public ::testing::Test {
 protected:
  void Open(DatabaseOptions options) {
    options.create = true;
    options.fs = &fs_;
    options.history_retention_micros = 0;
    auto opened = Database::Open("db", options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    database_ = *std::move(opened);
    const auto transaction = database_->Begin();
    TableDefinition definition = NumberTable("t");
    definition.options = {{"page_rows", "1024"}, {"row_group_rows", "8192"}, {"rowset_bytes", "1000000"}};
    ASSERT_TRUE(transaction->CreateTable(definition).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }

  // Rows [begin, end) of a sequence of random keys.
  NumberRows Rows(uint64_t begin, uint64_t end) {
    NumberRows rows;
    for (uint64_t i = begin; i < end; ++i) {
      rows.emplace_back(static_cast<int64_t>(Remix(i + 1)), static_cast<int64_t>(i));
    }
    return rows;
  }

  // Batches, a transaction, a load and scans, until there are as many rows.
  void Work(uint64_t rows) {
    constexpr uint64_t kBatch = 4000;
    for (uint64_t done = 0; done < rows; done += kBatch) {
      const NumberBatch batch(WriteOp::kInsert, Rows(done, done + kBatch));
      if (done % 40'000 == 20'000) {
        const auto transaction = database_->Begin();
        ASSERT_TRUE(transaction->Write({"main", "t"}, *batch).ok());
        ASSERT_TRUE(transaction->Commit().ok());
      } else if (done % 40'000 == 32'000) {
        const auto transaction = database_->Begin();
        auto appender = transaction->Append({"main", "t"});
        ASSERT_TRUE(appender.ok());
        ASSERT_TRUE((*appender)->Append((*batch).columns, kBatch).ok());
        ASSERT_TRUE((*appender)->Finish().ok());
        ASSERT_TRUE(transaction->Commit().ok());
      } else {
        const auto written = database_->Write({"main", "t"}, *batch);
        ASSERT_TRUE(written.ok()) << written.status().message();
      }
      if (done % 100'000 == 0) {
        ASSERT_TRUE(ScanKeys(ViewOf(*database_, "t")).ok());
      }
    }
    ASSERT_TRUE(database_->WaitUntilIdle().ok());
    const auto keys = ScanKeys(ViewOf(*database_, "t"));
    ASSERT_TRUE(keys.ok()) << keys.status().message();
    EXPECT_EQ(keys->size(), rows);
    ExpectSound(*database_);
  }

  FaultFileSystem fs_{1};
  std::unique_ptr<Database> database_;
};

TEST_F(MemoryWorkTest, WhatIsCountedStaysBelowTheLimit) {
  constexpr size_t kLimit = 16 * kMiB;
  Open({.memory_limit = kLimit, .threads = 2});
  const MemoryShares& shares = database_->context().memory.shares();
  EXPECT_LE(shares.cache + shares.writes + shares.jobs, kLimit);
  Work(400'000);
  EXPECT_GT(database_->metrics().flushes.load(), 2u);
  EXPECT_GT(database_->metrics().compactions.load(), 0u);
  const MemoryBudget& memory = database_->context().memory;
  EXPECT_LE(memory.peak(), kLimit);
  EXPECT_GT(memory.peak(), kLimit / 8);  // it counts
  EXPECT_GT(memory.used(MemoryUse::kFilters), 0u);
  EXPECT_GT(memory.used(MemoryUse::kPages), 0u);
  ASSERT_TRUE(database_->Flush().ok());
  EXPECT_EQ(memory.used(MemoryUse::kFlushes) + memory.used(MemoryUse::kMerges) + memory.used(MemoryUse::kStaged), 0u);
}

// DuckDB may need its memory itself: then everything goes on, in less.
TEST_F(MemoryWorkTest, WorkGoesOnWhereTheSourceRefuses) {
  const auto purse = std::make_shared<Purse>(4 * kMiB);
  Open({.memory_limit = 64 * kMiB, .threads = 2, .memory_source = purse});
  Work(200'000);
  EXPECT_GT(database_->metrics().flushes.load(), 0u);  // with all of its share nothing would have been flushed
  EXPECT_LE(database_->context().memory.used(MemoryUse::kPages), 4 * kMiB);
  database_ = nullptr;
  EXPECT_EQ(purse->left(), 4 * kMiB);
}

TEST_F(MemoryWorkTest, SharesThatLeaveNothingToJobsAreRefused) {
  const auto opened =
      Database::Open("db", {.create = true, .memory_limit = 64 * kMiB, .cache_bytes = 40 * kMiB, .fs = &fs_});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(opened.status().message(), ::testing::HasSubstr("leave too little of memory_limit (67108864)"));
}

// A merge knows beforehand how many rows come, and cuts them into outputs of one size.
TEST_F(MemoryWorkTest, OutputsOfAMergeAreOfAboutTheSameSize) {
  Open({.threads = 1, .background = false});
  for (uint64_t i = 0; i < 4; ++i) {
    const NumberBatch batch(WriteOp::kInsert, Rows(i * 50'000, (i + 1) * 50'000));
    ASSERT_TRUE(database_->Write({"main", "t"}, *batch).ok());
    ASSERT_TRUE(database_->Flush().ok());
  }
  const auto table = database_->Current()->FindTable({"main", "t"});
  const auto& tablet = table->tablets()[0];
  ASSERT_TRUE(CompactRowsets(*tablet, *table, tablet->state()->rowsets()).ok());
  const auto state = tablet->state();
  ASSERT_GT(state->rowsets().size(), 2u);
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  for (const auto& rowset : state->rowsets()) {
    least = std::min(least, rowset->info().rows);
    most = std::max(most, rowset->info().rows);
    EXPECT_LE(rowset->info().bytes, 1'100'000u);
    EXPECT_NEAR((*rowset->LoadKeyFilter())->real_fpp(), 0.0001, 0.00002);
  }
  EXPECT_LE(most - least, 10u);
  ExpectSound(*database_);
}

}  // namespace
}  // namespace petalite::store
