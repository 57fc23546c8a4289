// What several classes of the interface say about tables.

#pragma once

#include <vector>

#include "petalite/table.h"
#include "store/version.h"

namespace petalite {

inline std::vector<TableName> TablesOf(const store::Version& version) {
  std::vector<TableName> names;
  for (const auto& [_, schema] : version.schemas) {
    for (const auto& [_, table] : schema.tables) names.push_back(table->name());
  }
  return names;
}

}  // namespace petalite
