// What tests of the store do again and again: reading a table as a whole, and batches from plain vectors.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/appender.h"
#include "store/compaction.h"
#include "store/database.h"
#include "store/lookup.h"
#include "store/scan.h"
#include "store/transaction.h"
#include "store/verify.h"

namespace petalite::store {

// A table's rows as of the newest commit; null if there is no such table.
inline std::shared_ptr<const TableView> ViewOf(const Database& database, const std::string& name) {
  const auto snapshot = database.CurrentSnapshot();
  const auto table = snapshot->version().FindTable({"main", name});
  return table == nullptr ? nullptr : snapshot->View(table);
}

// Calls visit(reader, range, rows) for the visible rows of each range, given relative to its beginning.
template <typename Visit>
Status ForEachRange(const std::shared_ptr<const TableView>& view, std::vector<ColumnPredicate> predicates,
                    Visit&& visit) {
  ASSIGN_OR_RETURN(const auto scan, TableScan::Start(view, std::move(predicates)));
  std::vector<size_t> columns;
  for (size_t i = 0; i < view->table().schema().size(); ++i) columns.push_back(i);
  MorselReader reader(*scan, columns);
  Morsel morsel;
  size_t index = 0;
  while (scan->Next(&morsel, &index)) {
    ASSIGN_OR_RETURN(const bool has_rows, reader.Start(morsel));
    RowRange range;
    while (has_rows && reader.NextRange(2048, &range)) {
      std::vector<uint32_t> rows(range.end - range.begin);
      if (reader.may_have_invisible()) {
        ASSIGN_OR_RETURN(const uint32_t count, reader.Visible(range, rows.data()));
        rows.resize(count);
      } else {
        for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
      }
      RETURN_IF_ERROR(visit(reader, range, rows));
    }
  }
  return Status::Ok();
}

inline Value SliceValue(const ColumnSlice& slice, const Type& type, uint32_t row) {
  const size_t at = slice.validity_offset + row;
  if (slice.validity != nullptr && (slice.validity[at / 64] >> (at % 64) & 1) == 0) return {};
  const void* values = slice.codes != nullptr ? slice.dictionary->values() : slice.values;
  const size_t slot = slice.codes != nullptr ? slice.codes[row] : row;
  return Value::FromSlot(type, static_cast<const uint8_t*>(values) + slot * type.Width());
}

// The first column, of type int64, in the table's order; every column is read.
inline Result<std::vector<int64_t>> ScanKeys(const std::shared_ptr<const TableView>& view,
                                             std::vector<ColumnPredicate> predicates = {}) {
  std::vector<int64_t> keys;
  RETURN_IF_ERROR(ForEachRange(view, std::move(predicates),
                               [&](MorselReader& reader, const RowRange& range, const auto& rows) -> Status {
                                 ASSIGN_OR_RETURN(const auto slice, reader.Read(0, range));
                                 for (size_t i = 1; i < view->table().schema().size(); ++i) {
                                   RETURN_IF_ERROR(reader.Read(i, range).status());
                                 }
                                 const auto* values = static_cast<const int64_t*>(slice.values);
                                 for (const uint32_t row : rows) keys.push_back(values[row]);
                                 return Status::Ok();
                               }));
  return keys;
}

inline void ExpectSound(Database& database) {
  const auto damage = Verify(database, [](size_t, size_t) { return true; });
  ASSERT_TRUE(damage.ok()) << damage.status().message();
  for (const Damage& each : *damage) ADD_FAILURE() << each.what;
}

}  // namespace petalite::store
