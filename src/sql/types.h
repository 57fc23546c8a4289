// Petalite's types and values as DuckDB's, both ways. Vectors need no conversion: the layouts are the same.

#pragma once

#include "duckdb/common/types.hpp"
#include "duckdb/common/types/value.hpp"

#include "petalite/value.h"

namespace petalite::sql {

duckdb::LogicalType ToDuck(const Type& type);

// The type that stores a DuckDB type: ENUM is stored as string and HUGEINT as decimal(38,0), so that values are cast
// on their way in. kUnsupported, naming the column, for types that Petalite does not keep.
Result<Type> FromDuck(const duckdb::LogicalType& type, const std::string& column);

duckdb::Value ToDuck(const Value& value, const Type& type);
// `value` has the DuckDB type of `type`, or is null.
Value FromDuck(const duckdb::Value& value, const Type& type);

}  // namespace petalite::sql
