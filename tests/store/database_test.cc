#include "store/database.h"

#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "column/key_encoding.h"
#include "store/sqlite_statement.h"
#include "store/sqlite_vfs.h"
#include "store_testing.h"
#include "temporary_folder.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A table of a number and a text, keyed by the number or not.
TableDefinition Definition(const std::string& name, bool keyed, OptionList options = {}) {
  TableDefinition definition{.name = {"main", name}};
  definition.schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt64)},
                              {.name = "v", .type = Type::Of(TypeId::kString)}};
  if (keyed) definition.key = {"k"};
  definition.options = std::move(options);
  return definition;
}

std::string TextOf(int64_t key) { return "value number " + std::to_string(key); }

Status AppendKeys(TableAppender& appender, const std::vector<int64_t>& keys) {
  std::vector<std::string> texts;
  std::vector<StringRef> values;
  for (const int64_t key : keys) texts.push_back(TextOf(key));
  for (const std::string& text : texts) values.emplace_back(text);
  const ColumnView views[] = {{.values = keys.data(), .size = keys.size()},
                              {.values = values.data(), .size = keys.size()}};
  return appender.Append(views, keys.size());
}

class DatabaseTest : public ::testing::Test {
 protected:
  std::unique_ptr<Database> MustOpen(DatabaseOptions options = {.create = true}) {
    auto database = Database::Open(folder_ / "db", options);
    EXPECT_TRUE(database.ok()) << database.status().message();
    return *std::move(database);
  }

  static Status Load(Database& database, const std::string& table, const std::vector<int64_t>& keys) {
    const auto transaction = database.Begin();
    ASSIGN_OR_RETURN(const auto appender, transaction->Append({"main", table}));
    RETURN_IF_ERROR(AppendKeys(*appender, keys));
    RETURN_IF_ERROR(appender->Finish());
    return transaction->Commit();
  }

  static void Create(Database& database, const TableDefinition& definition) {
    const auto transaction = database.Begin();
    ASSERT_TRUE(transaction->CreateTable(definition).ok());
    ASSERT_TRUE(transaction->Commit().ok());
  }

  static std::vector<int64_t> Scan(const std::shared_ptr<const TableView>& view,
                                   std::vector<ColumnPredicate> predicates = {}) {
    auto keys = ScanKeys(view, std::move(predicates));
    EXPECT_TRUE(keys.ok()) << keys.status().message();
    return *std::move(keys);
  }

  TemporaryFolder folder_;
};

TEST_F(DatabaseTest, RowsAreThereAfterReopening) {
  {
    const auto database = MustOpen();
    Create(*database, Definition("t", false));
    ASSERT_TRUE(Load(*database, "t", {3, 1, 2}).ok());
    ASSERT_TRUE(Load(*database, "t", {1}).ok());
  }
  const auto database = MustOpen({});
  const auto table = ViewOf(*database, "T");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->exact_rows(), 4u);
  EXPECT_EQ(Scan(table), (std::vector<int64_t>{3, 1, 2, 1}));
  EXPECT_TRUE(table->ColumnZone(0).min == Value(int64_t{1}));
  EXPECT_NEAR(table->DistinctCount(0), 3, 0.1);
  ExpectSound(*database);
}

TEST_F(DatabaseTest, KeyedRowsAreSortedAndFoundByKey) {
  const auto database = MustOpen();
  Create(*database, Definition("t", true, {{"page_rows", "64"}, {"row_group_rows", "256"}}));
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::vector<int64_t> keys(5000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>(i) * 3 - 5000;
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(seed));
  ASSERT_TRUE(Load(*database, "t", keys).ok());
  ASSERT_TRUE(database->Flush().ok());
  const auto table = ViewOf(*database, "t");
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(Scan(table), keys);
  const size_t columns[] = {1};
  for (int64_t key = -5010; key < 10010; ++key) {
    const Value value(key);
    const auto found = FindKey(*table, *EncodeKey(table->table().KeyTypes(), {&value, 1}));
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found->has_value(), std::binary_search(keys.begin(), keys.end(), key)) << key;
    if (!found->has_value()) continue;
    EXPECT_EQ((*ReadRow(*table, **found, columns))[0].as<std::string>(), TextOf(key));
  }
  ExpectSound(*database);
}

TEST_F(DatabaseTest, DuplicateKeysAreRefusedByNameAndLeaveNothing) {
  const auto database = MustOpen();
  Create(*database, Definition("t", true));
  const auto expect_duplicate = [&](const std::vector<int64_t>& keys, const char* name) {
    const Status status = Load(*database, "t", keys);
    EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
    EXPECT_THAT(status.message(), HasSubstr(name));
  };
  expect_duplicate({4, 9, 7, 9, 4}, "duplicate key (9)");  // the first that comes again
  ASSERT_TRUE(Load(*database, "t", {10, 20}).ok());
  expect_duplicate({15, 20, 10}, "duplicate key (20)");
  expect_duplicate({10}, "duplicate key (10)");
  EXPECT_EQ(ViewOf(*database, "t")->rows(), 2u);
  EXPECT_THAT(*database->FindOrphans(), IsEmpty());
  ASSERT_TRUE(Load(*database, "t", {5, 15, 25}).ok());
  ExpectSound(*database);
}

TEST_F(DatabaseTest, RunsBeyondTheMemoryBudgetBecomeRowsetsWithUniqueKeys) {
  const auto database = MustOpen({.create = true, .write_bytes = 1 << 20});
  Create(*database, Definition("t", true));
  std::vector<int64_t> keys(60'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>((i * 7919) % keys.size());
  const auto transaction = database->Begin();
  auto appender = *transaction->Append({"main", "t"});
  for (size_t i = 0; i < keys.size(); i += 1000) {
    ASSERT_TRUE(AppendKeys(*appender, {keys.begin() + i, keys.begin() + i + 1000}).ok());
  }
  ASSERT_TRUE(appender->Finish().ok());
  ASSERT_TRUE(transaction->Commit().ok());
  const auto table = ViewOf(*database, "t");
  EXPECT_GT(table->rowsets().size(), 1u);
  EXPECT_EQ(table->rows(), keys.size());
  ExpectSound(*database);
  EXPECT_THAT(Load(*database, "t", {59'999}).message(), HasSubstr("duplicate key (59999)"));
}

TEST_F(DatabaseTest, NullKeysAreRefusedWithTheirRow) {
  const auto database = MustOpen();
  Create(*database, Definition("t", true));
  const auto transaction = database->Begin();
  auto appender = *transaction->Append({"main", "t"});
  const int64_t keys[] = {1, 2};
  const StringRef values[] = {StringRef(), StringRef()};
  const uint64_t first_only = 1;
  const ColumnView views[] = {{.values = keys, .validity = &first_only, .size = 2}, {.values = values, .size = 2}};
  EXPECT_THAT(appender->Append(views, 2).message(), HasSubstr("row 1: key column 'k' is null"));
}

TEST_F(DatabaseTest, ADroppedTablesFilesStayWhileSomebodyReadsThem) {
  const auto database = MustOpen({.create = true, .history_retention_micros = 0, .background = false});
  Create(*database, Definition("t", false));
  ASSERT_TRUE(Load(*database, "t", {1, 2, 3}).ok());
  ASSERT_TRUE(database->Flush().ok());
  auto old = ViewOf(*database, "t");
  const std::string file = old->rowsets()[0].rowset->path();
  const auto transaction = database->Begin();
  ASSERT_TRUE(transaction->DropTable({"main", "t"}).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(ViewOf(*database, "t"), nullptr);
  ASSERT_TRUE(database->Checkpoint().ok());
  ASSERT_TRUE(database->Checkpoint().ok());
  EXPECT_EQ(Scan(old).size(), 3u);
  EXPECT_TRUE(std::filesystem::exists(file));
  old = nullptr;
  ASSERT_TRUE(database->Checkpoint().ok());
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(DatabaseTest, ATransactionThatDoesNotCommitLeavesNothing) {
  const auto database = MustOpen();
  Create(*database, Definition("t", false));
  {
    const auto transaction = database->Begin();
    auto appender = *transaction->Append({"main", "t"});
    ASSERT_TRUE(AppendKeys(*appender, {1, 2, 3}).ok());
    ASSERT_TRUE(appender->Finish().ok());
    EXPECT_EQ((*transaction->View(transaction->view().FindTable({"main", "t"})))->rows(), 3u);
    EXPECT_EQ(ViewOf(*database, "t")->rows(), 0u);
  }
  EXPECT_THAT(*database->FindOrphans(), IsEmpty());
}

TEST_F(DatabaseTest, FirstCommitterWinsAndAppendsToUnkeyedTablesDoNotConflict) {
  const auto database = MustOpen();
  Create(*database, Definition("plain", false));
  Create(*database, Definition("keyed", true));
  for (const char* table : {"plain", "keyed"}) {
    const auto first = database->Begin();
    const auto second = database->Begin();
    for (const auto& transaction : {&first, &second}) {
      auto appender = *(*transaction)->Append({"main", table});
      ASSERT_TRUE(AppendKeys(*appender, {1}).ok());
      ASSERT_TRUE(appender->Finish().ok());
    }
    ASSERT_TRUE(first->Commit().ok());
    const Status late = second->Commit();
    if (std::string(table) == "plain") {
      EXPECT_TRUE(late.ok()) << late.message();
      EXPECT_EQ(ViewOf(*database, table)->rows(), 2u);
    } else {
      EXPECT_EQ(late.code(), StatusCode::kBusy);
      EXPECT_THAT(late.message(), HasSubstr("'keyed'"));
    }
  }
  ExpectSound(*database);
}

TEST_F(DatabaseTest, OrphansOfACrashAreRemovedAtTheNextWritingOpen) {
  std::string orphan;
  {
    const auto database = MustOpen();
    Create(*database, Definition("t", false));
    ASSERT_TRUE(Load(*database, "t", {1}).ok());
    ASSERT_TRUE(database->Flush().ok());
    const auto table = ViewOf(*database, "t");
    orphan = std::filesystem::path(table->rowsets()[0].rowset->path()).parent_path().string() + "/99.parquet";
  }
  std::ofstream(orphan) << "half a rowset";
  {
    const auto reader = MustOpen({.read_only = true});
    EXPECT_THAT(*reader->FindOrphans(), ::testing::ElementsAre(orphan));
    EXPECT_THAT(*Verify(*reader, [](size_t, size_t) { return true; }), IsEmpty());
  }
  const auto writer = MustOpen({});
  EXPECT_THAT(*writer->FindOrphans(), IsEmpty());
  EXPECT_EQ(ViewOf(*writer, "t")->rows(), 1u);
}

// A column of 256 MiB ends a row group before it is full.
TEST_F(DatabaseTest, KeysAreFoundBehindRowGroupsThatLongStringsEndEarly) {
  constexpr int64_t kRows = 80;
  constexpr int64_t kBatch = 16;
  const std::string text(size_t{4} << 20, 'x');
  const auto database = MustOpen({.create = true, .background = false});
  TableDefinition definition = Definition("t", true);
  definition.schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt64)},
                              {.name = "v", .type = Type::Of(TypeId::kBinary)}};
  definition.key = {"k"};
  definition.options = {{"page_rows", "64"}, {"row_group_rows", "128"}, {"bloom", "none"}};
  Create(*database, definition);
  const std::vector<StringRef> values(kBatch, StringRef(text));
  for (int64_t begin = 0; begin < kRows; begin += kBatch) {
    std::vector<int64_t> keys(kBatch);
    std::iota(keys.begin(), keys.end(), begin);
    WriteBatch batch{
        .columns = {{.values = keys.data(), .size = keys.size()}, {.values = values.data(), .size = kBatch}},
        .rows = kBatch};
    const auto written = database->Write({"main", "t"}, batch);
    ASSERT_TRUE(written.ok()) << written.status().message();
  }
  ASSERT_TRUE(database->Flush().ok());
  const auto view = ViewOf(*database, "t");
  ASSERT_EQ(view->rowsets().size(), 1u);
  EXPECT_EQ(view->rowsets()[0].rowset->info().row_groups, 2u);
  for (int64_t key = 0; key < kRows; ++key) {
    const Value value(key);
    const auto found = FindKey(*view, *EncodeKey(view->table().KeyTypes(), {&value, 1}));
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_TRUE(found->has_value()) << key;
  }
  EXPECT_THAT(*Verify(*database, [](size_t, size_t) { return true; }), IsEmpty());
}

TEST_F(DatabaseTest, OneProcessWritesAndTheErrorNamesIt) {
  const auto database = MustOpen();
  const auto second = Database::Open(folder_ / "db", {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kBusy);
  EXPECT_THAT(second.status().message(), HasSubstr(std::to_string(getpid())));
}

TEST_F(DatabaseTest, AnyNumberMayRead) {
  {
    const auto database = MustOpen();
  }
  const auto first = MustOpen({.read_only = true});
  const auto second = MustOpen({.read_only = true});
  EXPECT_FALSE(Database::Open(folder_ / "db", {}).ok());
}

TEST_F(DatabaseTest, RefusesWhatIsNoDatabase) {
  EXPECT_THAT(Database::Open(folder_ / "none", {}).status().message(), HasSubstr("there is no such database"));
  std::filesystem::create_directory(folder_ / "other");
  std::ofstream(folder_ / "other/file") << "x";
  EXPECT_THAT(Database::Open(folder_ / "other", {.create = true}).status().message(),
              HasSubstr("not a Petalite database"));
  std::ofstream(folder_ / "plain-file") << "x";
  EXPECT_FALSE(Database::Open(folder_ / "plain-file", {.create = true}).ok());
}

TEST_F(DatabaseTest, RefusesANewerFormatVersionAndADamagedCatalog) {
  {
    const auto database = MustOpen();
  }
  const std::string catalog = folder_ / "db/catalog.sqlite";
  {
    const auto connection = *SqliteConnection::Open(PosixFileSystem(), catalog, SqliteConnection::Mode::kWrite);
    ASSERT_TRUE(
        SqliteExecute(connection->db(), catalog, "UPDATE meta SET value = 99 WHERE name = 'format_version'").ok());
  }
  EXPECT_THAT(Database::Open(folder_ / "db", {}).status().message(), HasSubstr("format version 99"));
  std::ofstream(catalog, std::ios::binary) << std::string(4096, 'x');
  EXPECT_THAT(Database::Open(folder_ / "db", {}).status().message(), HasSubstr("catalog.sqlite"));
}

TEST_F(DatabaseTest, PruningByZoneFilterAndPageKeepsEveryMatch) {
  const auto database = MustOpen();
  Create(*database, Definition("t", false, {{"page_rows", "64"}, {"row_group_rows", "256"}}));
  std::vector<int64_t> keys(4000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>(i) * 2;
  ASSERT_TRUE(Load(*database, "t", keys).ok());
  ASSERT_TRUE(database->Flush().ok());
  const auto table = ViewOf(*database, "t");
  auto scan = *TableScan::Start(table, {{0, Predicate::Compare(PredicateKind::kEqual, Value(int64_t{2000}))}});
  EXPECT_EQ(scan->morsels(), 1u);
  EXPECT_EQ(scan->statistics().row_groups_by_zone, 15u);
  const auto rows = Scan(table, {{0, Predicate::Compare(PredicateKind::kEqual, Value(int64_t{2000}))}});
  EXPECT_EQ(rows.size(), 64u);  // one page
  EXPECT_THAT(rows, ::testing::Contains(2000));
  auto absent = *TableScan::Start(table, {{1, Predicate::Compare(PredicateKind::kEqual, Value(TextOf(2001)))}});
  EXPECT_LE(absent->morsels(), 2u);
  EXPECT_GE(absent->statistics().row_groups_by_filter, 1u);  // most lie outside the zones already
  EXPECT_GE(absent->statistics().row_groups_by_zone + absent->statistics().row_groups_by_filter, 14u);
  auto without = *TableScan::Start(table, {{1, Predicate::Compare(PredicateKind::kEqual, Value(TextOf(2001)))}}, false);
  EXPECT_EQ(without->statistics().row_groups_by_filter, 0u);
}

// Filters are mapped from the file: who needs one that is not there is told, and finds it when it is.
TEST_F(DatabaseTest, AKeyFilterThatCannotBeMappedFailsTheLookupAndNoLater) {
  {
    const auto database = MustOpen();
    Create(*database, Definition("t", true));
    ASSERT_TRUE(Load(*database, "t", {1, 2, 3}).ok());
    ASSERT_TRUE(database->Flush().ok());
  }
  const auto database = MustOpen({});
  const auto table = ViewOf(*database, "t");
  EXPECT_EQ(Scan(table).size(), 3u);  // the footer is known from here on
  const std::string path = table->rowsets()[0].rowset->path();
  const Value value(int64_t{2});
  const std::string key = *EncodeKey(table->table().KeyTypes(), {&value, 1});
  std::filesystem::copy_file(path, path + ".whole");
  std::filesystem::resize_file(path, 4);
  const auto error = FindKey(*table, key).status();
  EXPECT_EQ(error.code(), StatusCode::kCorruption);
  EXPECT_THAT(error.message(), HasSubstr(path + ": it ends at 4"));
  std::filesystem::rename(path, path + ".short");
  EXPECT_THAT(FindKey(*table, key).status().message(), HasSubstr(path));
  EXPECT_FALSE(Load(*database, "t", {2, 4}).ok());
  std::filesystem::rename(path + ".short", path);  // the file that is open, and its content
  std::filesystem::copy_file(path + ".whole", path, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::remove(path + ".whole");
  EXPECT_TRUE(FindKey(*table, key)->has_value());
  EXPECT_TRUE(Load(*database, "t", {4}).ok());
}

TEST_F(DatabaseTest, VerifyNamesDamageAnywhereInARowset) {
  std::string path;
  uint64_t bytes = 0;
  {
    const auto database = MustOpen();
    Create(*database, Definition("t", true));
    std::vector<int64_t> keys(500);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int64_t>(i);
    ASSERT_TRUE(Load(*database, "t", keys).ok());
    ASSERT_TRUE(database->Flush().ok());
    const auto table = ViewOf(*database, "t");
    path = table->rowsets()[0].rowset->path();
    bytes = table->bytes();
  }
  std::string original(bytes, '\0');
  std::ifstream(path, std::ios::binary).read(original.data(), static_cast<std::streamsize>(bytes));
  for (uint64_t at = 0; at < bytes; at += 1 + bytes / 400) {
    std::string damaged = original;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    const auto database = MustOpen({.read_only = true});
    const auto damage = Verify(*database, [](size_t, size_t) { return true; });
    ASSERT_TRUE(damage.ok());
    EXPECT_FALSE(damage->empty()) << "a flipped bit at byte " << at << " of " << bytes << " goes unnoticed";
  }
}

}  // namespace
}  // namespace petalite::store
