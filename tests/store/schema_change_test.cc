// Changes of a table's columns against a model, over writes, flushes, compactions, restarts and crashes: every version
// has the columns it had, and what rows had in them.

#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "column/column_vector.h"
#include "column/key_encoding.h"
#include "number_tables.h"
#include "store_testing.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;

const TableName kTable = {"main", "t"};

// Values by field id, by key.
using Rows = std::map<int64_t, std::map<int32_t, Value>>;

struct State {
  Schema schema;
  Rows rows;
};

class SchemaChanges {
 public:
  explicit SchemaChanges(uint64_t seed) : random_(seed), fs_(seed) {}

  Status Run(int steps) {
    RETURN_IF_ERROR(Open(true));
    const auto transaction = database_->Begin();
    TableDefinition definition{.name = kTable, .key = {"k"}};
    definition.schema.fields = {{.name = "a", .type = Type::Of(TypeId::kInt16)},
                                {.name = "k", .type = Type::Of(TypeId::kInt64)},
                                {.name = "b", .type = Type::Of(TypeId::kString)}};
    definition.options = {{"page_rows", "64"}, {"row_group_rows", "64"}, {"codec", "lz4; b = zstd"}};
    RETURN_IF_ERROR(transaction->CreateTable(definition).status());
    RETURN_IF_ERROR(transaction->Commit());
    RETURN_IF_ERROR(Note());
    for (int i = 0; i < steps; ++i) {
      const int op = static_cast<int>(Draw(12));
      const Status done = Do(op);
      if (!done.ok()) return done.WithContext(fmt::format("step {} ({})", i, op));
    }
    return Compare(*database_->CurrentSnapshot(), now_);
  }

 private:
  uint64_t Draw(uint64_t below) { return random_() % below; }

  Status Open(bool create = false) {
    ASSIGN_OR_RETURN(database_, Database::Open("db", {.create = create,
                                                      .cache_bytes = 1 << 20,
                                                      .write_bytes = 8 << 20,
                                                      .threads = 1,
                                                      .wal_segment_bytes = 1 << 16,
                                                      .background = false,
                                                      .fs = &fs_}));
    return Status::Ok();
  }

  Status Do(int op) {
    switch (op) {
      case 0:
      case 1:
        return Alter();
      case 2:
        return database_->Flush();
      case 3:
        return database_->Compact(kTable, Draw(3) == 0);
      case 4:
        if (Draw(2) == 0) {
          fs_.FailFrom(1, Fault::kIoError);
          database_ = nullptr;
          fs_.Crash(random_());
        }
        database_ = nullptr;
        RETURN_IF_ERROR(Open());
        return Compare(*database_->CurrentSnapshot(), now_).WithContext("reopened");
      case 5:
      case 6: {
        auto entry = history_.begin();
        std::advance(entry, static_cast<ptrdiff_t>(Draw(history_.size())));
        ASSIGN_OR_RETURN(const auto snapshot, database_->SnapshotAt(entry->first));
        return Compare(*snapshot, entry->second).WithContext(fmt::format("version {}", entry->first));
      }
      default:
        return Write();
    }
  }

  Status Note() {
    const auto snapshot = database_->CurrentSnapshot();
    now_.schema = snapshot->version().FindTable(kTable)->schema();
    history_[snapshot->commit()] = now_;
    return Status::Ok();
  }

  Value DrawValue(const Type& type) {
    if (Draw(5) == 0) return {};
    if (type.IsString()) return Value(std::string(Draw(30), 'x'));
    if (type.id == TypeId::kDouble || type.id == TypeId::kFloat) return Value(static_cast<double>(Draw(1000)));
    const auto number = static_cast<int64_t>(Draw(100));
    return type.id == TypeId::kDecimal && type.precision > 18 ? Value(FromNative(number)) : Value(number);
  }

  Status Alter() {
    const auto transaction = database_->Begin();
    const Schema schema = now_.schema;
    const size_t column = Draw(schema.size());
    const Field& field = schema[column];
    switch (Draw(4)) {
      case 0: {
        const Type types[] = {Type::Of(TypeId::kInt8), Type::Of(TypeId::kInt32), Type::Of(TypeId::kFloat),
                              Type::Decimal(4, 1), Type::Of(TypeId::kString)};
        Field added{.name = fmt::format("c{}", Draw(1000)), .type = types[Draw(5)]};
        added.initial_default = DrawValue(added.type);
        const Status status = transaction->AddColumn(kTable, added);
        if (schema.Find(added.name)) return Expect(status, StatusCode::kAlreadyExists);
        RETURN_IF_ERROR(status);
        for (auto& [_, row] : now_.rows) row[schema.next_field_id] = added.initial_default;
        break;
      }
      case 1: {
        const Status status = transaction->DropColumn(kTable, field.name);
        if (field.name == key_) return Expect(status, StatusCode::kUnsupported);
        RETURN_IF_ERROR(status);
        for (auto& [_, row] : now_.rows) row.erase(field.field_id);
        break;
      }
      case 2: {
        const std::string name = fmt::format("r{}", Draw(1000));
        const Status status = transaction->RenameColumn(kTable, field.name, name);
        const auto taken = schema.Find(name);
        if (taken && *taken != column) return Expect(status, StatusCode::kAlreadyExists);
        RETURN_IF_ERROR(status);
        if (field.name == key_) key_ = name;
        break;
      }
      default: {
        const Type wider = Wider(field.type);
        const Status status = transaction->WidenColumn(kTable, field.name, wider);
        if (field.name == key_) return Expect(status, StatusCode::kUnsupported);
        RETURN_IF_ERROR(status);
        for (auto& [_, row] : now_.rows) {
          Value& value = row[field.field_id];
          const bool becomes_wide = wider.Width() == 16 && field.type.Width() < 16 && !value.is_null();
          if (becomes_wide) value = Value(FromNative(value.as<int64_t>()));
        }
        break;
      }
    }
    RETURN_IF_ERROR(transaction->Commit());
    return Note();
  }

  static Type Wider(const Type& type) {
    switch (type.id) {
      case TypeId::kInt8:
        return Type::Of(TypeId::kInt16);
      case TypeId::kInt16:
        return Type::Of(TypeId::kInt32);
      case TypeId::kInt32:
        return Type::Of(TypeId::kInt64);
      case TypeId::kFloat:
        return Type::Of(TypeId::kDouble);
      case TypeId::kDecimal:
        return type.precision < 38 ? Type::Decimal(std::min(38, type.precision * 2), type.scale) : type;
      default:
        return type;
    }
  }

  static Status Expect(const Status& status, StatusCode code) {
    return status.code() == code ? Status::Ok() : Corruption("got '{}' where an error is expected", status.message());
  }

  Status Write() {
    const Schema& schema = now_.schema;
    const bool deletes = Draw(5) == 0;
    const bool updates = !deletes && Draw(3) == 0;
    const size_t only = Draw(schema.size());
    WriteBatch batch{.op = deletes   ? WriteOp::kDelete
                           : updates ? WriteOp::kUpdate
                                     : WriteOp::kUpsert,
                     .rows = Draw(40)};
    std::vector<ColumnVector> columns;
    for (size_t i = 0; i < schema.size(); ++i) columns.emplace_back(schema[i].type);
    for (size_t row = 0; row < batch.rows; ++row) {
      const auto key = static_cast<int64_t>(Draw(300));
      const auto found = now_.rows.find(key);
      for (size_t i = 0; i < schema.size(); ++i) {
        const Value value = schema[i].name == key_ ? Value(key) : DrawValue(schema[i].type);
        Append(schema[i].type, value, &columns[i]);
        if (deletes || (updates && (i != only || found == now_.rows.end()))) continue;
        now_.rows[key][schema[i].field_id] = value;
      }
      if (deletes) now_.rows.erase(key);
    }
    for (size_t i = 0; i < schema.size(); ++i) {
      if ((deletes || updates) && schema[i].name != key_ && (deletes || i != only)) continue;
      batch.fields.push_back(i);
      batch.columns.push_back(columns[i].View());
    }
    ASSIGN_OR_RETURN(const auto written, database_->Write(kTable, batch));
    return written.commit != 0 ? Note() : Status::Ok();
  }

  static void Append(const Type& type, const Value& value, ColumnVector* column) {
    alignas(16) uint8_t slot[16] = {};
    const uint64_t valid = value.is_null() ? 0 : 1;
    if (!value.is_null()) value.ToSlot(type, slot);
    column->Append({.values = slot, .validity = &valid, .size = 1});
  }

  // As the schema of the version reads it: a number is a number in every width.
  static std::string Text(const Type& type, const Value& value) {
    return value.is_null() ? "null" : value.ToString(type);
  }

  Status Compare(const Snapshot& snapshot, const State& expected) {
    const auto table = snapshot.version().FindTable(kTable);
    if (table->schema() != expected.schema) return Corruption("another schema");
    const auto view = snapshot.View(table);
    size_t rows = 0;
    const size_t key = table->key()[0];
    RETURN_IF_ERROR(ForEachRange(view, {}, [&](MorselReader& reader, const RowRange& range, const auto& selected) {
      for (size_t i = 0; i < table->schema().size(); ++i) {
        ASSIGN_OR_RETURN(const auto keys, reader.Read(key, range));
        ASSIGN_OR_RETURN(const auto slice, reader.Read(i, range));
        const Field& field = table->schema()[i];
        for (const uint32_t at : selected) {
          const auto found = expected.rows.find(static_cast<const int64_t*>(keys.values)[at]);
          if (found == expected.rows.end()) return Corruption("a row too many");
          const std::string got = Text(field.type, SliceValue(slice, field.type, at));
          const std::string want = Text(field.type, found->second.at(field.field_id));
          if (got != want) return Corruption("key {}, '{}': {}, not {}", found->first, field.name, got, want);
        }
      }
      rows += selected.size();
      return Status::Ok();
    }));
    if (rows != expected.rows.size()) return Corruption("{} rows, not {}", rows, expected.rows.size());
    return Lookup(*view, expected);
  }

  Status Lookup(const TableView& view, const State& expected) {
    const Value key(static_cast<int64_t>(Draw(300)));
    ASSIGN_OR_RETURN(const std::string encoded, EncodeKey(view.table().KeyTypes(), {&key, 1}));
    ASSIGN_OR_RETURN(const auto found, FindKey(view, encoded));
    const auto row = expected.rows.find(key.as<int64_t>());
    if (found.has_value() != (row != expected.rows.end())) return Corruption("a lookup errs");
    if (!found.has_value()) return Status::Ok();
    for (size_t i = 0; i < expected.schema.size(); ++i) {
      ASSIGN_OR_RETURN(const auto values, ReadRow(view, *found, {&i, 1}));
      const Field& field = expected.schema[i];
      if (Text(field.type, values[0]) != Text(field.type, row->second.at(field.field_id))) {
        return Corruption("a lookup gives another '{}'", field.name);
      }
    }
    return Status::Ok();
  }

  std::mt19937_64 random_;
  FaultFileSystem fs_;
  std::unique_ptr<Database> database_;
  std::string key_ = "k";
  State now_;
  std::map<uint64_t, State> history_;
};

TEST(SchemaChangeTest, EveryVersionHasItsColumns) {
  const uint64_t seed = TestSeed();
  for (uint64_t i = 0; i < 20; ++i) {
    SCOPED_TRACE(SeedTrace(seed) + fmt::format(" run {}", i));
    const Status status = SchemaChanges(seed + i).Run(80);
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

// Behind a flush stands an empty memrowset of the old columns; rows of the new ones go past it.
TEST(SchemaChangeTest, RowsFlushedOnBothSidesOfAChangeAreNotReplayed) {
  const Silence silence;
  FaultFileSystem fs(1);
  const DatabaseOptions options{.create = true, .threads = 1, .background = false, .fs = &fs};
  auto database = *Database::Open("db", options);
  ASSERT_TRUE(CreateNumberTables(*database, {{"t", 1}, {"other", 1}}).ok());
  ASSERT_TRUE(WriteNumbers(*database, "other", WriteOp::kInsert, {{1, 1}}).ok());  // the log is needed from here on
  ASSERT_TRUE(WriteNumbers(*database, "t", WriteOp::kInsert, {{1, 1}}).ok());
  ASSERT_TRUE(database->Flush(TableName{"main", "t"}).ok());
  const auto transaction = database->Begin();
  ASSERT_TRUE(transaction->AddColumn({"main", "t"}, {.name = "new", .type = Type::Of(TypeId::kInt32)}).ok());
  ASSERT_TRUE(transaction->Commit().ok());
  ASSERT_TRUE(WriteNumbers(*database, "t", WriteOp::kInsert, {{2, 2}}).ok());
  ASSERT_TRUE(database->Flush(TableName{"main", "t"}).ok());
  fs.FailFrom(1, Fault::kIoError);
  database = nullptr;
  fs.Crash(1);
  database = *Database::Open("db", options);
  ExpectNumbers(*database, {{"other", {{1, 1}}}, {"t", {{1, 1}, {2, 2}}}});
}

TEST(SchemaChangeTest, WhatCannotBeDoneIsRefused) {
  FaultFileSystem fs;
  const auto database = *Database::Open("db", {.create = true, .threads = 1, .background = false, .fs = &fs});
  const auto transaction = database->Begin();
  TableDefinition definition{.name = kTable, .key = {"k"}};
  definition.schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt32)},
                              {.name = "v", .type = Type::Of(TypeId::kInt32)}};
  definition.options = {{"bloom", "v"}};
  ASSERT_TRUE(transaction->CreateTable(definition).ok());
  EXPECT_THAT(transaction->WidenColumn(kTable, "k", Type::Of(TypeId::kInt64)).message(),
              HasSubstr("part of the key, whose type cannot change"));
  EXPECT_THAT(transaction->DropColumn(kTable, "k").message(), HasSubstr("part of the key"));
  EXPECT_THAT(transaction->WidenColumn(kTable, "v", Type::Of(TypeId::kInt16)).message(), HasSubstr("only be widened"));
  EXPECT_THAT(transaction->DropColumn(kTable, "vv").message(), HasSubstr("the nearest is 'v'"));
  EXPECT_THAT(
      transaction->AddColumn(kTable, {.name = "n", .type = Type::Of(TypeId::kInt32), .nullable = false}).message(),
      HasSubstr("needs a default"));
  ASSERT_TRUE(transaction->RenameColumn(kTable, "v", "w").ok());
  EXPECT_EQ(transaction->view().FindTable(kTable)->options().given().at("bloom"), "w");
  ASSERT_TRUE(transaction->DropColumn(kTable, "w").ok());
  EXPECT_EQ(transaction->view().FindTable(kTable)->options().given().at("bloom"), "none");
  ASSERT_TRUE(transaction->AddColumn(kTable, {.name = "w", .type = Type::Of(TypeId::kInt32)}).ok());
  EXPECT_EQ(transaction->view().FindTable(kTable)->schema()[1].field_id, 3);
  EXPECT_TRUE(transaction->Commit().ok());
}

}  // namespace
}  // namespace petalite::store
