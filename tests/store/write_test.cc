// Batches: what is refused, with no effect, and rows of unkeyed tables that go by their position.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "column/key_encoding.h"
#include "store_testing.h"

namespace petalite::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WriteTest : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }

  void Open(bool read_only = false) {
    database_ = nullptr;
    auto opened = Database::Open("db", {.read_only = read_only,
                                        .create = true,
                                        .write_bytes = 8 << 20,
                                        .threads = 1,
                                        .background = false,
                                        .fs = &fs_});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    database_ = *std::move(opened);
  }

  void Create(const std::string& name, std::vector<Field> fields, std::vector<std::string> key) {
    const auto transaction = database_->Begin();
    TableDefinition definition{.name = {"main", name}, .key = std::move(key)};
    definition.schema.fields = std::move(fields);
    ASSERT_TRUE(transaction->CreateTable(definition).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }

  std::string Error(const std::string& table, const WriteBatch& batch) {
    const uint64_t before = database_->CurrentSnapshot()->commit();
    const auto written = database_->Write({"main", table}, batch);
    EXPECT_FALSE(written.ok());
    EXPECT_EQ(database_->CurrentSnapshot()->commit(), before);
    return written.status().message();
  }

  void Insert(const std::string& table, std::vector<int64_t> values) {
    WriteBatch batch{.op = WriteOp::kInsert, .rows = values.size()};
    batch.columns = {{.values = values.data(), .size = values.size()}};
    const auto written = database_->Write({"main", table}, batch);
    ASSERT_TRUE(written.ok()) << written.status().message();
  }

  std::vector<int64_t> Rows(const std::string& table) { return *ScanKeys(ViewOf(*database_, table)); }

  // Where the rows with these values are, as a transaction sees them.
  std::vector<RowPosition> Positions(const std::shared_ptr<const TableView>& view, const std::vector<int64_t>& values) {
    std::vector<RowPosition> positions;
    const Status read =
        ForEachRange(view, {}, [&](MorselReader& reader, const RowRange& range, const auto& rows) -> Status {
          ASSIGN_OR_RETURN(const auto slice, reader.Read(0, range));
          for (const uint32_t row : rows) {
            const int64_t value = static_cast<const int64_t*>(slice.values)[row];
            const bool wanted = std::find(values.begin(), values.end(), value) != values.end();
            if (wanted) positions.push_back(reader.PositionOf(range.begin + row));
          }
          return Status::Ok();
        });
    EXPECT_TRUE(read.ok()) << read.message();
    return positions;
  }

  Status Delete(Transaction& transaction, const std::string& table, const std::vector<int64_t>& values) {
    ASSIGN_OR_RETURN(const auto view, transaction.View(transaction.view().FindTable({"main", table})));
    return transaction.DeleteRows({"main", table}, *view, Positions(view, values)).status();
  }

  FaultFileSystem fs_;
  std::unique_ptr<Database> database_;
};

// Rows in memory that no file takes could never be flushed, and would fill the memory for ever.
TEST_F(WriteTest, WhatNoFileHoldsIsRefusedAtOnce) {
  const Type seconds = Type::Timestamp(TimeUnit::kSecond);
  Create("t",
         {{.name = "k", .type = Type::Of(TypeId::kInt64)},
          {.name = "span", .type = Type::Of(TypeId::kInterval)},
          {.name = "at", .type = seconds}},
         {"k"});
  const int64_t key = 1;
  const auto batch = [&](const Interval& span, const int64_t& at) {
    WriteBatch batch{.op = WriteOp::kUpsert, .rows = 1};
    batch.columns = {{.values = &key, .size = 1}, {.values = &span, .size = 1}, {.values = &at, .size = 1}};
    return batch;
  };
  const Interval whole = {1, 2, 3000};
  const int64_t now = 1'700'000'000;
  for (const Interval span : {Interval{-1, 0, 0}, {0, -1, 0}, {0, 0, -1000}, {0, 0, 1}, {0, 0, INT64_MAX}}) {
    EXPECT_THAT(Error("t", batch(span, now)), HasSubstr("row 0, column 'span': Parquet's intervals"));
  }
  for (const int64_t at : {INT64_MAX, INT64_MIN, INT64_MAX / 1000 + 1}) {
    EXPECT_THAT(Error("t", batch(whole, at)), HasSubstr("row 0, column 'at': the timestamp does not fit"));
  }
  for (const int64_t at : {now, INT64_MAX / 1000, INT64_MIN / 1000}) {
    EXPECT_TRUE(database_->Write({"main", "t"}, batch(whole, at)).ok());
    const Status flushed = database_->Flush();
    EXPECT_TRUE(flushed.ok()) << flushed.message();
  }
  const auto alter = database_->Begin();
  EXPECT_THAT(alter
                  ->AddColumn({"main", "t"}, {.name = "more",
                                              .type = Type::Of(TypeId::kInterval),
                                              .initial_default = Value(Interval{0, 0, 1})})
                  .message(),
              HasSubstr("the default: row 0, column 'more': Parquet's intervals"));
  EXPECT_THAT(alter
                  ->AddColumn({"main", "t"}, {.name = "text",
                                              .type = Type::Of(TypeId::kString),
                                              .initial_default = Value(std::string("\xff"))})
                  .message(),
              HasSubstr("the default"));
}

TEST_F(WriteTest, BadInputIsRefusedAndHasNoEffect) {
  const Type decimal = Type::Decimal(4, 2);
  Create("t",
         {{.name = "k", .type = Type::Of(TypeId::kString)},
          {.name = "d", .type = decimal},
          {.name = "s", .type = Type::Of(TypeId::kString)},
          {.name = "n", .type = Type::Of(TypeId::kInt64), .nullable = false}},
         {"k"});
  const StringRef keys[] = {StringRef("one"), StringRef("two")};
  const int16_t decimals[] = {1, 9999};
  const StringRef texts[] = {StringRef("a"), StringRef("b")};
  const int64_t numbers[] = {1, 2};
  const uint64_t first_only = 1;
  WriteBatch good{.op = WriteOp::kUpsert, .rows = 2};
  good.columns = {{.values = keys, .size = 2},
                  {.values = decimals, .size = 2},
                  {.values = texts, .size = 2},
                  {.values = numbers, .size = 2}};
  WriteBatch bad = good;
  bad.columns[0].validity = &first_only;
  EXPECT_THAT(Error("t", bad), HasSubstr("row 1: key column 'k' is null"));
  const std::string long_key(kMaxKeySize + 1, 'x');
  const StringRef long_keys[] = {StringRef("one"), StringRef(long_key)};
  bad = good;
  bad.columns[0].values = long_keys;
  EXPECT_THAT(Error("t", bad), HasSubstr("at most 16384 are allowed"));
  bad = good;
  bad.columns.pop_back();
  EXPECT_THAT(Error("t", bad), HasSubstr("3 columns given where 4 are expected"));
  const int16_t too_large[] = {1, 10000};
  bad = good;
  bad.columns[1].values = too_large;
  EXPECT_THAT(Error("t", bad), HasSubstr("row 1, column 'd': the value does not fit decimal(4,2)"));
  const StringRef not_text[] = {StringRef("a"), StringRef("b\xff")};
  bad = good;
  bad.columns[2].values = not_text;
  EXPECT_THAT(Error("t", bad), HasSubstr("row 1, column 's': not valid UTF-8"));
  bad = good;
  bad.columns[3].validity = &first_only;
  EXPECT_THAT(Error("t", bad), HasSubstr("row 1: column 'n' must not be null"));
  bad = good;
  bad.columns[3].size = 1;
  EXPECT_THAT(Error("t", bad), HasSubstr("column 'n' has 1 rows, the batch 2"));
  bad = good;
  bad.fields = {0, 1, 2, 2};
  EXPECT_THAT(Error("t", bad), HasSubstr("column 's' is given twice"));
  bad.fields = {3, 1, 2, 7};
  EXPECT_THAT(Error("t", bad), HasSubstr("there is no column 7"));
  EXPECT_THAT(Error("u", good), HasSubstr("there is no table 'u'; the nearest is 't'"));
  ASSERT_TRUE(database_->Write({"main", "t"}, good).ok());
  Open(true);
  EXPECT_THAT(database_->Write({"main", "t"}, good).status().message(), HasSubstr("open for reading only"));
}

TEST_F(WriteTest, AnUpsertIntoSortedRowsReadsOneKeyPage) {
  Create("t", {{.name = "k", .type = Type::Of(TypeId::kInt64)}}, {"k"});
  for (int64_t part = 0; part < 3; ++part) {
    std::vector<int64_t> keys(20'000);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = part * 20'000 + static_cast<int64_t>(i);
    Insert("t", keys);
    ASSERT_TRUE(database_->Flush().ok());
  }
  ASSERT_EQ(ViewOf(*database_, "t")->rowsets().size(), 3u);
  const uint64_t before = database_->metrics().key_pages_read;
  const int64_t key = 30'000;
  WriteBatch batch{.op = WriteOp::kUpsert, .rows = 1};
  batch.columns = {{.values = &key, .size = 1}};
  const auto written = database_->Write({"main", "t"}, batch);
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->counts.updated, 1u);
  EXPECT_EQ(database_->metrics().key_pages_read - before, 1u);
}

// The row that a transaction's own rowset replaced lies dead in memory, in front of it on the way to a key.
TEST_F(WriteTest, AKeyIsFoundInARowsetThatATransactionBrought) {
  Create("t", {{.name = "k", .type = Type::Of(TypeId::kInt64)}}, {"k"});
  Insert("t", {1});
  database_->context().transaction_bytes = 1;
  const int64_t key = 1;
  WriteBatch batch{.op = WriteOp::kUpsert, .rows = 1};
  batch.columns = {{.values = &key, .size = 1}};
  {
    const auto transaction = database_->Begin();
    ASSERT_TRUE(transaction->Write({"main", "t"}, batch).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }
  ASSERT_EQ(ViewOf(*database_, "t")->rowsets().size(), 1u);
  const auto again = database_->Write({"main", "t"}, batch);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->counts.updated, 1u);
  EXPECT_THAT(Rows("t"), ElementsAre(1));
  ExpectSound(*database_);
}

TEST_F(WriteTest, OperationsByKeyNeedAKey) {
  Create("t", {{.name = "v", .type = Type::Of(TypeId::kInt64)}}, {});
  const int64_t value = 1;
  for (const WriteOp op : {WriteOp::kUpsert, WriteOp::kInsertOrIgnore, WriteOp::kUpdate, WriteOp::kDelete}) {
    WriteBatch batch{.op = op, .rows = 1};
    batch.columns = {{.values = &value, .size = 1}};
    EXPECT_THAT(Error("t", batch), HasSubstr("it has no primary key"));
  }
}

TEST_F(WriteTest, AVersionBeforeTheRetentionIsRefusedWithWhatThereIs) {
  database_ = nullptr;
  database_ = *Database::Open("db", {.threads = 1, .history_retention_micros = 0, .background = false, .fs = &fs_});
  Create("t", {{.name = "v", .type = Type::Of(TypeId::kInt64)}}, {});
  Insert("t", {1});
  const uint64_t then = database_->CurrentSnapshot()->commit();
  Insert("t", {2});
  ASSERT_TRUE(database_->Checkpoint().ok());
  EXPECT_THAT(database_->SnapshotAt(then).status().message(), HasSubstr("the history goes back to version"));
  EXPECT_THAT(database_->SnapshotAtTime(1).status().message(), HasSubstr("the history goes back to version"));
  EXPECT_THAT(database_->SnapshotAt(then + 100).status().message(), HasSubstr("is not there yet"));
}

TEST_F(WriteTest, RowsWithoutAKeyGoByTheirPosition) {
  Create("t", {{.name = "v", .type = Type::Of(TypeId::kInt64)}}, {});
  Insert("t", {1, 2, 3});
  ASSERT_TRUE(database_->Flush().ok());
  Insert("t", {4, 5, 6});
  {
    const auto transaction = database_->Begin();
    Insert("t", {7});
    ASSERT_TRUE(Delete(*transaction, "t", {2, 5}).ok());
    // The rows move to a file between the transaction's steps, each to the place that it had.
    ASSERT_TRUE(database_->Flush().ok());
    ASSERT_TRUE(Delete(*transaction, "t", {6}).ok());
    const auto table = transaction->view().FindTable({"main", "t"});
    EXPECT_THAT(*ScanKeys(*transaction->View(table)), ElementsAre(1, 3, 4));
    const auto view = *transaction->View(table);
    const int64_t replacement = 40;
    WriteBatch update{
        .op = WriteOp::kUpdate, .fields = {0}, .columns = {{.values = &replacement, .size = 1}}, .rows = 1};
    const auto updated = transaction->UpdateRows({"main", "t"}, *view, Positions(view, {4}), update);
    ASSERT_TRUE(updated.ok()) << updated.status().message();
    EXPECT_EQ(updated->updated, 1u);
    EXPECT_THAT(*ScanKeys(*transaction->View(table)), ElementsAre(1, 3, 40));
    const Status committed = transaction->Commit();
    ASSERT_TRUE(committed.ok()) << committed.message();
  }
  EXPECT_THAT(Rows("t"), ElementsAre(1, 3, 7, 40));
  fs_.FailFrom(1, Fault::kIoError);
  database_ = nullptr;
  fs_.Crash(1);
  Open();
  EXPECT_THAT(Rows("t"), ElementsAre(1, 3, 7, 40));
  ExpectSound(*database_);
}

TEST_F(WriteTest, OneOfTwoWhoDeleteARowWins) {
  Create("t", {{.name = "v", .type = Type::Of(TypeId::kInt64)}}, {});
  Insert("t", {1, 2, 3});
  const auto first = database_->Begin();
  const auto second = database_->Begin();
  ASSERT_TRUE(Delete(*first, "t", {2}).ok());
  ASSERT_TRUE(Delete(*second, "t", {2, 3}).ok());
  ASSERT_TRUE(first->Commit().ok());
  ASSERT_TRUE(database_->Flush().ok());
  const Status late = second->Commit();
  EXPECT_EQ(late.code(), StatusCode::kBusy);
  EXPECT_THAT(late.message(), HasSubstr("another transaction changed a row"));
  EXPECT_THAT(Rows("t"), ElementsAre(1, 3));
  const auto third = database_->Begin();
  ASSERT_TRUE(Delete(*third, "t", {3}).ok());
  ASSERT_TRUE(database_->Compact({{"main", "t"}}, true).ok());
  EXPECT_THAT(third->Commit().message(), HasSubstr("compacted meanwhile"));
}

}  // namespace
}  // namespace petalite::store
