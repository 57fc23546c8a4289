// Whether rows may stand in a table: what is not null, in range, and text that is text.

#pragma once

#include <vector>

#include "petalite/column_view.h"
#include "petalite/schema.h"
#include "petalite/write_batch.h"

namespace petalite::store {

// The error names the column and the row; the view's first is number `first`.
Status CheckValues(const Field& field, const ColumnView& view, uint64_t first = 0);

// The positions in the schema of the columns that a batch gives, one for each of its own. The error says which are
// unknown, given twice, of another type or of other than the batch's rows.
Result<std::vector<size_t>> GivenFields(const Schema& schema, const WriteBatch& batch);

}  // namespace petalite::store
