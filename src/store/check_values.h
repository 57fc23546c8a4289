// Whether rows may stand in a table: what is not null, in range, and text that is text.

#pragma once

#include "column/column_view.h"
#include "column/schema.h"

namespace petalite::store {

// The error names the column and the row; the view's first is number `first`.
Status CheckValues(const Field& field, const ColumnView& view, uint64_t first = 0);

}  // namespace petalite::store
