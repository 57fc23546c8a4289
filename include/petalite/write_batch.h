// Rows on their way into a table, and what became of them.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "petalite/column_view.h"
#include "petalite/type.h"

namespace petalite {

enum class WriteOp : uint8_t {
  kInsert = 1,          // a key that is there is an error, and the batch has no effect
  kInsertOrIgnore = 2,  // the row that is there stays
  kUpsert = 3,          // replaces the row that is there
  kUpdate = 4,          // changes the given columns; an absent key is counted
  kDelete = 5,          // an absent key is counted
};

// The type that a C++ type stands for when none is named.
template <typename T>
constexpr Type TypeOf() {
  if constexpr (std::same_as<T, int8_t>) return {.id = TypeId::kInt8};
  if constexpr (std::same_as<T, int16_t>) return {.id = TypeId::kInt16};
  if constexpr (std::same_as<T, int32_t>) return {.id = TypeId::kInt32};
  if constexpr (std::same_as<T, int64_t>) return {.id = TypeId::kInt64};
  if constexpr (std::same_as<T, uint8_t>) return {.id = TypeId::kUInt8};
  if constexpr (std::same_as<T, uint16_t>) return {.id = TypeId::kUInt16};
  if constexpr (std::same_as<T, uint32_t>) return {.id = TypeId::kUInt32};
  if constexpr (std::same_as<T, uint64_t>) return {.id = TypeId::kUInt64};
  if constexpr (std::same_as<T, float>) return {.id = TypeId::kFloat};
  if constexpr (std::same_as<T, double>) return {.id = TypeId::kDouble};
  if constexpr (std::same_as<T, Interval>) return {.id = TypeId::kInterval};
}

// One batch: atomic, and where it names a key twice, applied in the order of its rows. It borrows the values that it
// points to, which must stay until the write has returned.
//
//   std::vector<int64_t> ids = …; std::vector<std::string> names = …;
//   WriteBatch batch{.op = WriteOp::kUpsert};
//   batch.Add("id", ids).Add("name", names);
struct WriteBatch {
  WriteOp op = WriteOp::kInsert;
  // Which columns are given: names, or positions in the table's schema; neither: all, in order. The key's are always
  // among them, and for kDelete no others need to be. A column that is not given has nulls, or for kUpdate stays as it
  // is.
  std::vector<std::string> names = {};
  std::vector<size_t> fields = {};
  std::vector<ColumnView> columns = {};  // one for each, of `rows` rows
  // What the columns' values are; the write fails if that is not what the table has. Empty: the caller vouches for it.
  std::vector<Type> types = {};
  size_t rows = 0;
  std::vector<std::shared_ptr<const void>> owned = {};  // what Add made and the columns point to

  // Add a named column; the first one says how many rows there are.
  WriteBatch& Add(std::string name, const Type& type, const ColumnView& view) {
    if (names.empty()) rows = view.size;
    names.push_back(std::move(name));
    types.push_back(type);
    columns.push_back(view);
    return *this;
  }
  // Numbers. `validity`: bit set = not null, least significant first; null: no nulls.
  template <typename T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
  WriteBatch& Add(std::string name, std::span<const T> values, const uint64_t* validity = nullptr) {
    return Add(std::move(name), TypeOf<T>(), {.values = values.data(), .validity = validity, .size = values.size()});
  }
  template <typename T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
  WriteBatch& Add(std::string name, const std::vector<T>& values, const uint64_t* validity = nullptr) {
    return Add(std::move(name), std::span<const T>(values), validity);
  }
  // Text, or with another type (kBinary, kJson) bytes.
  template <typename S>
    requires std::convertible_to<S, std::string_view>
  WriteBatch& Add(std::string name, const std::vector<S>& values, const uint64_t* validity = nullptr,
                  const Type& type = {.id = TypeId::kString}) {
    auto refs = std::make_shared<std::vector<StringRef>>();
    refs->reserve(values.size());
    for (const S& value : values) refs->emplace_back(std::string_view(value));
    owned.push_back(refs);
    return Add(std::move(name), type, {.values = refs->data(), .validity = validity, .size = refs->size()});
  }
};

enum class RowOutcome : uint8_t {
  kInserted = 1,
  kUpdated = 2,
  kDeleted = 3,
  kIgnored = 4,
  kAbsent = 5,
  kUnchanged = 6,
};

struct WriteCounts {
  uint64_t inserted = 0;
  uint64_t updated = 0;
  uint64_t deleted = 0;
  uint64_t ignored = 0;  // of kInsertOrIgnore: the key was there
  uint64_t absent = 0;   // of kUpdate and kDelete
  // Of kUpsert and kUpdate, in tables with skip_unchanged: the row has these values already, and nothing was written.
  uint64_t unchanged = 0;

  void Count(RowOutcome outcome) {
    switch (outcome) {
      case RowOutcome::kInserted:
        ++inserted;
        return;
      case RowOutcome::kUpdated:
        ++updated;
        return;
      case RowOutcome::kDeleted:
        ++deleted;
        return;
      case RowOutcome::kIgnored:
        ++ignored;
        return;
      case RowOutcome::kAbsent:
        ++absent;
        return;
      case RowOutcome::kUnchanged:
        ++unchanged;
        return;
    }
  }
};

// What a batch of its own did.
struct Written {
  uint64_t commit = 0;  // its number; 0 if nothing had to be changed
  WriteCounts counts;
};

}  // namespace petalite
