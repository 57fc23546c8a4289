// The system functions: what a database holds, how its filters do, and its upkeep.

#pragma once

namespace duckdb {
class DatabaseInstance;
}

namespace petalite::sql {

// petalite_tables(): every table of every attached Petalite database.
// petalite_rowsets(table), petalite_filters(table): `table` as SQL names it, quoted as a string.
// petalite_cache(), petalite_metrics(), petalite_snapshots(): the page cache of each attached database, its counters,
// the commits that AT may name.
// petalite_flush([table]), petalite_compact([table]): do it, and say what the tables consist of then; without a table
// for all of every attached database. They are no part of the statement's transaction.
// petalite_verify([table]): a row for each damage that verification finds, likewise.
void RegisterFunctions(duckdb::DatabaseInstance& instance);

}  // namespace petalite::sql
