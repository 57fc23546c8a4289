// Many rows into one table. A few join the transaction as any write does; more go into rowsets of their own, which the
// commit adopts. Keyed tables: rows come in any order; they are sorted by key in runs of as much as the memory budget
// holds, a run per rowset, and a key that occurs twice, in what is appended or in the table, is an error that names it.
// Legal order of calls: Append any number of times, Finish.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "petalite/column_view.h"
#include "store/transaction.h"

namespace petalite::store {

class TableAppender {
 public:
  virtual ~TableAppender() = default;

  // One view per column of the table, each of `rows` rows. Copies. Errors name the column or key and the row.
  virtual Status Append(std::span<const ColumnView> columns, size_t rows) = 0;
  // Completes and syncs the files and hands them to the transaction.
  virtual Status Finish() = 0;
  virtual uint64_t rows() const = 0;
};

}  // namespace petalite::store
