// Zone maps from a file's statistics, without whatever in them cannot be trusted: a bound too many
// drops rows from a query's answer, a bound too few costs a read.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "column/predicate.h"
#include "parquet/metadata.h"
#include "parquet/schema_mapping.h"

namespace petalite::parquet {

// Which of a column's bounds mean what they should.
struct BoundsTrust {
  bool current = false;  // min_value, max_value and the column index
  bool legacy = false;   // min and max
};

// By the file's column_orders, the column's order, and the history of the writer.
BoundsTrust TrustOf(const FileMetadata& file, const LeafColumn& leaf, size_t column);

ZoneMap ZoneOfStatistics(const LeafColumn& leaf, BoundsTrust trust, const Statistics& statistics, uint64_t rows);

// One per page of `rows` each; empty if the index contradicts itself or the pages.
std::vector<ZoneMap> ZonesOfColumnIndex(const LeafColumn& leaf, BoundsTrust trust, const ColumnIndex& index,
                                        std::span<const uint32_t> rows);

}  // namespace petalite::parquet
