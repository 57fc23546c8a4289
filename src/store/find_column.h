// A column of a table by its name.

#pragma once

#include "store/version.h"

namespace petalite::store {

// Its position in the schema; kNotFound, with the nearest name.
Result<size_t> FindColumn(const Table& table, const std::string& column);

}  // namespace petalite::store
