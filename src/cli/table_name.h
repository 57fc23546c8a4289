// A table's name on the command line.

#pragma once

#include <string_view>

#include "store/version.h"

namespace petalite::cli {

// "orders", "sales.orders", or with SQL's quotes where a name has dots or quotes: "odd.name"."with ""quotes""". Without
// a schema it is main.
TableName ParseTableName(std::string_view text);

}  // namespace petalite::cli
