// What the optimizer may know of a column: bounds, nulls, distinct values.

#pragma once

#include "duckdb/storage/statistics/base_statistics.hpp"

#include "store/table_view.h"

namespace petalite::sql {

// DuckDB rewrites queries on the strength of bounds, so they cover every row or are not given.
duckdb::unique_ptr<duckdb::BaseStatistics> ColumnStatistics(const store::TableView& view, size_t column);

}  // namespace petalite::sql
