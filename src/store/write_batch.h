// Rows on their way into a table, and what became of them.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "column/column_view.h"

namespace petalite::store {

enum class WriteOp : uint8_t {
  kInsert = 1,          // a key that is there is an error, and the batch has no effect
  kInsertOrIgnore = 2,  // the row that is there stays
  kUpsert = 3,          // replaces the row that is there
  kUpdate = 4,          // changes the given columns; an absent key is counted
  kDelete = 5,          // an absent key is counted
};

// One batch: atomic, and where it names a key twice, applied in the order of its rows.
struct WriteBatch {
  WriteOp op = WriteOp::kInsert;
  // Which columns are given: positions in the table's schema; empty: all, in order. The key's are always among them,
  // and for kDelete no others need to be. A column that is not given is null, or for kUpdate stays as it is.
  std::vector<size_t> fields;
  std::vector<ColumnView> columns;  // one for each, of `rows` rows
  size_t rows = 0;
};

enum class RowOutcome : uint8_t { kInserted = 1, kUpdated = 2, kDeleted = 3, kIgnored = 4, kAbsent = 5 };

struct WriteCounts {
  uint64_t inserted = 0;
  uint64_t updated = 0;
  uint64_t deleted = 0;
  uint64_t ignored = 0;  // of kInsertOrIgnore: the key was there
  uint64_t absent = 0;   // of kUpdate and kDelete

  void Count(RowOutcome outcome);
};

}  // namespace petalite::store
