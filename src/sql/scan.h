// The table function that scans a Petalite table.

#pragma once

#include "duckdb/function/table_function.hpp"

namespace petalite::sql {

class PetaliteTable;

duckdb::TableFunction ScanFunction();
duckdb::unique_ptr<duckdb::FunctionData> MakeScanBindData(PetaliteTable& entry);

// The session setting that leaves column filters out of pruning, for comparisons.
inline constexpr const char* kFilterPruningSetting = "petalite_bloom_filters";

}  // namespace petalite::sql
