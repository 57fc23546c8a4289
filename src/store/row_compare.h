// Which rows of a batch say what the table's rows say already: what a table with skip_unchanged does not write.
//
// Values are compared as they are stored: nulls equal nulls, strings are compared bytewise, and floating-point numbers
// by their bits, so that −0 and +0 differ, and so do two NaNs of another payload.

#pragma once

#include <span>
#include <vector>

#include "petalite/column_view.h"
#include "petalite/schema.h"
#include "store/tablet_state.h"

namespace petalite::store {

struct ComparedColumn {
  const Field* field = nullptr;  // of the table
  ColumnView given;              // of the batch
};

// For each location, which is of a row that is there, whether that row has the values that the batch's row of the same
// place in `rows` gives. Values are read column by column, and only of rows that are the same so far.
Result<std::vector<bool>> FindUnchanged(const TabletState& state, std::span<const RowLocation> locations,
                                        std::span<const uint32_t> rows, std::span<const ComparedColumn> columns);

// Whether two rows of the batch give the same values.
bool SameValues(std::span<const ComparedColumn> columns, uint32_t a, uint32_t b);

}  // namespace petalite::store
