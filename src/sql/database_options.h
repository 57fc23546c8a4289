// The options of a database in their text form: of ATTACH, and of --set on the command line.

#pragma once

#include <string>

#include "base/status.h"
#include "store/database.h"

namespace petalite::sql {

// Sets one option. Errors name it, and the values it takes; for an unknown one, those that there are.
Status SetDatabaseOption(const std::string& name, const std::string& value, store::DatabaseOptions* options);

}  // namespace petalite::sql
