// The interface as a program sees it: through include/petalite/ and libpetalite.so alone.

#include "petalite/database.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace petalite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Field Column(const std::string& name, const Type& type) { return {.name = name, .type = type}; }
Type Int64() { return Type::Of(TypeId::kInt64); }
Type Text() { return Type::Of(TypeId::kString); }

class ApiTest : public testing::Test {
 protected:
  Database Open(DatabaseOptions options = {.create = true}) {
    options.background = false;
    auto database = Database::Open(Path(), options);
    EXPECT_TRUE(database.ok()) << database.status().message();
    return *std::move(database);
  }
  std::string Path() const { return folder_.path() + "/db"; }

  // users(id int64 PRIMARY KEY, name string, score double)
  void CreateUsers(Database& database) {
    Transaction change = database.Begin();
    const Status created = change.CreateTable(
        {.name = {.table = "users"},
         .schema = {{Column("id", Int64()), Column("name", Text()), Column("score", Type::Of(TypeId::kDouble))}},
         .key = {"id"}});
    ASSERT_TRUE(created.ok()) << created.message();
    const Status committed = change.Commit();
    ASSERT_TRUE(committed.ok()) << committed.message();
  }

  TemporaryFolder folder_;
};

const TableName kUsers{.table = "users"};

Result<Written> PutUsers(Database& database, WriteOp op, const std::vector<int64_t>& ids,
                         const std::vector<std::string>& names, std::vector<RowOutcome>* outcomes = nullptr) {
  WriteBatch batch{.op = op};
  batch.Add("id", ids).Add("name", names);
  return database.Write(kUsers, batch, outcomes);
}

std::map<int64_t, std::string> Users(const TableReader& users) {
  std::map<int64_t, std::string> rows;
  const auto scan = users.NewScan({.columns = {"id", "name"}});
  EXPECT_TRUE(scan.ok()) << scan.status().message();
  ScanReader reader = scan->NewReader();
  RowBlock block;
  for (;;) {
    const auto more = reader.Next(&block);
    EXPECT_TRUE(more.ok()) << more.status().message();
    if (!more.ok() || !*more) return rows;
    for (size_t i = 0; i < block.rows; ++i) {
      const bool fresh =
          rows.emplace(block.columns[0].Value<int64_t>(i), block.columns[1].Value<StringRef>(i).view()).second;
      EXPECT_TRUE(fresh) << "one key twice";
    }
  }
}

TEST_F(ApiTest, WritesAreReadBackByKeyAndByScan) {
  Database database = Open();
  CreateUsers(database);
  std::vector<RowOutcome> outcomes;
  ASSERT_TRUE(
      PutUsers(database, WriteOp::kInsert, {1, 2, 3}, {"ada", "grace", "a name of more than twelve bytes"}).ok());
  const auto upserted = PutUsers(database, WriteOp::kUpsert, {2, 4}, {"hopper", "edsger"}, &outcomes);
  ASSERT_TRUE(upserted.ok());
  EXPECT_THAT(outcomes, ElementsAre(RowOutcome::kUpdated, RowOutcome::kInserted));
  EXPECT_EQ(upserted->counts.updated, 1u);
  ASSERT_TRUE(database.Flush().ok());

  const auto users = database.Current().Open(kUsers);
  ASSERT_TRUE(users.ok());
  EXPECT_THAT(users->key(), ElementsAre("id"));
  const auto row = users->Get({2});
  ASSERT_TRUE(row.ok());
  ASSERT_TRUE(row->has_value());
  EXPECT_THAT(**row, ElementsAre(Value(2), Value("hopper"), Value()));
  const auto none = users->Get({99});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  const std::map<int64_t, std::string> expected = {
      {1, "ada"}, {2, "hopper"}, {3, "a name of more than twelve bytes"}, {4, "edsger"}};
  EXPECT_EQ(Users(*users), expected);

  const std::vector<Row> keys = {{4}, {99}, {1}};
  const std::vector<std::string> columns = {"name"};
  const auto many = users->GetMany(keys, columns);
  ASSERT_TRUE(many.ok());
  ASSERT_THAT(*many, SizeIs(3));
  EXPECT_THAT(*(*many)[0], ElementsAre(Value("edsger")));
  EXPECT_FALSE((*many)[1].has_value());
  EXPECT_THAT(*(*many)[2], ElementsAre(Value("ada")));
}

TEST_F(ApiTest, UpdatesChangeOnlyWhatIsGivenAndDeletesCountWhatIsAbsent) {
  Database database = Open();
  CreateUsers(database);
  ASSERT_TRUE(PutUsers(database, WriteOp::kInsert, {1, 2}, {"ada", "grace"}).ok());
  const std::vector<double> scores = {1.5, 2.5};
  const std::vector<int64_t> ids = {2, 7};
  WriteBatch update{.op = WriteOp::kUpdate};
  update.Add("score", scores).Add("id", ids);
  const auto updated = database.Write(kUsers, update);
  ASSERT_TRUE(updated.ok()) << updated.status().message();
  EXPECT_EQ(updated->counts.updated, 1u);
  EXPECT_EQ(updated->counts.absent, 1u);
  const std::vector<int64_t> gone = {1, 8};
  WriteBatch remove{.op = WriteOp::kDelete};
  remove.Add("id", gone);
  const auto deleted = database.Write(kUsers, remove);
  ASSERT_TRUE(deleted.ok());
  EXPECT_EQ(deleted->counts.deleted, 1u);
  EXPECT_EQ(deleted->counts.absent, 1u);
  const auto users = database.Current().Open(kUsers);
  ASSERT_TRUE(users.ok());
  const auto row = users->Get({2});
  ASSERT_TRUE(row.ok() && row->has_value());
  EXPECT_THAT(**row, ElementsAre(Value(2), Value("grace"), Value(1.5)));
}

TEST_F(ApiTest, BadBatchesAreNamedAndHaveNoEffect) {
  Database database = Open();
  CreateUsers(database);
  ASSERT_TRUE(PutUsers(database, WriteOp::kInsert, {1}, {"ada"}).ok());
  const auto message = [&](const WriteBatch& batch) {
    const auto written = database.Write(kUsers, batch);
    return written.ok() ? "it was written" : written.status().message();
  };
  const std::vector<int64_t> ids = {5};
  const std::vector<int32_t> small_ids = {5};
  const std::vector<std::string> names = {"x"};
  const std::vector<std::string> bad_names = {"\xff"};
  const uint64_t none = 0;
  EXPECT_THAT(message(WriteBatch().Add("id", small_ids).Add("name", names)),
              HasSubstr("table 'users': column 'id' is int64, and the values given are int32"));
  EXPECT_THAT(message(WriteBatch().Add("id", ids).Add("name", ids)), HasSubstr("column 'name' is string"));
  EXPECT_THAT(message(WriteBatch().Add("id", ids).Add("nam", names)), HasSubstr("no column 'nam'"));
  EXPECT_THAT(message(WriteBatch().Add("id", ids).Add("ID", ids)), HasSubstr("'id' is given twice"));
  EXPECT_THAT(message(WriteBatch().Add("name", names)), HasSubstr("key column 'id' is not given"));
  EXPECT_THAT(message(WriteBatch().Add("id", ids, &none).Add("name", names)),
              HasSubstr("row 0: key column 'id' is null"));
  EXPECT_THAT(message(WriteBatch().Add("id", ids).Add("name", bad_names)), HasSubstr("not valid UTF-8"));
  const std::vector<std::string> two = {"x", "y"};
  EXPECT_THAT(message(WriteBatch().Add("id", ids).Add("name", two)),
              HasSubstr("column 'name' has 2 rows, the batch 1"));
  WriteBatch one_column{.columns = {{.values = ids.data(), .size = 1}}, .rows = 1};
  EXPECT_THAT(message(one_column), HasSubstr("1 columns given where 3 are expected"));
  WriteBatch one_type = WriteBatch().Add("id", ids).Add("name", names);
  one_type.types.pop_back();
  EXPECT_THAT(message(one_type), HasSubstr("1 types given for 2 columns"));
  WriteBatch no_column{.fields = {7}, .columns = {{.values = ids.data(), .size = 1}}, .rows = 1};
  EXPECT_THAT(message(no_column), HasSubstr("there is no column 7"));
  const std::vector<int64_t> taken = {4, 1};
  EXPECT_THAT(message(WriteBatch().Add("id", taken).Add("name", two)), HasSubstr("1"));
  const auto unknown = database.Write({.table = "user"}, WriteBatch().Add("id", ids));
  EXPECT_EQ(unknown.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(unknown.status().message(), HasSubstr("users"));
  const auto users = database.Current().Open(kUsers);
  ASSERT_TRUE(users.ok());
  EXPECT_EQ(Users(*users), (std::map<int64_t, std::string>{{1, "ada"}}));
}

TEST_F(ApiTest, BadDefinitionsAreNamedAndHaveNoEffect) {
  Database database = Open();
  CreateUsers(database);
  Transaction change = database.Begin();
  const auto create = [&](const Field& field, std::vector<std::string> key = {}) {
    const Status created = change.CreateTable({.name = {.table = "t"}, .schema = {{field}}, .key = std::move(key)});
    return created.ok() ? "it was created" : created.message();
  };
  EXPECT_THAT(create(Column("a", Type{.id = TypeId::kDecimal, .precision = 50, .scale = 3})),
              HasSubstr("no valid type"));
  EXPECT_THAT(create(Column("a", Type{.id = static_cast<TypeId>(99)})), HasSubstr("no valid type"));
  EXPECT_THAT(create(Column("", Int64())), HasSubstr("needs a name"));
  EXPECT_THAT(create(Column("a", Type::Of(TypeId::kDouble)), {"a"}), HasSubstr("'a'"));
  EXPECT_THAT(create(Column("a", Int64()), {"b"}), HasSubstr("'b'"));
  EXPECT_THAT(change.CreateTable({.name = {.table = ""}, .schema = {{Column("a", Int64())}}}).message(),
              HasSubstr("needs a name"));
  EXPECT_THAT(change.CreateSchema("").message(), HasSubstr("a schema needs a name"));
  EXPECT_THAT(change.RenameTable(kUsers, "\xff").message(), HasSubstr("a table needs a name"));
  EXPECT_THAT(change.RenameColumn(kUsers, "name", "").message(), HasSubstr("column 2 needs a name"));
  Field added = Column("age", Int64());
  added.initial_default = "old";
  EXPECT_THAT(change.AddColumn(kUsers, added).message(),
              HasSubstr("default of column 'age' is no value of type int64"));
  EXPECT_THAT(change.WidenColumn(kUsers, "id", Int64()).message(), HasSubstr("part of the key"));
  EXPECT_THAT(change.WidenColumn(kUsers, "name", Int64()).message(), HasSubstr("cannot become int64"));
  EXPECT_THAT(change.SetOptions(kUsers, {{"codek", "lz4"}}).message(), HasSubstr("codec"));
  EXPECT_EQ(change.Tables(), std::vector<TableName>{kUsers});
  const auto users = change.Open(kUsers);
  ASSERT_TRUE(users.ok());
  EXPECT_EQ(users->schema().size(), 3u);
}

TEST_F(ApiTest, BadQuestionsAreErrors) {
  Database database = Open();
  CreateUsers(database);
  const auto users = database.Current().Open(kUsers);
  ASSERT_TRUE(users.ok());
  EXPECT_THAT(users->Get({"one"}).status().message(), HasSubstr("key column 'id' is no value of type int64"));
  EXPECT_THAT(users->Get({Value()}).status().message(), HasSubstr("no value of type int64"));
  EXPECT_THAT(users->Get({1, 2}).status().message(), HasSubstr("2 values for a key of 1 columns"));
  const std::vector<std::string> unknown = {"nmae"};
  EXPECT_THAT(users->Get({1}, unknown).status().message(), HasSubstr("'name'"));
  const auto scan = [&](Predicate predicate) {
    return users->NewScan({.where = {{"id", std::move(predicate)}}}).status().message();
  };
  EXPECT_THAT(scan(Predicate::Compare(PredicateKind::kEqual, "x")), HasSubstr("no value of type int64"));
  EXPECT_THAT(scan({.kind = PredicateKind::kLess}), HasSubstr("0 constants where 1 is expected"));
  EXPECT_THAT(scan({.kind = PredicateKind::kIsNull, .values = {1}}), HasSubstr("1 constants where 0"));
  EXPECT_THAT(scan({.kind = static_cast<PredicateKind>(99)}), HasSubstr("no such kind of predicate"));
  EXPECT_THAT(scan({.kind = PredicateKind::kEqual, .values = {1}, .children = {{}}}), HasSubstr("only and, or have"));
  EXPECT_THAT(database.Current().Open({.table = "usres"}).status().message(), HasSubstr("users"));
  EXPECT_EQ(database.Current().Open({.schema = "none", .table = "users"}).status().code(), StatusCode::kNotFound);
}

TEST_F(ApiTest, ValuesThatATypeHasNotAreErrors) {
  Database database = Open();
  const TableName name{.table = "odd"};
  Transaction change = database.Begin();
  ASSERT_TRUE(
      change
          .CreateTable({.name = name,
                        .schema = {{Column("b", Type::Of(TypeId::kBool)), Column("i", Type::Of(TypeId::kInterval))}}})
          .ok());
  ASSERT_TRUE(change.Commit().ok());
  const uint8_t two = 2;
  WriteBatch batch;
  batch.Add("b", Type::Of(TypeId::kBool), {.values = &two, .size = 1});
  EXPECT_THAT(database.Write(name, batch).status().message(), HasSubstr("row 0, column 'b': a bool is 0 or 1"));
  const auto odd = database.Current().Open(name);
  ASSERT_TRUE(odd.ok());
  EXPECT_THAT(odd->Get({1}).status().message(), HasSubstr("'odd' has no primary key"));
  const Predicate equal = Predicate::Compare(PredicateKind::kEqual, Interval{});
  EXPECT_THAT(odd->NewScan({.where = {{"i", equal}}}).status().message(),
              HasSubstr("column 'i': values of type interval do not compare"));
}

TEST_F(ApiTest, TransactionsSeeTheirOwnChangesAndTheFirstCommitterWins) {
  Database database = Open();
  CreateUsers(database);
  Transaction first = database.Begin();
  Transaction second = database.Begin();
  const std::vector<int64_t> ids = {1};
  const std::vector<std::string> names = {"ada"};
  WriteBatch batch;
  batch.Add("id", ids).Add("name", names);
  ASSERT_TRUE(first.Write(kUsers, batch).ok());
  ASSERT_TRUE(second.Write(kUsers, batch).ok());
  EXPECT_THAT(Users(*first.Open(kUsers)), SizeIs(1));
  EXPECT_THAT(Users(*database.Current().Open(kUsers)), IsEmpty());
  ASSERT_TRUE(first.Commit().ok());
  const Status lost = second.Commit();
  EXPECT_EQ(lost.code(), StatusCode::kBusy);
  EXPECT_THAT(lost.message(), HasSubstr("users"));
  EXPECT_THAT(second.Commit().message(), HasSubstr("is over"));
  EXPECT_THAT(second.Write(kUsers, batch).status().message(), HasSubstr("is over"));
  EXPECT_THAT(second.Open(kUsers).status().message(), HasSubstr("is over"));
  Transaction third = database.Begin();
  ASSERT_TRUE(third.Truncate(kUsers).ok());
  third.Rollback();
  EXPECT_THAT(Users(*database.Current().Open(kUsers)), SizeIs(1));
}

TEST_F(ApiTest, SnapshotsAndTimeTravelKeepTheirSchema) {
  Database database = Open();
  CreateUsers(database);
  const auto written = PutUsers(database, WriteOp::kInsert, {1}, {"ada"});
  ASSERT_TRUE(written.ok());
  const Snapshot before = database.Current();
  EXPECT_EQ(before.commit(), written->commit);
  Transaction change = database.Begin();
  Field field = Column("age", Type::Of(TypeId::kInt32));
  field.initial_default = 18;
  ASSERT_TRUE(change.AddColumn(kUsers, field).ok());
  ASSERT_TRUE(change.RenameColumn(kUsers, "name", "called").ok());
  ASSERT_TRUE(change.WidenColumn(kUsers, "age", Int64()).ok());
  ASSERT_TRUE(change.Commit().ok());
  const auto now = database.Current().Open(kUsers);
  EXPECT_THAT(**now->Get({1}), ElementsAre(Value(1), Value("ada"), Value(), Value(18)));
  EXPECT_EQ(before.Open(kUsers)->schema().size(), 3u);
  const auto past = database.At(written->commit);
  ASSERT_TRUE(past.ok());
  EXPECT_EQ(past->Open(kUsers)->schema()[1].name, "name");
  EXPECT_EQ(database.At(1'000'000).status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(database.AtTime(1).ok());
}

TEST_F(ApiTest, UnkeyedRowsAreDeletedAndUpdatedByPosition) {
  Database database = Open();
  const TableName events{.table = "events"};
  Transaction change = database.Begin();
  ASSERT_TRUE(change.CreateTable({.name = events, .schema = {{Column("n", Int64())}}}).ok());
  auto appender = change.Append(events);
  ASSERT_TRUE(appender.ok());
  std::vector<int64_t> numbers(20'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  const ColumnView view{.values = numbers.data(), .size = numbers.size()};
  ASSERT_TRUE(appender->Append({&view, 1}, numbers.size()).ok());
  ASSERT_TRUE(appender->Finish().ok());
  ASSERT_TRUE(change.Commit().ok());

  Transaction edit = database.Begin();
  const auto reader = edit.Open(events);
  ASSERT_TRUE(reader.ok());
  const auto find = [&](Predicate predicate) {
    std::vector<RowPosition> positions;
    const auto scan = reader->NewScan({.where = {{"n", std::move(predicate)}}});
    ScanReader rows = scan->NewReader();
    for (RowBlock block; *rows.Next(&block);) {
      for (size_t i = 0; i < block.rows; ++i) positions.push_back(rows.PositionOf(i));
    }
    return positions;
  };
  const auto low = find(Predicate::Compare(PredicateKind::kLess, 100));
  ASSERT_THAT(low, SizeIs(100));
  const auto last = find(Predicate::Compare(PredicateKind::kEqual, 19'999));
  ASSERT_THAT(last, SizeIs(1));
  const auto deleted = edit.DeleteRows(*reader, low);
  ASSERT_TRUE(deleted.ok()) << deleted.status().message();
  EXPECT_EQ(deleted->deleted, 100u);
  const std::vector<int64_t> replaced = {-1};
  WriteBatch update;
  update.Add("n", replaced);
  const auto updated = edit.UpdateRows(*reader, last, update);
  ASSERT_TRUE(updated.ok()) << updated.status().message();
  ASSERT_TRUE(edit.Commit().ok());
  int64_t sum = 0;
  int64_t rows = 0;
  const auto scan = database.Current().Open(events)->NewScan();
  ScanReader all = scan->NewReader();
  for (RowBlock block; *all.Next(&block);) {
    rows += static_cast<int64_t>(block.rows);
    for (size_t i = 0; i < block.rows; ++i) sum += block.columns[0].Value<int64_t>(i);
  }
  EXPECT_EQ(rows, 19'900);
  EXPECT_EQ(sum, 19'999 * 10'000 - 99 * 50 - 19'999 - 1);
}

TEST_F(ApiTest, AnAppenderEndsWithItsTransaction) {
  Database database = Open();
  CreateUsers(database);
  std::optional<Appender> appender;
  const std::vector<int64_t> ids = {1};
  const uint64_t none = 0;
  const std::vector<StringRef> names = {StringRef("ada")};
  const std::vector<double> scores = {0};
  const ColumnView columns[] = {{.values = ids.data(), .size = 1},
                                {.values = names.data(), .size = 1},
                                {.values = scores.data(), .validity = &none, .size = 1}};
  {
    Transaction change = database.Begin();
    auto made = change.Append(kUsers);
    ASSERT_TRUE(made.ok());
    appender.emplace(*std::move(made));
    ASSERT_TRUE(appender->Append(columns, 1).ok());
  }
  EXPECT_THAT(appender->Append(columns, 1).message(), HasSubstr("is over"));
  EXPECT_THAT(appender->Finish().message(), HasSubstr("is over"));
  EXPECT_THAT(Users(*database.Current().Open(kUsers)), IsEmpty());
  EXPECT_THAT(*database.Verify(), IsEmpty());
}

TEST_F(ApiTest, HandlesKeepTheDatabaseOpen) {
  std::optional<Database> database = Open();
  CreateUsers(*database);
  ASSERT_TRUE(PutUsers(*database, WriteOp::kInsert, {1}, {"ada"}).ok());
  std::optional<TableReader> users = *database->Current().Open(kUsers);
  database.reset();
  EXPECT_THAT(Users(*users), SizeIs(1));
  EXPECT_EQ(Database::Open(Path()).status().code(), StatusCode::kBusy);
  users.reset();
  EXPECT_TRUE(Database::Open(Path()).ok());
}

TEST_F(ApiTest, ReadOnlyDatabasesReadWhatTheLogHasAndRefuseWrites) {
  EXPECT_EQ(Database::Open(Path()).status().code(), StatusCode::kNotFound);
  {
    Database database = Open();
    CreateUsers(database);
    ASSERT_TRUE(PutUsers(database, WriteOp::kInsert, {1}, {"ada"}).ok());
  }
  Database database = Open({.read_only = true});
  EXPECT_THAT(Users(*database.Current().Open(kUsers)), SizeIs(1));
  const auto refused = PutUsers(database, WriteOp::kInsert, {2}, {"grace"});
  EXPECT_EQ(refused.status().code(), StatusCode::kReadOnly);
  Transaction change = database.Begin();
  ASSERT_TRUE(change.CreateSchema("s").ok());
  EXPECT_EQ(change.Commit().code(), StatusCode::kReadOnly);
}

TEST_F(ApiTest, FilesAreVerifiedAndCompacted) {
  Database database = Open();
  CreateUsers(database);
  for (int64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(PutUsers(database, WriteOp::kUpsert, {i, 7}, {"a", "b"}).ok());
    ASSERT_TRUE(database.Flush(kUsers).ok());
  }
  ASSERT_TRUE(database.Compact(std::nullopt, true).ok());
  ASSERT_TRUE(database.WaitUntilIdle().ok());
  EXPECT_TRUE(database.health().ok());
  const auto metrics = database.Metrics();
  const auto flushes =
      std::find_if(metrics.begin(), metrics.end(), [](const Metric& each) { return each.name == "flushes"; });
  ASSERT_NE(flushes, metrics.end());
  EXPECT_EQ(flushes->value, 4u);
  EXPECT_THAT(*database.Verify(), IsEmpty());
  EXPECT_THAT(Users(*database.Current().Open(kUsers)), SizeIs(5));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Path())) {
    if (entry.path().extension() != ".parquet") continue;
    std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
  }
  const auto damage = database.Verify();
  ASSERT_TRUE(damage.ok());
  ASSERT_FALSE(damage->empty());
  EXPECT_THAT(damage->front(), HasSubstr(".parquet"));
}

TEST_F(ApiTest, ThreadsShareAScan) {
  Database database = Open();
  CreateUsers(database);
  std::vector<int64_t> ids(300'000);
  std::iota(ids.begin(), ids.end(), 0);
  const std::vector<std::string> names(ids.size(), "same");
  ASSERT_TRUE(PutUsers(database, WriteOp::kInsert, ids, names).ok());
  ASSERT_TRUE(database.Flush().ok());
  const auto scan = database.Current().Open(kUsers)->NewScan({.columns = {"id"}});
  std::vector<int64_t> sums(3);
  std::vector<std::thread> threads;
  for (int64_t& sum : sums) {
    threads.emplace_back([&] {
      ScanReader reader = scan->NewReader();
      for (RowBlock block; *reader.Next(&block);) {
        for (size_t i = 0; i < block.rows; ++i) sum += block.columns[0].Value<int64_t>(i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), int64_t{0}), 299'999 * int64_t{150'000});
}

TEST(ResultTest, AnErrorAskedForItsValueEndsTheProgramWithItsMessage) {
  Result<int> none = Status(StatusCode::kNotFound, "no such thing");
  EXPECT_DEATH((void)*none, "no such thing");
}

}  // namespace
}  // namespace petalite
