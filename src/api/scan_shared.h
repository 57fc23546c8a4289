// What the readers of one scan share. Immutable but for the morsels that TableScan hands out.

#pragma once

#include <memory>
#include <vector>

#include "petalite/table_reader.h"
#include "store/scan.h"

namespace petalite {

struct Scan::Shared {
  struct Condition {
    size_t position;  // in columns
    Predicate predicate;
  };

  std::shared_ptr<store::Database> database;
  std::unique_ptr<store::TableScan> scan;
  std::vector<size_t> columns;  // of the table: those of the blocks, then those that only conditions look at
  size_t outputs = 0;           // how many of them are the blocks'
  std::vector<Condition> conditions;
};

}  // namespace petalite
