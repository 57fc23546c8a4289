// What a condition on one column (petalite/predicate.h) says of a piece of it, for pruning: whatever a query engine
// cannot express as a Predicate it leaves out (kAlways), because pruning may keep too much and must never drop a row.

#pragma once

#include "petalite/predicate.h"

namespace petalite {

// What is known of the values of a column in some piece of it (a file, a row group, a page).
struct ZoneMap {
  uint64_t rows = 0;
  bool has_null_count = false;
  uint64_t null_count = 0;
  Value min;  // null: unknown; otherwise ≤ every value that is neither null nor NaN
  Value max;
  bool min_exact = false;  // the bound is a value that is there
  bool max_exact = false;
  bool may_have_nan = true;  // only looked at for floating-point columns
};

// False only if no row of the piece can satisfy the predicate.
bool MayMatch(const Predicate& predicate, const ZoneMap& zone);

}  // namespace petalite
