// DuckDB's table filters as far as pruning can use them.

#pragma once

#include "duckdb/planner/table_filter.hpp"

#include "column/predicate.h"
#include "column/types.h"

namespace petalite::sql {

// A predicate that holds wherever the filter does; kAlways for what cannot be told. Reads what a dynamic filter says at
// this moment.
Predicate ToPredicate(const duckdb::TableFilter& filter, const Type& type);

// Whether the filter may say more later: a join or a top-n fills it while the query runs.
bool IsDynamic(const duckdb::TableFilter& filter);

// Whether the filter depends on a value alone and always says the same of it, so that it can be evaluated once for each
// entry of a dictionary.
bool IsPerValue(const duckdb::TableFilter& filter);

}  // namespace petalite::sql
