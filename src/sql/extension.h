// Petalite as an extension of an embedded DuckDB.

#pragma once

#include "duckdb/main/database.hpp"

namespace petalite::sql {

// Makes `ATTACH 'DB' AS p (TYPE petalite)` and the system functions known to a DuckDB instance. Options of ATTACH
// beside DuckDB's own READ_ONLY: those of a database (database_options.h), wait (seconds for the lock), must_exist.
void Register(duckdb::DatabaseInstance& instance);

// Settings for an embedded DuckDB: no extension is fetched or loaded on its own.
void ConfigureEmbedded(duckdb::DBConfig* config);

}  // namespace petalite::sql
