#include "sql/functions.h"

#include <functional>
#include <optional>

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/function/table_function.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/database_manager.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parser/qualified_name.hpp"
#include "duckdb/planner/binder.hpp"

#include "bloom/split_block_filter.h"
#include "column/key_encoding.h"
#include "sql/catalog.h"
#include "sql/errors.h"
#include "sql/transaction.h"
#include "sql/types.h"
#include "store/commit_log.h"
#include "store/metrics.h"
#include "store/snapshots.h"
#include "store/verify.h"

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

void EmitChunk(const std::vector<std::vector<Value>>& rows, size_t* next, duckdb::DataChunk& output) {
  duckdb::idx_t count = 0;
  for (; *next < rows.size() && count < STANDARD_VECTOR_SIZE; ++*next, ++count) {
    for (size_t column = 0; column < rows[*next].size(); ++column) output.SetValue(column, count, rows[*next][column]);
  }
  output.SetCardinality(count);
}

void EmitRows(ClientContext& context, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  EmitChunk(input.bind_data->Cast<RowsData>().rows, &input.global_state->Cast<RowsState>().next, output);
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
PetaliteTable& TableArgument(ClientContext& context, const Value& argument) {
  if (argument.IsNull()) Throw(InvalidArgument("the table's name is NULL"));
  auto name = duckdb::QualifiedName::Parse(duckdb::StringValue::Get(argument));
  duckdb::Binder::BindSchemaOrCatalog(context, name.catalog, name.schema);  // "p.t" may name either
  auto& entry =
      duckdb::Catalog::GetEntry(context, duckdb::CatalogType::TABLE_ENTRY, name.catalog, name.schema, name.name);
  if (entry.type != duckdb::CatalogType::TABLE_ENTRY || entry.ParentCatalog().GetCatalogType() != "petalite") {
    Throw(InvalidArgument("'{}' is not a table of a Petalite database", argument.ToString()));
  }
  return entry.Cast<PetaliteTable>();
}

std::shared_ptr<const store::TableView> ViewArgument(ClientContext& context, const Value& argument) {
  const PetaliteTable& entry = TableArgument(context, argument);
  return PetaliteTransaction::Get(context, entry.catalog).OpenView(entry.table());
}

// Rows not flushed yet, dead ones included.
uint64_t MemoryRows(const store::TableView& view) {
  uint64_t rows = 0;
  for (const auto& part : view.mem_rowsets()) rows += part.rows;
  return rows;
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
           {"bytes", LogicalType::UBIGINT},
           {"memory_rows", LogicalType::UBIGINT}},
          &types, &names);
  auto data = duckdb::make_uniq<RowsData>();
  ForEachDatabase(context, [&](const std::string& database, PetaliteCatalog& catalog) {
    auto& transaction = PetaliteTransaction::Get(context, catalog);
    for (const auto& [_, schema] : transaction.version().schemas) {
      for (const auto& [_, table] : schema.tables) {
        const auto view = transaction.OpenView(table);
        duckdb::vector<Value> key;
        for (const size_t column : table->key()) key.emplace_back(table->schema()[column].name);
        std::string options;
        for (const auto& [name, value] : table->options().given()) {
          options += fmt::format("{}{} = {}", options.empty() ? "" : ", ", name, value);
        }
        data->rows.push_back({Value(database), Value(schema.name), Value(table->name().table),
                              Value::LIST(LogicalType::VARCHAR, std::move(key)), Value(options),
                              Count(view->rowsets().size()), Count(view->rows()), Count(view->bytes()),
                              Count(MemoryRows(*view))});
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
           {"max_key", LogicalType::VARCHAR},
           {"dead_rows", LogicalType::UBIGINT},
           {"min_commit", LogicalType::UBIGINT},
           {"max_commit", LogicalType::UBIGINT}},
          &types, &names);
  const auto view = ViewArgument(context, input.inputs[0]);
  const store::Table& table = view->table();
  const auto key_text = [&](const std::string& key) {
    if (!table.is_keyed()) return Value(LogicalType::VARCHAR);
    return Value(FormatKey(table.KeyTypes(), Must(DecodeKey(table.KeyTypes(), key))));
  };
  auto data = duckdb::make_uniq<RowsData>();
  for (const auto& part : view->rowsets()) {
    const store::RowsetInfo& info = part.rowset->info();
    uint64_t filter_bytes = 0;
    for (const auto& column : info.columns) filter_bytes += column.filter_bytes;
    data->rows.push_back({Count(info.id), Value(part.rowset->path()), Count(info.rows), Count(info.row_groups),
                          Count(info.bytes), Count(filter_bytes), key_text(info.min_key), key_text(info.max_key),
                          Count(part.dead == nullptr ? 0 : part.dead->count()), Count(info.min_commit),
                          Count(info.max_commit)});
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

FilterSum SumColumnFilters(const store::TableView& view, size_t column) {
  FilterSum sum;
  for (const auto& part : view.rowsets()) {
    const store::ColumnSource& source = (*part.mapping)[column];
    if (source.absent()) continue;
    sum.Add(part.rowset->filter_counters(source.position));
    for (size_t group = 0; group < part.rowset->info().row_groups; ++group) {
      const auto filter = Must(part.rowset->Filter(group, source.position));
      if (filter == nullptr) continue;
      ++sum.filters;
      sum.bytes += filter->view().bits().size();
      sum.fpp += bloom::MeasuredFpp(filter->view());
    }
  }
  return sum;
}

FilterSum SumKeyFilters(const store::TableView& view) {
  FilterSum sum;
  for (const auto& part : view.rowsets()) {
    const auto filter = Must(part.rowset->LoadKeyFilter());
    sum.Add(part.rowset->key_filter_counters());
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
  const auto view = ViewArgument(context, input.inputs[0]);
  const store::Table& table = view->table();
  auto data = duckdb::make_uniq<RowsData>();
  for (size_t column = 0; column < table.schema().size(); ++column) {
    const FilterSum sum = SumColumnFilters(*view, column);
    if (sum.filters == 0) continue;
    data->rows.push_back(sum.Row(table.schema()[column].name, "column", table.options().columns()[column].bloom_fpp));
  }
  if (table.is_keyed() && !view->rowsets().empty()) {
    data->rows.push_back(SumKeyFilters(*view).Row("(primary key)", "key", table.options().key_bloom_fpp()));
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

// Counts since the database was opened, and what is true at this moment.
duckdb::unique_ptr<duckdb::FunctionData> BindMetrics(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                                     duckdb::vector<LogicalType>& types,
                                                     duckdb::vector<duckdb::string>& names) {
  Declare({{"database_name", LogicalType::VARCHAR},
           {"name", LogicalType::VARCHAR},
           {"value", LogicalType::UBIGINT},
           {"text", LogicalType::VARCHAR}},
          &types, &names);
  auto data = duckdb::make_uniq<RowsData>();
  ForEachDatabase(context, [&](const std::string& database, PetaliteCatalog& catalog) {
    for (const Metric& each : store::ListMetrics(catalog.database().context())) {
      const Value text = each.text.empty() ? Value(LogicalType::VARCHAR) : Value(each.text);
      data->rows.push_back({Value(database), Value(each.name), Count(each.value), text});
    }
  });
  return data;
}

// Commits that AT may name, as far as times are kept; the newest first.
duckdb::unique_ptr<duckdb::FunctionData> BindSnapshots(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                                       duckdb::vector<LogicalType>& types,
                                                       duckdb::vector<duckdb::string>& names) {
  Declare(
      {{"database_name", LogicalType::VARCHAR}, {"commit", LogicalType::UBIGINT}, {"time", LogicalType::TIMESTAMP_TZ}},
      &types, &names);
  auto data = duckdb::make_uniq<RowsData>();
  ForEachDatabase(context, [&](const std::string& database, PetaliteCatalog& catalog) {
    const store::StoreContext& store = catalog.database().context();
    const uint64_t visible = store.log->visible();
    const uint64_t horizon = store.snapshots->horizon();
    const auto times = store.snapshots->Times();
    for (auto each = times.rbegin(); each != times.rend(); ++each) {
      if (each->commit > visible || each->commit < horizon) continue;
      data->rows.push_back(
          {Value(database), Count(each->commit), Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(each->time))});
    }
  });
  return data;
}

// CALL petalite_flush and petalite_compact ------------------------------------------------------------------------

using Job = Status (*)(store::Database& database, const std::optional<TableName>& table);

// A job on one table or, without a name, on every table of every database that can be written to.
struct JobData : public duckdb::TableFunctionData {
  Job job = nullptr;
  std::optional<Value> table;
};

struct JobState : public RowsState {
  bool done = false;
  std::vector<std::vector<Value>> rows;
};

// What the tables are afterwards, whatever the statement's own transaction sees.
void DescribeTables(const std::string& name, store::Database& database, const std::optional<TableName>& only,
                    std::vector<std::vector<Value>>* rows) {
  const auto snapshot = database.CurrentSnapshot();
  for (const auto& [_, table] : snapshot->version().TablesById()) {
    if (only.has_value() && table->name() != *only) continue;
    const auto view = snapshot->View(table);
    rows->push_back({Value(name), Value(table->name().schema), Value(table->name().table),
                     Count(view->rowsets().size()), Count(view->bytes())});
  }
}

template <Job kJob>
duckdb::unique_ptr<duckdb::FunctionData> BindJob(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                                 duckdb::vector<LogicalType>& types,
                                                 duckdb::vector<duckdb::string>& names) {
  Declare({{"database_name", LogicalType::VARCHAR},
           {"schema_name", LogicalType::VARCHAR},
           {"table_name", LogicalType::VARCHAR},
           {"rowsets", LogicalType::UBIGINT},
           {"bytes", LogicalType::UBIGINT}},
          &types, &names);
  auto data = duckdb::make_uniq<JobData>();
  data->job = kJob;
  if (!input.inputs.empty()) {
    (void)TableArgument(context, input.inputs[0]);
    data->table = input.inputs[0];
  }
  return data;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitJob(ClientContext&, duckdb::TableFunctionInitInput&) {
  return duckdb::make_uniq<JobState>();
}

// When it runs, and not when it is bound, so that EXPLAIN and PREPARE do nothing.
void RunJob(ClientContext& context, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  const auto& data = input.bind_data->Cast<JobData>();
  auto& state = input.global_state->Cast<JobState>();
  const auto run = [&](const std::string& name, store::Database& database, const std::optional<TableName>& table) {
    ThrowIfError(data.job(database, table));
    DescribeTables(name, database, table, &state.rows);
  };
  if (!state.done) {
    state.done = true;
    if (data.table.has_value()) {
      PetaliteTable& entry = TableArgument(context, *data.table);
      run(entry.ParentCatalog().GetName(), entry.ParentCatalog().Cast<PetaliteCatalog>().database(),
          entry.table()->name());
    } else {
      ForEachDatabase(context, [&](const std::string& name, PetaliteCatalog& catalog) {
        if (!catalog.database().read_only()) run(name, catalog.database(), std::nullopt);
      });
    }
  }
  EmitChunk(state.rows, &state.next, output);
}

Status Flush(store::Database& database, const std::optional<TableName>& table) { return database.Flush(table); }
Status Compact(store::Database& database, const std::optional<TableName>& table) { return database.Compact(table); }

// CALL petalite_verify: a row for each damage, none if all is sound.

duckdb::unique_ptr<duckdb::FunctionData> BindVerify(ClientContext& context, duckdb::TableFunctionBindInput& input,
                                                    duckdb::vector<LogicalType>& types,
                                                    duckdb::vector<duckdb::string>& names) {
  Declare({{"database_name", LogicalType::VARCHAR}, {"damage", LogicalType::VARCHAR}}, &types, &names);
  auto data = duckdb::make_uniq<JobData>();
  if (!input.inputs.empty()) {
    (void)TableArgument(context, input.inputs[0]);
    data->table = input.inputs[0];
  }
  return data;
}

void RunVerify(ClientContext& context, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  const auto& data = input.bind_data->Cast<JobData>();
  auto& state = input.global_state->Cast<JobState>();
  const auto progress = [&](size_t, size_t) { return !context.IsInterrupted(); };
  const auto run = [&](const std::string& name, store::Database& database, const std::optional<TableName>& table) {
    for (const store::Damage& each : Must(store::Verify(database, progress, table))) {
      state.rows.push_back({Value(name), Value(each.what)});
    }
  };
  if (!state.done) {
    state.done = true;
    if (data.table.has_value()) {
      PetaliteTable& entry = TableArgument(context, *data.table);
      run(entry.ParentCatalog().GetName(), entry.ParentCatalog().Cast<PetaliteCatalog>().database(),
          entry.table()->name());
    } else {
      ForEachDatabase(context, [&](const std::string& name, PetaliteCatalog& catalog) {
        run(name, catalog.database(), std::nullopt);
      });
    }
  }
  EmitChunk(state.rows, &state.next, output);
}

duckdb::TableFunctionSet OptionalTableFunction(const char* name, duckdb::table_function_t run,
                                               duckdb::table_function_bind_t bind) {
  duckdb::TableFunctionSet set(name);
  set.AddFunction(duckdb::TableFunction({}, run, bind, InitJob));
  set.AddFunction(duckdb::TableFunction({LogicalType::VARCHAR}, run, bind, InitJob));
  return set;
}

}  // namespace

void RegisterFunctions(duckdb::DatabaseInstance& instance) {
  duckdb::ExtensionLoader loader(instance, "petalite");
  using duckdb::TableFunction;
  loader.RegisterFunction(TableFunction("petalite_tables", {}, EmitRows, BindTables, InitRows));
  loader.RegisterFunction(TableFunction("petalite_rowsets", {LogicalType::VARCHAR}, EmitRows, BindRowsets, InitRows));
  loader.RegisterFunction(TableFunction("petalite_filters", {LogicalType::VARCHAR}, EmitRows, BindFilters, InitRows));
  loader.RegisterFunction(TableFunction("petalite_cache", {}, EmitRows, BindCache, InitRows));
  loader.RegisterFunction(TableFunction("petalite_metrics", {}, EmitRows, BindMetrics, InitRows));
  loader.RegisterFunction(TableFunction("petalite_snapshots", {}, EmitRows, BindSnapshots, InitRows));
  loader.RegisterFunction(OptionalTableFunction("petalite_flush", RunJob, BindJob<Flush>));
  loader.RegisterFunction(OptionalTableFunction("petalite_compact", RunJob, BindJob<Compact>));
  loader.RegisterFunction(OptionalTableFunction("petalite_verify", RunVerify, BindVerify));
}

}  // namespace petalite::sql
