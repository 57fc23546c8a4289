// Checks a database as a whole: every checksum, every page, bounds, null counts and filters against every value, key
// order and uniqueness, the key filter against every key, catalog against files.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/database.h"

namespace petalite::store {

struct Damage {
  std::string what;  // names file, offset or row group, column and structure
};

// Everything that is wrong, in the order found; empty: the database is sound. Files that nobody names are wrong in a
// database that is open for writing; before that they are what a crash may have left (Database::FindOrphans).
// `progress` is told after each rowset how many of how many are done, and ends the check by returning false. An error
// only where the check itself could not go on. With a name, of one table alone, and nothing is said of files that no
// table has.
Result<std::vector<Damage>> Verify(Database& database, const std::function<bool(size_t done, size_t all)>& progress,
                                   const std::optional<TableName>& only = std::nullopt);

// For a database whose log is damaged below its end, so that it cannot be opened: keeps what is whole in front of the
// damage, and puts the rest aside as "<segment>.damaged". What it found, a line each; empty: the log is sound, and
// nothing was done. Errors: as Database::Open has them, and if another process has the database.
Result<std::vector<std::string>> SalvageLog(const std::string& path, const DatabaseOptions& options);

}  // namespace petalite::store
