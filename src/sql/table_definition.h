// CREATE TABLE as the store understands it, and back.

#pragma once

#include "duckdb/parser/parsed_data/create_table_info.hpp"

#include "store/transaction.h"

namespace petalite::sql {

// Throws, naming the column or clause, for what Petalite does not have: defaults, generated columns, CHECK, UNIQUE
// beside the primary key, foreign keys, types that it does not store.
TableDefinition ToDefinition(const duckdb::CreateTableInfo& info);

// What CREATE TABLE would have said.
duckdb::unique_ptr<duckdb::CreateTableInfo> ToCreateInfo(duckdb::SchemaCatalogEntry& schema, const store::Table& table);

// "name = value" pairs of a WITH clause or ALTER TABLE SET: constants, as text.
OptionList ToOptions(const duckdb::case_insensitive_map_t<duckdb::unique_ptr<duckdb::ParsedExpression>>& options);

}  // namespace petalite::sql
