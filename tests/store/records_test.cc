// The log's records: what is written is read, and what is malformed is refused with a message that says where.

#include "store/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/fault_file_system.h"
#include "number_tables.h"
#include "store/commit_log.h"

namespace petalite::store {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schema NumberAndText() {
  Schema schema;
  schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt64), .nullable = false, .field_id = 1},
                   {.name = "t",
                    .type = Type::Of(TypeId::kString),
                    .field_id = 2,
                    .initial_default = Value(std::string("default"))}};
  schema.next_field_id = 3;
  return schema;
}

RowsetInfo Info() {
  RowsetInfo info{
      .id = 7, .tablet = 1, .order = 7, .rows = 10, .row_groups = 1, .bytes = 1000, .footer_crc = 0xfedcba98};
  info.min_key = std::string("\0a", 2);
  info.max_key = "z";
  info.min_commit = info.max_commit = 5;
  info.schema = NumberAndText();
  info.key = {0};
  info.columns.resize(2);
  info.columns[0].zone = {.rows = 10, .has_null_count = true, .null_count = 0};
  info.columns[0].zone.min = Value(int64_t{-1});
  info.columns[0].zone.max = Value(int64_t{1});
  info.columns[1].zone.rows = 10;
  info.columns[1].zone.min = Value(std::string("a"));
  return info;
}

CatalogChange PutTable() {
  return {.kind = CatalogChange::Kind::kPutTable,
          .name = {"main", "t"},
          .table = 3,
          .schema = NumberAndText(),
          .key = {0},
          .options = {{"codec", "zstd"}}};
}

// A commit of two rows, one with a null, and of deaths in two places.
class CommitBytes {
 public:
  CommitBytes() {
    change_ = {.table = 3, .tablet = 0, .mem_rowset = 2, .first_row = 4, .rows = 2};
    change_.columns = {{.values = keys_, .size = 2}, {.values = texts_, .validity = &first_only_, .size = 2}};
    change_.deaths = {{true, 2, {1, 3}}, {false, 9, {8}}};
  }
  ByteBuffer Make(const CommitMeta& meta) const {
    ByteBuffer out;
    AppendLe<uint64_t>(out, 77);
    AppendLe<int64_t>(out, 1234567);
    AppendBytes(out, SerializeCommitMeta(meta));
    AppendTabletChange(change_, NumberAndText(), &out);
    return out;
  }

 private:
  const int64_t keys_[2] = {5, 6};
  const StringRef texts_[2] = {StringRef("a text that is not short"), StringRef("unseen")};
  const uint64_t first_only_ = 1;
  TabletChange change_;
};

CommitMeta Meta() {
  CommitMeta meta;
  meta.catalog = {PutTable(), {.kind = CatalogChange::Kind::kDropView, .name = {"main", "v"}}};
  meta.rowsets.push_back({3, Info(), {2, 4}});
  return meta;
}

TEST(RecordsTest, ACommitIsReadAsItWasWritten) {
  const ByteBuffer bytes = CommitBytes().Make(Meta());
  const auto record = ParseCommitRecord(bytes);
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(record->commit, 77u);
  EXPECT_EQ(record->time, 1234567);
  ASSERT_EQ(record->meta.catalog.size(), 2u);
  EXPECT_EQ(record->meta.catalog[0].schema, NumberAndText());
  EXPECT_EQ(record->meta.catalog[0].options, PutTable().options);
  ASSERT_EQ(record->meta.rowsets.size(), 1u);
  EXPECT_THAT(record->meta.rowsets[0].dead, ElementsAre(2, 4));
  EXPECT_EQ(record->meta.rowsets[0].info.min_key, Info().min_key);
  EXPECT_EQ(record->meta.rowsets[0].info.footer_crc, Info().footer_crc);
  EXPECT_EQ(record->meta.rowsets[0].info.columns[0].zone.min, Value(int64_t{-1}));
  EXPECT_FALSE(record->meta.rowsets[0].info.columns[1].zone.has_null_count);
  ASSERT_EQ(record->changes.size(), 1u);
  const DecodedChange& change = record->changes[0];
  EXPECT_THAT(change.widths(), ElementsAre(8, 0));
  EXPECT_EQ(change.change.columns[0].Value<int64_t>(1), 6);
  EXPECT_EQ(change.change.columns[1].Value<StringRef>(0).view(), "a text that is not short");
  EXPECT_FALSE(change.change.columns[1].IsValid(1));
  EXPECT_THAT(change.change.deaths[1].positions, ElementsAre(8));
}

// Every end within a record is noticed, and named as what it cuts.
TEST(RecordsTest, ACommitThatIsCutAnywhereIsRefused) {
  const CommitMeta meta = Meta();
  const ByteBuffer bytes = CommitBytes().Make(meta);
  const size_t head = 16 + SerializeCommitMeta(meta).size();
  std::set<std::string> messages;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto record = ParseCommitRecord(Bytes(bytes).first(size));
    if (size == head) {
      EXPECT_TRUE(record.ok());  // of no rows
      continue;
    }
    ASSERT_FALSE(record.ok()) << size;
    EXPECT_EQ(record.status().code(), StatusCode::kCorruption);
    messages.insert(record.status().message());
  }
  EXPECT_THAT(messages, ElementsAre("the record ends within a change", "the record ends within a column",
                                    "the record ends within a list of deaths", "the record ends within a string",
                                    "the record ends within its head"));
}

TEST(RecordsTest, ABitmapThatIsCutIsRefused) {
  ByteBuffer bytes;
  AppendLe<uint64_t>(bytes, 1);
  AppendLe<int64_t>(bytes, 1);
  AppendLe<uint32_t>(bytes, 0);
  AppendLe<uint64_t>(bytes, 1);   // table
  AppendLe<uint32_t>(bytes, 0);   // tablet
  AppendLe<uint64_t>(bytes, 1);   // memrowset
  AppendLe<uint32_t>(bytes, 0);   // first row
  AppendLe<uint32_t>(bytes, 64);  // rows
  AppendLe<uint32_t>(bytes, 1);   // columns
  AppendLe<uint32_t>(bytes, 0);   // sources
  AppendBytes(bytes, ByteBuffer{8, 1, 0xff});
  EXPECT_EQ(ParseCommitRecord(bytes).status().message(), "the record ends within a column");
}

// Changes a record's MessagePack and says what is said of it.
template <typename Change>
std::string CommitError(Change&& change) {
  const ByteBuffer meta = SerializeCommitMeta(Meta());
  json object = json::from_msgpack(meta.begin() + 4, meta.end());
  change(object);
  const ByteBuffer packed = json::to_msgpack(object);
  ByteBuffer bytes;
  AppendLe<uint64_t>(bytes, 1);
  AppendLe<int64_t>(bytes, 1);
  AppendLe<uint32_t>(bytes, static_cast<uint32_t>(packed.size()));
  AppendBytes(bytes, packed);
  const auto record = ParseCommitRecord(bytes);
  EXPECT_TRUE(record.ok() || record.status().code() == StatusCode::kCorruption) << record.status().message();
  return record.ok() ? "" : record.status().message();
}

TEST(RecordsTest, MalformedMembersAreNamed) {
  constexpr const char* kMembers = "a record's members are malformed";
  const json text = "text";
  EXPECT_EQ(CommitError([](json&) {}), "");
  EXPECT_EQ(CommitError([](json& meta) { meta.erase("catalog"); }), kMembers);
  EXPECT_EQ(CommitError([](json& meta) { meta["rowsets"] = 1; }), kMembers);
  EXPECT_EQ(CommitError([](json& meta) { meta = json::array(); }), "a record's MessagePack is malformed");
  const auto in_change = [](auto&& change) { return CommitError([&](json& meta) { change(meta["catalog"][0]); }); };
  EXPECT_EQ(in_change([](json& change) { change = 1; }), "a record changes the catalog in an unknown way: 0");
  EXPECT_EQ(in_change([](json& change) { change["kind"] = 7; }), "a record changes the catalog in an unknown way: 7");
  EXPECT_EQ(in_change([&](json& change) { change["name"] = 1; }), kMembers);
  EXPECT_EQ(in_change([&](json& change) { change["tablets"] = uint64_t{1} << 32; }), kMembers);
  EXPECT_EQ(in_change([&](json& change) { change["table"] = -1; }), kMembers);
  EXPECT_EQ(in_change([&](json& change) { change["columns"][0] = 1; }), kMembers);
  EXPECT_EQ(in_change([&](json& change) { change["columns"][0]["null"] = 1; }), kMembers);
  EXPECT_EQ(in_change([&](json& change) { change["columns"][1]["default"] = text; }), kMembers);
  EXPECT_EQ(in_change([&](json& change) { change["columns"][0]["default"] = json::binary({1}); }),
            "a bound of type int64 has 1 bytes");
  EXPECT_THAT(in_change([&](json& change) { change["columns"][0]["type"] = "int63"; }),
              HasSubstr("a record's column 'k': unknown type 'int63'"));
  EXPECT_EQ(in_change([&](json& change) { change["key"][0] = 2; }), "a record's key is malformed");
  EXPECT_EQ(in_change([&](json& change) { change["key"][0] = text; }), "a record's key is malformed");
  EXPECT_EQ(in_change([&](json& change) { change["columns"][0]["type"] = "double"; }), "a record's key is malformed");
  EXPECT_EQ(in_change([&](json& change) { change["options"] = 1; }), "a record has no options");
  EXPECT_EQ(in_change([&](json& change) { change["options"]["codec"] = 1; }), "a record's option 'codec' is malformed");
  const auto in_rowset = [](auto&& change) { return CommitError([&](json& meta) { change(meta["rowsets"][0]); }); };
  EXPECT_EQ(in_rowset([](json& rowset) { rowset = 1; }), kMembers);
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["table"] = "t"; }), kMembers);
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["dead"][1] = -1; }), "a record's dead row is malformed");
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["dead"][1] = uint64_t{1} << 32; }), "a record's dead row is malformed");
  EXPECT_EQ(in_rowset([](json& rowset) { rowset.erase("info"); }), kMembers);
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["info"]["rows"] = -1; }), kMembers);
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["info"]["versions"] = 0; }), kMembers);
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["info"]["min_key"] = "text"; }), kMembers);
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["info"]["key"][0] = 9; }), "a record's key is malformed");
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["info"]["columns"].erase(1); }),
            "a record's rowset has statistics of other columns");
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["info"]["columns"][0]["nulls"] = "none"; }), kMembers);
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["info"]["columns"][0]["min"] = json::binary({1, 2}); }),
            "a bound of type int64 has 2 bytes");
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["info"]["columns"][0]["max"] = json::binary({}); }),
            "a bound of type int64 has 0 bytes");
  EXPECT_EQ(in_rowset([](json& rowset) { rowset["info"]["columns"][0]["sketch"] = json::binary({1}); }),
            "a record's sketch is malformed");
}

TEST(RecordsTest, AMalformedStorageRecordIsRefused) {
  StorageRecord record{.table = 3, .tablet = 1, .mem_rowset = 4, .removed = {5, 6}};
  record.added.push_back({Info(), {{1, 9}, {2, 12}}});
  const ByteBuffer bytes = SerializeStorageRecord(record);
  const auto read = ParseStorageRecord(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(read->removed, ElementsAre(5, 6));
  ASSERT_EQ(read->added.size(), 1u);
  EXPECT_THAT(read->added[0].deaths, ElementsAre(Death{1, 9}, Death{2, 12}));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(ParseStorageRecord(Bytes(bytes).first(size)).status().message(), "a record's MessagePack is malformed");
  }
  const auto error = [&](auto&& change) {
    json object = json::from_msgpack(bytes);
    change(object);
    return ParseStorageRecord(json::to_msgpack(object)).status().message();
  };
  constexpr const char* kMembers = "a record's members are malformed";
  EXPECT_EQ(error([](json& object) { object["mem_rowset"] = "x"; }), kMembers);
  EXPECT_EQ(error([](json& object) { object["removed"][0] = "x"; }), "a record's rowset is malformed");
  EXPECT_EQ(error([](json& object) { object["added"][0] = 1; }), kMembers);
  EXPECT_EQ(error([](json& object) { object["added"][0].erase("info"); }), kMembers);
  EXPECT_EQ(error([](json& object) { object["added"][0]["deaths"] = 1; }), kMembers);
  EXPECT_THAT(error([](json& object) { object["added"][0]["deaths"] = json::binary({1}); }),
              HasSubstr("delete commits"));
}

// Each level costs the parser a call, and a stack ends somewhere.
TEST(RecordsTest, WhatNestsWithoutEndIsRefused) {
  for (const uint8_t level : {0x91, 0x81}) {
    ByteBuffer bytes(size_t{16} << 20, level);
    EXPECT_EQ(ParseStorageRecord(bytes).status().message(), "a record's MessagePack is malformed");
    EXPECT_FALSE(ParseCatalogChanges(bytes).ok());
  }
}

// What a record of a database with one table, of a key and a number, must fit.
class ReplayTest : public ::testing::Test {
 protected:
  // The error of opening a log that ends in this record; empty: it opens.
  std::string OpenWith(uint8_t type, const ByteBuffer& payload) {
    const Silence silence;
    FaultFileSystem fs;
    const DatabaseOptions options{.create = true,
                                  .write_bytes = 8 << 20,
                                  .threads = 1,
                                  .wal_segment_bytes = 1 << 16,
                                  .background = false,
                                  .fs = &fs};
    auto database = *Database::Open("db", options);
    EXPECT_TRUE(CreateNumberTables(*database, {{"t", 1}}).ok());
    EXPECT_TRUE(WriteNumbers(*database, "t", WriteOp::kInsert, {{1, 1}, {2, 2}}).ok());
    EXPECT_TRUE(database->Flush().ok());
    EXPECT_TRUE(WriteNumbers(*database, "t", WriteOp::kInsert, {{3, 3}}).ok());
    LearnNumbers(*database);
    if (type == 0) return "";
    const Bytes parts[] = {payload};
    const auto appended = database->context().log->wal().Append(type, parts);
    EXPECT_TRUE(appended.ok() && database->context().log->wal().Sync(appended->end).ok());
    fs.FailFrom(1, Fault::kIoError);
    database = nullptr;
    fs.Crash(1);
    const auto opened = Database::Open("db", options);
    return opened.ok() ? "" : opened.status().message();
  }
  void SetUp() override { OpenWith(0, {}); }

  void LearnNumbers(const Database& database) {
    const auto table = database.Current()->FindTable({"main", "t"});
    table_ = table->id();
    const auto state = table->tablets()[0]->state();
    rowset_ = state->rowsets()[0]->info().id;
    mem_ = state->mem_rowsets().back()->id();
    commit_ = database.CurrentSnapshot()->commit();
  }

  ByteBuffer Commit(const TabletChange& change, const Schema& schema) const {
    ByteBuffer out;
    AppendLe<uint64_t>(out, commit_ + 1);
    AppendLe<int64_t>(out, INT64_MAX / 2);
    AppendLe<uint32_t>(out, 0);
    AppendTabletChange(change, schema, &out);
    return out;
  }
  std::string Deaths(bool in_memory, uint64_t source, uint32_t position) {
    TabletChange change{.table = table_};
    change.deaths = {{in_memory, source, {position}}};
    return OpenWith(1, Commit(change, {}));
  }

  TableId table_ = 0;
  RowsetId rowset_ = 0;
  MemRowsetId mem_ = 0;
  uint64_t commit_ = 0;
};

TEST_F(ReplayTest, RowsThatDoNotFitTheTableAreRefused) {
  const Schema right = NumberTable("t").schema;
  Schema narrow = right;
  narrow.fields[1].type = Type::Of(TypeId::kInt32);
  Schema text = right;
  text.fields[0].type = Type::Of(TypeId::kString);
  Schema fewer = right;
  fewer.fields.pop_back();
  const int64_t numbers[] = {10};
  const StringRef texts[] = {StringRef("a")};
  TabletChange change{.table = table_, .mem_rowset = mem_, .first_row = 1, .rows = 1};
  change.columns = {{.values = numbers, .size = 1}, {.values = numbers, .size = 1}};
  EXPECT_EQ(OpenWith(1, Commit(change, right)), "");
  EXPECT_THAT(OpenWith(1, Commit(change, narrow)), HasSubstr("values of 4 bytes for column 'v' of table 't'"));
  EXPECT_THAT(OpenWith(1, Commit(change, fewer)), HasSubstr("rows of 1 columns, table 't' has 2"));
  change.first_row = 2;
  EXPECT_THAT(OpenWith(1, Commit(change, right)), HasSubstr("rows from number 2 on, the memrowset has 1"));
  change.first_row = 1;
  change.columns[0].values = texts;
  EXPECT_THAT(OpenWith(1, Commit(change, text)), HasSubstr("values of 0 bytes for column 'k' of table 't'"));
}

TEST_F(ReplayTest, DeathsOfRowsThatAreNotThereAreRefused) {
  EXPECT_EQ(Deaths(true, mem_, 0), "");
  EXPECT_THAT(Deaths(true, mem_, 1), HasSubstr("row 1 died, and there are 1"));
  EXPECT_EQ(Deaths(false, rowset_, 1), "");
  EXPECT_THAT(Deaths(false, rowset_, 2), HasSubstr("row 2 died, and there are 2"));
  EXPECT_EQ(Deaths(false, 1000, 5), "");  // gone since
}

TEST_F(ReplayTest, AnUnknownRecordIsRefused) {
  EXPECT_THAT(OpenWith(9, {}), HasSubstr("unknown type 9"));
  EXPECT_THAT(OpenWith(2, {0xc1}), HasSubstr("a record's MessagePack is malformed"));
}

}  // namespace
}  // namespace petalite::store
