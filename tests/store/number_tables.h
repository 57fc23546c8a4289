// Tables of a numbered key and a number, as the tests of races and of crashes fill and read them.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "column/key_encoding.h"
#include "store_testing.h"

namespace petalite::store {

using Numbers = std::map<int64_t, int64_t>;
using NumberRows = std::vector<std::pair<int64_t, int64_t>>;
using NumberTables = std::map<std::string, Numbers>;  // by name

// A value that no test writes: there is no such row.
constexpr int64_t kAbsent = INT64_MIN;

// Keeps warnings that a test provokes out of its output.
class Silence {
 public:
  Silence() : level_(CurrentLogLevel()) { SetLogLevel(LogLevel::kOff); }
  ~Silence() { SetLogLevel(level_); }

 private:
  LogLevel level_;
};

// Small pages, so that a few rows are many of them.
inline TableDefinition NumberTable(const std::string& name, int tablets = 1) {
  TableDefinition definition{.name = {"main", name}};
  definition.schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt64)},
                              {.name = "v", .type = Type::Of(TypeId::kInt64)}};
  definition.key = {"k"};
  definition.options = {{"page_rows", "64"}, {"row_group_rows", "512"}, {"rowset_bytes", "65536"}};
  if (tablets != 1) definition.options.emplace_back("tablets", std::to_string(tablets));
  return definition;
}

inline Status CreateNumberTables(Database& database, const std::map<std::string, int>& tablets_by_name) {
  const auto transaction = database.Begin();
  for (const auto& [name, tablets] : tablets_by_name) {
    RETURN_IF_ERROR(transaction->CreateTable(NumberTable(name, tablets)).status());
  }
  return transaction->Commit();
}

// A batch and what its views point into.
class NumberBatch {
 public:
  NumberBatch(WriteOp op, const NumberRows& rows) {
    for (const auto& [key, value] : rows) {
      keys_.push_back(key);
      values_.push_back(value);
    }
    batch_ = {.op = op, .rows = rows.size()};
    batch_.columns = {{.values = keys_.data(), .size = rows.size()}};
    if (op == WriteOp::kDelete) {
      batch_.fields = {0};
    } else {
      batch_.fields = {0, 1};  // there may be more
      batch_.columns.push_back({.values = values_.data(), .size = rows.size()});
    }
  }
  NumberBatch(const NumberBatch&) = delete;
  NumberBatch& operator=(const NumberBatch&) = delete;
  const WriteBatch& operator*() const { return batch_; }

 private:
  std::vector<int64_t> keys_, values_;
  WriteBatch batch_;
};

inline Result<Written> WriteNumbers(Database& database, const std::string& table, WriteOp op, const NumberRows& rows,
                                    std::vector<RowOutcome>* outcomes = nullptr) {
  const NumberBatch batch(op, rows);
  return database.Write({"main", table}, *batch, outcomes);
}

inline Status WriteNumbers(Transaction& transaction, const std::string& table, WriteOp op, const NumberRows& rows) {
  const NumberBatch batch(op, rows);
  return transaction.Write({"main", table}, *batch).status();
}

// All rows; an error if two have one key.
inline Result<Numbers> ReadNumbers(const std::shared_ptr<const TableView>& view) {
  Numbers numbers;
  const Type type = Type::Of(TypeId::kInt64);
  RETURN_IF_ERROR(ForEachRange(view, {}, [&](MorselReader& reader, const RowRange& range, const auto& rows) -> Status {
    ASSIGN_OR_RETURN(const auto keys, reader.Read(0, range));
    ASSIGN_OR_RETURN(const auto values, reader.Read(1, range));
    for (const uint32_t row : rows) {
      const auto key = SliceValue(keys, type, row).template as<int64_t>();
      const auto value = SliceValue(values, type, row).template as<int64_t>();
      if (numbers.emplace(key, value).second) continue;
      return Corruption("table '{}' has two rows with key {}", view->table().name().ToString(), key);
    }
    return Status::Ok();
  }));
  return numbers;
}

inline Result<NumberTables> ReadAllNumbers(const Snapshot& snapshot) {
  NumberTables tables;
  for (const auto& [_, table] : snapshot.version().TablesById()) {
    ASSIGN_OR_RETURN(tables[table->name().table], ReadNumbers(snapshot.View(table)));
  }
  return tables;
}

inline Result<NumberTables> ReadAllNumbers(const Database& database) {
  return ReadAllNumbers(*database.CurrentSnapshot());
}

// One row by key.
inline Result<std::optional<int64_t>> LookUpNumber(const TableView& view, int64_t key) {
  const Value value(key);
  ASSIGN_OR_RETURN(const auto encoded, EncodeKey(view.table().KeyTypes(), {&value, 1}));
  ASSIGN_OR_RETURN(const auto found, FindKey(view, encoded));
  if (!found.has_value()) return std::optional<int64_t>();
  const size_t columns[] = {1};
  ASSIGN_OR_RETURN(const auto row, ReadRow(view, *found, columns));
  return std::optional(row[0].as<int64_t>());
}

inline void ExpectNumbers(const Database& database, const NumberTables& expected) {
  const auto contents = ReadAllNumbers(database);
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  EXPECT_EQ(*contents, expected);
}

}  // namespace petalite::store
