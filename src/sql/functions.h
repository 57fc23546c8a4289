// The system functions: what a database holds and how its filters do.

#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace petalite::sql {

// petalite_tables(): every table of every attached Petalite database.
// petalite_rowsets(table), petalite_filters(table): `table` as SQL names it, quoted as a string.
// petalite_cache(): the page cache of each attached database.
void RegisterFunctions(duckdb::DatabaseInstance& instance);

}  // namespace petalite::sql
