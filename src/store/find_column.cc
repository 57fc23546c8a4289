#include "store/find_column.h"

#include "base/nearest.h"

namespace petalite::store {

Result<size_t> FindColumn(const Table& table, const std::string& column) {
  if (const auto found = table.schema().Find(column)) return *found;
  std::vector<std::string_view> names;
  for (const Field& field : table.schema().fields) names.push_back(field.name);
  return NotFound("table '{}' has no column '{}'; the nearest is '{}'", table.name().ToString(), column,
                  NearestName(column, names));
}

}  // namespace petalite::store
