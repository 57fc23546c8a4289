#include "sql/functions.h"

#include <functional>

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/function/table_function.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/database_manager.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/qualified_name.hpp"

#include "bloom/split_block_filter.h"
#include "column/key_encoding.h"
#include "sql/catalog.h"
#include "sql/errors.h"
#include "sql/transaction.h"
#include "sql/types.h"

namespace petalite::sql {
namespace {

using duckdb::ClientContext;
using duckdb::LogicalType;
using duckdb::Value;

// Rows made when the function is bound, handed out chunk by chunk.
struct RowsData : public duckdb::TableFunctionData {
  std::vector<std::vector<Value>> rows;
};

struct RowsState : public duckdb::GlobalTableFunctionState {
  size_t next = 0;
};

void EmitRows(ClientContext& context, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  const auto& rows = input.bind_data->Cast<RowsData>().rows;
  auto& next = input.global_state->Cast<RowsState>().next;
  duckdb::idx_t count = 0;
  for (; next < rows.size() && count < STANDARD_VECTOR_SIZE; ++next, ++count) {
    for (size_t column = 0; column < rows[next].size(); ++column) output.SetValue(column, count, rows[next][column]);
  }
  output.SetCardinality(count);
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitRows(ClientContext&, duckdb::TableFunctionInitInput&) {
  return duckdb::make_uniq<RowsState>();
}

struct OutputColumn {
  const char* name;
  LogicalType type;
};

void Declare(std::initializer_list<OutputColumn> columns, duckdb::vector<LogicalType>* types,
             duckdb::vector<duckdb::string>* names) {
  for (const OutputColumn& column : columns) {
    names->push_back(column.name);
    types->push_back(column.type);
  }
}

Value Count(uint64_t value) { return Value::UBIGINT(value); }

void ForEachDatabase(ClientContext& context,
                     const std::function<void(const std::string& name, PetaliteCatalog& catalog)>& visit) {
  for (const auto& attached : duckdb::DatabaseManager::Get(context).GetDatabases(context)) {
    auto& catalog = attached->GetCatalog();
    if (catalog.GetCatalogType() == "petalite") visit(attached->GetName(), catalog.Cast<PetaliteCatalog>());
  }
}

// The table that a function's argument names.
const PetaliteTable& TableArgument(ClientContext& context, const Value& argument) {
  if (argument.IsNull()) Throw(InvalidArgument("the table's name is NULL"));
  const auto name = duckdb::QualifiedName::Parse(duckdb::StringValue::Get(argument));
  auto& entry =
      duckdb::Catalog::GetEntry(context, duckdb::CatalogType::TABLE_ENTRY, name.catalog, name.schema, name.name);
  if (entry.type != duckdb::CatalogType::TABLE_ENTRY || entry.ParentCatalog().GetCatalogType() != "petalite") {
    Throw(InvalidArgument("'{}' is not a table of a Petalite database", argument.ToString()));
  }
  return entry.Cast<PetaliteTable>();
}

duckdb::unique_ptr<duckdb::FunctionData> BindTables(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                                    duckdb::vector<LogicalType>& types,
                                                    duckdb::vector<duckdb::string>& names) {
  Declare({{"database_name", LogicalType::VARCHAR},
           {"schema_name", LogicalType::VARCHAR},
           {"table_name", LogicalType::VARCHAR},
           {"primary_key", LogicalType::LIST(LogicalType::VARCHAR)},
           {"options", LogicalType::VARCHAR},
           {"rowsets", LogicalType::UBIGINT},
           {"row_count", LogicalType::UBIGINT},
           {"bytes", LogicalType::UBIGINT}},
          &types, &names);
  auto data = duckdb::make_uniq<RowsData>();
  ForEachDatabase(context, [&](const std::string& database, PetaliteCatalog& catalog) {
    for (const auto& [_, schema] : PetaliteTransaction::Get(context, catalog).version().schemas) {
      for (const auto& [_, table] : schema.tables) {
        duckdb::vector<Value> key;
        for (const size_t column : table->key()) key.emplace_back(table->schema()[column].name);
        std::string options;
        for (const auto& [name, value] : table->options().given()) {
          options += fmt::format("{}{} = {}", options.empty() ? "" : ", ", name, value);
        }
        data->rows.push_back({Value(database), Value(schema.name), Value(table->name().table),
                              Value::LIST(LogicalType::VARCHAR, std::move(key)), Value(options),
                              Count(table->rowsets().size()), Count(table->rows()), Count(table->bytes())});
      }
    }
  });
  return data;
}

duckdb::unique_ptr<duckdb::FunctionData> BindRowsets(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                                     duckdb::vector<LogicalType>& types,
                                                     duckdb::vector<duckdb::string>& names) {
  Declare({{"rowset", LogicalType::UBIGINT},
           {"path", LogicalType::VARCHAR},
           {"row_count", LogicalType::UBIGINT},
           {"row_groups", LogicalType::UBIGINT},
           {"bytes", LogicalType::UBIGINT},
           {"filter_bytes", LogicalType::UBIGINT},
           {"min_key", LogicalType::VARCHAR},
           {"max_key", LogicalType::VARCHAR}},
          &types, &names);
  const store::Table& table = *TableArgument(context, input.inputs[0]).table();
  const auto key_text = [&](const std::string& key) {
    if (!table.is_keyed()) return Value(LogicalType::VARCHAR);
    return Value(FormatKey(table.KeyTypes(), Must(DecodeKey(table.KeyTypes(), key))));
  };
  auto data = duckdb::make_uniq<RowsData>();
  for (const auto& rowset : table.rowsets()) {
    const store::RowsetInfo& info = rowset->info();
    uint64_t filter_bytes = 0;
    for (const auto& column : info.columns) filter_bytes += column.filter_bytes;
    data->rows.push_back({Count(info.id), Value(rowset->path()), Count(info.rows), Count(info.row_groups),
                          Count(info.bytes), Count(filter_bytes), key_text(info.min_key), key_text(info.max_key)});
  }
  return data;
}

// What several filters of one kind come to.
struct FilterSum {
  uint64_t bytes = 0;
  double fpp = 0;  // added up
  uint64_t filters = 0;
  uint64_t probes = 0;
  uint64_t skips = 0;
  uint64_t false_positives = 0;

  void Add(const store::FilterCounters& counters) {
    probes += counters.probes;
    skips += counters.skips;
    false_positives += counters.false_positives;
  }
  std::vector<Value> Row(const std::string& column, const std::string& kind, double target) const {
    const double real = fpp / static_cast<double>(filters);
    const bool measurable = real > 0 && real < 1;  // an empty filter lets nothing through
    return {Value(column),
            Value(kind),
            Count(filters),
            Count(bytes),
            measurable ? Value::DOUBLE(bloom::BitsPerKeyForFpp(real)) : Value(LogicalType::DOUBLE),
            Value::DOUBLE(target),
            Value::DOUBLE(real),
            Count(probes),
            Count(skips),
            Count(false_positives)};
  }
};

FilterSum SumColumnFilters(const store::Table& table, size_t column) {
  FilterSum sum;
  for (const auto& rowset : table.rowsets()) {
    sum.Add(rowset->filter_counters(column));
    for (size_t group = 0; group < rowset->info().row_groups; ++group) {
      const auto filter = Must(rowset->Filter(group, column));
      if (filter == nullptr) continue;
      ++sum.filters;
      sum.bytes += filter->view().bits().size();
      sum.fpp += bloom::MeasuredFpp(filter->view());
    }
  }
  return sum;
}

FilterSum SumKeyFilters(const store::Table& table) {
  FilterSum sum;
  for (const auto& rowset : table.rowsets()) {
    const auto filter = Must(rowset->LoadKeyFilter());
    sum.Add(rowset->key_filter_counters());
    ++sum.filters;
    sum.bytes += filter->filter_bytes();
    sum.fpp += filter->real_fpp();
  }
  return sum;
}

duckdb::unique_ptr<duckdb::FunctionData> BindFilters(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                                     duckdb::vector<LogicalType>& types,
                                                     duckdb::vector<duckdb::string>& names) {
  Declare({{"column_name", LogicalType::VARCHAR},
           {"kind", LogicalType::VARCHAR},
           {"filters", LogicalType::UBIGINT},
           {"bytes", LogicalType::UBIGINT},
           {"bits_per_key", LogicalType::DOUBLE},
           {"target_fpp", LogicalType::DOUBLE},
           {"real_fpp", LogicalType::DOUBLE},
           {"probes", LogicalType::UBIGINT},
           {"skips", LogicalType::UBIGINT},
           {"false_positives", LogicalType::UBIGINT}},
          &types, &names);
  const store::Table& table = *TableArgument(context, input.inputs[0]).table();
  auto data = duckdb::make_uniq<RowsData>();
  for (size_t column = 0; column < table.schema().size(); ++column) {
    const FilterSum sum = SumColumnFilters(table, column);
    if (sum.filters == 0) continue;
    data->rows.push_back(sum.Row(table.schema()[column].name, "column", table.options().columns()[column].bloom_fpp));
  }
  if (table.is_keyed() && !table.rowsets().empty()) {
    data->rows.push_back(SumKeyFilters(table).Row("(primary key)", "key", table.options().key_bloom_fpp()));
  }
  return data;
}

duckdb::unique_ptr<duckdb::FunctionData> BindCache(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                                   duckdb::vector<LogicalType>& types,
                                                   duckdb::vector<duckdb::string>& names) {
  Declare({{"database_name", LogicalType::VARCHAR},
           {"budget", LogicalType::UBIGINT},
           {"bytes", LogicalType::UBIGINT},
           {"objects", LogicalType::UBIGINT},
           {"hits", LogicalType::UBIGINT},
           {"misses", LogicalType::UBIGINT},
           {"evictions", LogicalType::UBIGINT}},
          &types, &names);
  auto data = duckdb::make_uniq<RowsData>();
  ForEachDatabase(context, [&](const std::string& database, PetaliteCatalog& catalog) {
    const store::CacheStatistics cache = catalog.database().cache().statistics();
    data->rows.push_back({Value(database), Count(cache.budget), Count(cache.bytes), Count(cache.objects),
                          Count(cache.hits), Count(cache.misses), Count(cache.evictions)});
  });
  return data;
}

}  // namespace

void RegisterFunctions(duckdb::DatabaseInstance& instance) {
  duckdb::ExtensionLoader loader(instance, "petalite");
  using duckdb::TableFunction;
  loader.RegisterFunction(TableFunction("petalite_tables", {}, EmitRows, BindTables, InitRows));
  loader.RegisterFunction(TableFunction("petalite_rowsets", {LogicalType::VARCHAR}, EmitRows, BindRowsets, InitRows));
  loader.RegisterFunction(TableFunction("petalite_filters", {LogicalType::VARCHAR}, EmitRows, BindFilters, InitRows));
  loader.RegisterFunction(TableFunction("petalite_cache", {}, EmitRows, BindCache, InitRows));
}

}  // namespace petalite::sql
