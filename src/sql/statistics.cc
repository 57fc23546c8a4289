#include "sql/statistics.h"

#include <algorithm>

#include "duckdb/storage/statistics/numeric_stats.hpp"
#include "duckdb/storage/statistics/string_stats.hpp"

#include "sql/types.h"

namespace petalite::sql {
namespace {

using duckdb::BaseStatistics;

void SetBounds(const ZoneMap& zone, const Type& type, BaseStatistics* statistics) {
  if (zone.min.is_null() || zone.max.is_null()) return;
  if (type.IsFloating() && zone.may_have_nan) return;  // NaN is DuckDB's greatest value, and outside the zone's bounds
  switch (BaseStatistics::GetStatsType(statistics->GetType())) {
    case duckdb::StatisticsType::NUMERIC_STATS:
      duckdb::NumericStats::SetMin(*statistics, ToDuck(zone.min, type));
      duckdb::NumericStats::SetMax(*statistics, ToDuck(zone.max, type));
      return;
    case duckdb::StatisticsType::STRING_STATS:
      // Only the first eight bytes count there, rounded outward by DuckDB itself.
      duckdb::StringStats::SetMin(*statistics, duckdb::string_t(zone.min.as<std::string>()));
      duckdb::StringStats::SetMax(*statistics, duckdb::string_t(zone.max.as<std::string>()));
      return;
    default:
      return;
  }
}

}  // namespace

duckdb::unique_ptr<BaseStatistics> ColumnStatistics(const store::TableView& view, size_t column) {
  const Type& type = view.table().schema()[column].type;
  const ZoneMap& zone = view.ColumnZone(column);
  BaseStatistics statistics = BaseStatistics::CreateUnknown(ToDuck(type));
  if (zone.has_null_count && zone.null_count == 0) {
    statistics.Set(duckdb::StatsInfo::CANNOT_HAVE_NULL_VALUES);
  }
  if (type.IsOrdered()) SetBounds(zone, type, &statistics);
  // Rows in memory are not counted; where there are no others, nothing is known.
  const auto distinct = static_cast<duckdb::idx_t>(view.DistinctCount(column) + 0.5);
  if (distinct > 0) statistics.SetDistinctCount(std::min<duckdb::idx_t>(distinct, view.rows()));
  return statistics.ToUnique();
}

}  // namespace petalite::sql
