// Tables with skip_unchanged: what changes nothing writes nothing, and is in conflict with who changed it all the same.

#include <bit>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "number_tables.h"
#include "store/commit_log.h"

namespace petalite::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using enum RowOutcome;

class UnchangedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened =
        Database::Open("db", {.create = true, .write_bytes = 8 << 20, .threads = 1, .background = false, .fs = &fs_});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    database_ = *std::move(opened);
  }

  void Create(TableDefinition definition, bool skips = true) {
    if (skips) definition.options.emplace_back("skip_unchanged", "on");
    const auto transaction = database_->Begin();
    const auto created = transaction->CreateTable(definition);
    ASSERT_TRUE(created.ok()) << created.status().message();
    ASSERT_TRUE(transaction->Commit().ok());
  }

  // The outcomes; the log must grow just where something changed.
  std::vector<RowOutcome> Write(const WriteBatch& batch) {
    const Lsn before = database_->context().log->wal().end();
    std::vector<RowOutcome> outcomes;
    const auto written = database_->Write({"main", "t"}, batch, &outcomes);
    EXPECT_TRUE(written.ok()) << written.status().message();
    if (!written.ok()) return {};
    const bool changed = written->counts.unchanged + written->counts.absent != outcomes.size();
    EXPECT_EQ(written->commit != 0, changed);
    EXPECT_EQ(database_->context().log->wal().end() != before, changed);
    return outcomes;
  }
  std::vector<RowOutcome> Write(WriteOp op, const NumberRows& rows) {
    const NumberBatch batch(op, rows);
    return Write(*batch);
  }

  void Flush() { ASSERT_TRUE(database_->Flush().ok()); }

  FaultFileSystem fs_;
  std::unique_ptr<Database> database_;
};

// A row of every layout, and of nulls.
TEST_F(UnchangedTest, EveryTypeIsComparedInMemoryAndInFiles) {
  TableDefinition definition{.name = {"main", "t"}, .key = {"k"}};
  definition.schema.fields = {
      {.name = "k", .type = Type::Of(TypeId::kInt32)},     {.name = "flag", .type = Type::Of(TypeId::kBool)},
      {.name = "small", .type = Type::Of(TypeId::kInt16)}, {.name = "real", .type = Type::Of(TypeId::kDouble)},
      {.name = "huge", .type = Type::Decimal(38, 2)},      {.name = "text", .type = Type::Of(TypeId::kString)},
      {.name = "blob", .type = Type::Of(TypeId::kBinary)}, {.name = "span", .type = Type::Of(TypeId::kInterval)}};
  Create(definition);
  const int32_t keys[] = {1, 2};
  const uint8_t flags[] = {1, 0};
  const int16_t smalls[] = {-7, 7};
  const double reals[] = {0.5, -1e300};
  const Int128 huges[] = {FromNative(12), FromNative(-12)};
  const std::string longer(100, 'x');
  const StringRef texts[] = {StringRef("short"), StringRef(longer)};
  const StringRef blobs[] = {StringRef(""), StringRef(std::string_view("a\0b", 3))};
  const Interval spans[] = {{1, 2, 3000}, {0, 0, 5000}};
  const void* const values[] = {keys, flags, smalls, reals, huges, texts, blobs, spans};
  const uint64_t second_is_null = 1;
  WriteBatch batch{.op = WriteOp::kUpsert, .rows = 2};
  for (const void* each : values) batch.columns.push_back({.values = each, .size = 2});
  EXPECT_THAT(Write(batch), ElementsAre(kInserted, kInserted));
  for (const bool in_file : {false, true}) {
    SCOPED_TRACE(in_file);
    if (in_file) Flush();
    EXPECT_THAT(Write(batch), ElementsAre(kUnchanged, kUnchanged));
    for (size_t column = 1; column < std::size(values); ++column) {
      SCOPED_TRACE(definition.schema[column].name);
      WriteBatch nulls = batch;
      nulls.columns[column].validity = &second_is_null;
      EXPECT_THAT(Write(nulls), ElementsAre(kUnchanged, kUpdated));
      if (in_file) Flush();
      EXPECT_THAT(Write(nulls), ElementsAre(kUnchanged, kUnchanged));
      WriteBatch swapped = batch;
      const uint32_t other[] = {1, 0};
      swapped.columns[column].selection = other;
      EXPECT_THAT(Write(swapped), ElementsAre(kUpdated, kUpdated));
      if (in_file) Flush();
      EXPECT_THAT(Write(swapped), ElementsAre(kUnchanged, kUnchanged));
      EXPECT_THAT(Write(batch), ElementsAre(kUpdated, kUpdated));
      if (in_file) Flush();
    }
  }
  ExpectSound(*database_);
}

TEST_F(UnchangedTest, FloatingPointNumbersAreComparedByTheirBits) {
  TableDefinition definition{.name = {"main", "t"}, .key = {"k"}};
  definition.schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt64)},
                              {.name = "d", .type = Type::Of(TypeId::kDouble)}};
  Create(definition);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double other_nan = std::bit_cast<double>(std::bit_cast<uint64_t>(nan) + 1);
  const int64_t key = 1;
  const auto upsert = [&](double value) {
    WriteBatch batch{.op = WriteOp::kUpsert, .rows = 1};
    batch.columns = {{.values = &key, .size = 1}, {.values = &value, .size = 1}};
    return Write(batch);
  };
  EXPECT_THAT(upsert(0.0), ElementsAre(kInserted));
  for (const bool in_file : {false, true}) {
    for (const double value : {-0.0, nan, other_nan, 0.0}) {
      EXPECT_THAT(upsert(value), ElementsAre(kUpdated));
      if (in_file) Flush();
      EXPECT_THAT(upsert(value), ElementsAre(kUnchanged));
    }
  }
}

TEST_F(UnchangedTest, OnlyTheChangedRowsOfABatchAreWritten) {
  Create(NumberTable("t", 3));
  NumberRows rows;
  for (int64_t key = 0; key < 2000; ++key) rows.emplace_back(key, key * 2);
  ASSERT_EQ(Write(WriteOp::kUpsert, rows).size(), rows.size());
  Flush();
  const auto births = [&] {
    uint64_t rows_in_memory = 0;
    const auto view = ViewOf(*database_, "t");
    for (const auto& part : view->mem_rowsets()) rows_in_memory += part.rows;
    return rows_in_memory;
  };
  EXPECT_EQ(births(), 0u);
  Numbers expected(rows.begin(), rows.end());
  for (int64_t key = 0; key < 2000; key += 100) rows[static_cast<size_t>(key)].second = expected[key] = -1;
  const auto outcomes = Write(WriteOp::kUpsert, rows);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kUpdated), 20);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kUnchanged), 1980);
  EXPECT_EQ(births(), 20u);
  ExpectNumbers(*database_, {{"t", expected}});
  ExpectSound(*database_);
}

TEST_F(UnchangedTest, ARowIsComparedWithWhatItIsAtThatPointOfTheBatch) {
  Create(NumberTable("t"));
  EXPECT_THAT(Write(WriteOp::kUpsert, {{1, 5}, {1, 5}, {1, 6}, {2, 0}}),
              ElementsAre(kInserted, kUnchanged, kUpdated, kInserted));
  EXPECT_THAT(Write(WriteOp::kUpsert, {{1, 6}, {1, 6}, {2, 0}}), ElementsAre(kUnchanged, kUnchanged, kUnchanged));
  // There and back again: each of the two changes the row.
  EXPECT_THAT(Write(WriteOp::kUpsert, {{1, 7}, {1, 6}}), ElementsAre(kUpdated, kUpdated));
  EXPECT_THAT(Write(WriteOp::kUpsert, {{1, 6}, {1, 7}}), ElementsAre(kUnchanged, kUpdated));
  EXPECT_THAT(Write(WriteOp::kUpsert, {{1, 8}, {1, 8}}), ElementsAre(kUpdated, kUnchanged));
  EXPECT_THAT(Write(WriteOp::kUpdate, {{1, 8}, {3, 1}, {1, 9}, {3, 1}, {1, 9}}),
              ElementsAre(kUnchanged, kAbsent, kUpdated, kAbsent, kUnchanged));
  EXPECT_THAT(Write(WriteOp::kUpdate, {{1, 9}, {3, 1}}), ElementsAre(kUnchanged, kAbsent));
  ExpectNumbers(*database_, {{"t", {{1, 9}, {2, 0}}}});
}

TEST_F(UnchangedTest, AnUpdateIsComparedByTheColumnsThatItGives) {
  TableDefinition definition{.name = {"main", "t"}, .key = {"b", "a"}};
  definition.schema.fields = {{.name = "a", .type = Type::Of(TypeId::kString)},
                              {.name = "x", .type = Type::Of(TypeId::kInt64)},
                              {.name = "b", .type = Type::Of(TypeId::kInt32)},
                              {.name = "y", .type = Type::Of(TypeId::kInt64)}};
  Create(definition);
  const StringRef a[] = {StringRef("one"), StringRef("two")};
  const int32_t b[] = {1, 1};
  const int64_t x[] = {10, 20};
  const int64_t y[] = {11, 21};
  WriteBatch batch{.op = WriteOp::kUpsert, .rows = 2};
  batch.columns = {
      {.values = a, .size = 2}, {.values = x, .size = 2}, {.values = b, .size = 2}, {.values = y, .size = 2}};
  EXPECT_THAT(Write(batch), ElementsAre(kInserted, kInserted));
  Flush();
  const int64_t new_x[] = {10, 25};
  WriteBatch update{.op = WriteOp::kUpdate, .fields = {0, 2, 1}, .rows = 2};
  update.columns = {batch.columns[0], batch.columns[2], {.values = new_x, .size = 2}};
  EXPECT_THAT(Write(update), ElementsAre(kUnchanged, kUpdated));
  EXPECT_THAT(Write(update), ElementsAre(kUnchanged, kUnchanged));
  // What an upsert does not give is null.
  WriteBatch keys{.op = WriteOp::kUpsert, .fields = {0, 2}, .rows = 2};
  keys.columns = {batch.columns[0], batch.columns[2]};
  EXPECT_THAT(Write(keys), ElementsAre(kUpdated, kUpdated));
  EXPECT_THAT(Write(keys), ElementsAre(kUnchanged, kUnchanged));
}

TEST_F(UnchangedTest, RowsOfAnOlderSchemaAreComparedAsTheyAreRead) {
  TableDefinition definition{.name = {"main", "t"}, .key = {"k"}};
  definition.schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt64)},
                              {.name = "v", .type = Type::Of(TypeId::kInt32)}};
  Create(definition);
  const int64_t keys[] = {1, 2};
  const int32_t values[] = {-3, 4};
  WriteBatch batch{.op = WriteOp::kUpsert, .rows = 2};
  batch.columns = {{.values = keys, .size = 2}, {.values = values, .size = 2}};
  for (const bool in_file : {false, true}) {
    SCOPED_TRACE(in_file);
    EXPECT_THAT(Write(batch), ElementsAre(kInserted, kInserted));
    if (in_file) Flush();
    const auto alter = database_->Begin();
    ASSERT_TRUE(alter->WidenColumn({"main", "t"}, "v", Type::Of(TypeId::kInt64)).ok());
    ASSERT_TRUE(alter
                    ->AddColumn({"main", "t"}, {.name = "text",
                                                .type = Type::Of(TypeId::kString),
                                                .initial_default = Value(std::string("a default that is not short"))})
                    .ok());
    ASSERT_TRUE(alter->AddColumn({"main", "t"}, {.name = "none", .type = Type::Of(TypeId::kDouble)}).ok());
    ASSERT_TRUE(alter->Commit().ok());
    const int64_t wide[] = {-3, 4};
    const StringRef texts[] = {StringRef("a default that is not short"), StringRef("another")};
    WriteBatch now{.op = WriteOp::kUpsert, .fields = {0, 1, 2}, .rows = 2};
    now.columns = {{.values = keys, .size = 2}, {.values = wide, .size = 2}, {.values = texts, .size = 2}};
    EXPECT_THAT(Write(now), ElementsAre(kUnchanged, kUpdated));
    EXPECT_THAT(Write(now), ElementsAre(kUnchanged, kUnchanged));
    ExpectSound(*database_);
    const auto drop = database_->Begin();
    ASSERT_TRUE(drop->DropTable({"main", "t"}).ok());
    ASSERT_TRUE(drop->Commit().ok());
    if (!in_file) Create(definition);
  }
}

TEST_F(UnchangedTest, ATransactionComparesWithItsOwnRowsToo) {
  Create(NumberTable("t"));
  EXPECT_THAT(Write(WriteOp::kInsert, {{1, 1}, {2, 2}}), ElementsAre(kInserted, kInserted));
  const auto transaction = database_->Begin();
  const auto write = [&](WriteOp op, const NumberRows& rows) {
    const NumberBatch batch(op, rows);
    std::vector<RowOutcome> outcomes;
    const auto counts = transaction->Write({"main", "t"}, *batch, &outcomes);
    EXPECT_TRUE(counts.ok()) << counts.status().message();
    return outcomes;
  };
  EXPECT_THAT(write(WriteOp::kUpsert, {{1, 1}, {2, 3}, {3, 3}}), ElementsAre(kUnchanged, kUpdated, kInserted));
  EXPECT_THAT(write(WriteOp::kUpsert, {{1, 1}, {2, 3}, {3, 3}}), ElementsAre(kUnchanged, kUnchanged, kUnchanged));
  EXPECT_THAT(write(WriteOp::kDelete, {{1, 0}, {3, 0}}), ElementsAre(kDeleted, kDeleted));
  EXPECT_THAT(write(WriteOp::kUpsert, {{1, 1}, {2, 2}}), ElementsAre(kInserted, kUpdated));
  // More than its share of memory: what follows is compared with rows in files of the transaction's own.
  NumberRows many;
  for (int64_t key = 10; key < 60000; ++key) many.emplace_back(key, key);
  write(WriteOp::kInsert, many);
  EXPECT_THAT(write(WriteOp::kUpsert, {{1, 1}, {2, 2}, {10, 10}, {11, 0}}),
              ElementsAre(kUnchanged, kUnchanged, kUnchanged, kUpdated));
  ASSERT_TRUE(transaction->Commit().ok());
  Numbers expected(many.begin(), many.end());
  expected.insert({{1, 1}, {2, 2}});
  expected[11] = 0;
  ExpectNumbers(*database_, {{"t", expected}});
  ExpectSound(*database_);
}

TEST_F(UnchangedTest, ARowThatWasLeftAsItIsIsInConflictWithWhoChangedIt) {
  Create(NumberTable("t", 3));
  NumberRows rows;
  for (int64_t key = 0; key < 10; ++key) rows.emplace_back(key, key);
  ASSERT_EQ(Write(WriteOp::kInsert, rows).size(), rows.size());
  const Silence silence;
  for (const bool flushed : {false, true}) {
    for (const WriteOp op : {WriteOp::kUpsert, WriteOp::kDelete}) {
      SCOPED_TRACE(fmt::format("{} {}", flushed, static_cast<int>(op)));
      const int64_t key = (flushed ? 4 : 0) + (op == WriteOp::kDelete ? 2 : 0);
      const auto lone = database_->Begin();
      const auto with_others = database_->Begin();
      const auto other_row = database_->Begin();
      ASSERT_TRUE(WriteNumbers(*lone, "t", WriteOp::kUpsert, {{key, key}}).ok());
      ASSERT_TRUE(WriteNumbers(*with_others, "t", WriteOp::kUpsert, {{key, key}, {100 + key, 0}}).ok());
      ASSERT_TRUE(WriteNumbers(*other_row, "t", WriteOp::kUpsert, {{key + 1, key + 1}, {200 + key, 0}}).ok());
      Write(op, {{key, -1}});
      if (flushed) Flush();
      for (const auto& transaction : {lone.get(), with_others.get()}) {
        const Status late = transaction->Commit();
        EXPECT_EQ(late.code(), StatusCode::kBusy);
        EXPECT_THAT(late.message(), HasSubstr(fmt::format("another transaction changed key ({}) meanwhile", key)));
      }
      EXPECT_TRUE(other_row->Commit().ok());
    }
  }
  const Numbers expected = {{0, -1}, {1, 1}, {3, 3},   {4, -1},  {5, 5},   {7, 7},
                            {8, 8},  {9, 9}, {200, 0}, {202, 0}, {204, 0}, {206, 0}};
  ExpectNumbers(*database_, {{"t", expected}});
}

TEST_F(UnchangedTest, WithoutTheOptionEveryRowIsWritten) {
  Create(NumberTable("t"), false);
  EXPECT_THAT(Write(WriteOp::kUpsert, {{1, 1}, {1, 1}}), ElementsAre(kInserted, kUpdated));
  EXPECT_THAT(Write(WriteOp::kUpsert, {{1, 1}}), ElementsAre(kUpdated));
  const auto alter = database_->Begin();
  ASSERT_TRUE(alter->SetOptions({"main", "t"}, {{"skip_unchanged", "on"}}).ok());
  ASSERT_TRUE(alter->Commit().ok());
  EXPECT_THAT(Write(WriteOp::kUpsert, {{1, 1}}), ElementsAre(kUnchanged));
}

}  // namespace
}  // namespace petalite::store
