#include "sql/scan.h"

#include <algorithm>

#include "duckdb/catalog/dependency_list.hpp"
#include "duckdb/execution/adaptive_filter.hpp"
#include "duckdb/function/partition_stats.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/planner/filter/optional_filter.hpp"
#include "duckdb/planner/table_filter_state.hpp"
#include "duckdb/storage/table/column_segment.hpp"

#include "sql/catalog.h"
#include "sql/errors.h"
#include "sql/predicate.h"
#include "sql/slice_vector.h"
#include "sql/statistics.h"
#include "sql/transaction.h"
#include "store/scan.h"

namespace petalite::sql {
namespace {

using duckdb::ClientContext;
using duckdb::DataChunk;
using duckdb::FunctionData;
using duckdb::SelectionVector;
using duckdb::TableFilter;
using duckdb::Vector;

struct ScanBindData : public duckdb::TableFunctionData {
  explicit ScanBindData(std::shared_ptr<PetaliteTable> entry) : entry(std::move(entry)) {}

  duckdb::unique_ptr<FunctionData> Copy() const override { return duckdb::make_uniq<ScanBindData>(entry); }
  bool Equals(const FunctionData& other_data) const override {
    const PetaliteTable& other = *other_data.Cast<ScanBindData>().entry;
    return entry->table() == other.table() && entry->commit() == other.commit();
  }

  std::shared_ptr<PetaliteTable> entry;
};

// A pushed-down filter: position among the scanned columns, and what it says.
struct ScanFilter {
  size_t position;
  const TableFilter* filter;
};

struct ScanGlobalState : public duckdb::GlobalTableFunctionState {
  idx_t MaxThreads() const override { return std::max<idx_t>(scan->morsels(), 1); }

  duckdb::unique_ptr<duckdb::TableFilterSet> filter_set;  // owns what `filters` points to
  std::vector<ScanFilter> filters;
  std::vector<size_t> columns;             // positions in the table, of the scanned columns that exist
  std::vector<size_t> outputs;             // positions in `columns`, SIZE_MAX for no column at all
  std::vector<duckdb::LogicalType> types;  // of `columns`
  std::unique_ptr<store::TableScan> scan;
};

// What one thread needs to scan morsel after morsel.
class ScanLocalState : public duckdb::LocalTableFunctionState {
 public:
  ScanLocalState(ClientContext& context, ScanGlobalState& global)
      : global_(global), reader_(*global.scan, global.columns), slices_(global.columns.size()) {
    for (const ScanFilter& filter : global.filters) {
      filters_.push_back({filter, duckdb::TableFilterState::Initialize(context, *filter.filter), {}, nullptr});
    }
    if (global.filter_set != nullptr && !filters_.empty()) {
      order_ = duckdb::make_uniq<duckdb::AdaptiveFilter>(*global.filter_set);
    }
    chunk_.InitializeEmpty({global.types.begin(), global.types.end()});
  }

  // Fills `output` with rows that every filter keeps; leaves it empty at the end of the scan.
  void Next(DataChunk& output) {
    while (output.size() == 0) {
      store::RowRange range;
      if (!in_morsel_ || !reader_.NextRange(STANDARD_VECTOR_SIZE, &range)) {
        if (!NextMorsel()) return;
        continue;
      }
      ScanRange(range, output);
    }
  }

  size_t morsel() const { return morsel_; }

 private:
  struct Filter {
    ScanFilter scan;
    duckdb::unique_ptr<duckdb::TableFilterState> state;
    // For dictionary pages: which entries of `dictionary` the filter keeps.
    std::vector<uint8_t> kept;
    const parquet::Dictionary* dictionary;
  };

  bool NextMorsel() {
    store::Morsel morsel;
    do {
      in_morsel_ = global_.scan->Next(&morsel, &morsel_);
      if (!in_morsel_) return false;
      in_morsel_ = Must(reader_.Start(morsel, DynamicPredicates()));
    } while (!in_morsel_);
    return true;
  }

  // What joins and top-n have found out by now.
  std::vector<store::ColumnPredicate> DynamicPredicates() const {
    std::vector<store::ColumnPredicate> predicates;
    for (const Filter& filter : filters_) {
      if (!IsDynamic(*filter.scan.filter)) continue;
      const size_t column = global_.columns[filter.scan.position];
      predicates.push_back({column, ToPredicate(*filter.scan.filter, global_.scan->table().schema()[column].type)});
    }
    return predicates;
  }

  void Load(size_t position, const store::RowRange& range) {
    if (loaded_[position]) return;
    last_slices_[position] = Must(reader_.Read(position, range));
    slices_[position].Set(last_slices_[position], range.end - range.begin, reader_.MayHaveNulls(position),
                          &chunk_.data[position]);
    loaded_[position] = true;
  }

  // The rows that a reader may see at all; all of them leave the selection unset.
  idx_t SelectVisible(const store::RowRange& range, SelectionVector* selection) {
    const idx_t rows = range.end - range.begin;
    if (!reader_.may_have_invisible()) return rows;
    static_assert(sizeof(duckdb::sel_t) == sizeof(uint32_t));
    SelectionVector visible(STANDARD_VECTOR_SIZE);
    const idx_t kept = Must(reader_.Visible(range, visible.data()));
    if (kept < rows) selection->Initialize(visible);
    return kept;
  }

  void ScanRange(const store::RowRange& range, DataChunk& output) {
    const idx_t rows = range.end - range.begin;
    SelectionVector selection;
    idx_t kept = SelectVisible(range, &selection);
    if (kept == 0) return;
    loaded_.assign(global_.columns.size(), false);
    last_slices_.resize(global_.columns.size());
    chunk_.Reset();
    if (!filters_.empty()) {
      const auto timing = order_->BeginFilter();
      for (size_t i = 0; i < filters_.size() && kept > 0; ++i) {
        Filter& filter = filters_[order_->permutation[i]];
        Load(filter.scan.position, range);
        Apply(filter, rows, &selection, &kept);
      }
      order_->EndFilter(timing);
    }
    if (kept == 0) return;
    for (size_t i = 0; i < output.ColumnCount(); ++i) {
      if (global_.outputs[i] == SIZE_MAX) {
        output.data[i].Reference(duckdb::Value(output.data[i].GetType()));
        continue;
      }
      Load(global_.outputs[i], range);
      output.data[i].Reference(chunk_.data[global_.outputs[i]]);
    }
    output.SetCardinality(rows);
    if (kept < rows) output.Slice(selection, kept);
  }

  void Apply(Filter& filter, idx_t rows, SelectionVector* selection, idx_t* kept) {
    const store::ColumnSlice& slice = last_slices_[filter.scan.position];
    Vector& vector = chunk_.data[filter.scan.position];
    if (slice.codes != nullptr && IsPerValue(*filter.scan.filter)) {
      ApplyByDictionary(filter, slice, rows, selection, kept);
      return;
    }
    duckdb::UnifiedVectorFormat format;
    vector.ToUnifiedFormat(rows, format);
    duckdb::ColumnSegment::FilterSelection(*selection, vector, format, *filter.scan.filter, *filter.state, rows, *kept);
  }

  // Evaluates the filter once for each entry of the dictionary, and then only looks codes up.
  void ApplyByDictionary(Filter& filter, const store::ColumnSlice& slice, idx_t rows, SelectionVector* selection,
                         idx_t* kept) {
    SliceVectors& slices = slices_[filter.scan.position];
    if (filter.dictionary != slice.dictionary) {
      const idx_t entries = slices.dictionary_entries();
      filter.kept.assign(entries, 0);
      filter.dictionary = slice.dictionary;
      for (idx_t begin = 0; begin < entries; begin += STANDARD_VECTOR_SIZE) {
        const idx_t count = std::min<idx_t>(STANDARD_VECTOR_SIZE, entries - begin);
        Vector part(slices.dictionary(), begin, begin + count);
        duckdb::UnifiedVectorFormat format;
        part.ToUnifiedFormat(count, format);
        SelectionVector matches;
        idx_t matching = count;
        duckdb::ColumnSegment::FilterSelection(matches, part, format, *filter.scan.filter, *filter.state, count,
                                               matching);
        for (idx_t i = 0; i < matching; ++i) filter.kept[begin + matches.get_index(i)] = 1;
      }
    }
    SelectionVector result(STANDARD_VECTOR_SIZE);
    idx_t count = 0;
    for (idx_t i = 0; i < *kept; ++i) {
      const idx_t row = selection->IsSet() ? selection->get_index(i) : i;
      result.set_index(count, row);
      count += filter.kept[slice.codes[row]];
    }
    selection->Initialize(result);
    *kept = count;
  }

  ScanGlobalState& global_;
  store::MorselReader reader_;
  std::vector<SliceVectors> slices_;  // per column, as are the next three
  std::vector<store::ColumnSlice> last_slices_;
  std::vector<bool> loaded_;
  DataChunk chunk_;
  std::vector<Filter> filters_;
  duckdb::unique_ptr<duckdb::AdaptiveFilter> order_;
  size_t morsel_ = 0;
  bool in_morsel_ = false;
};

bool FilterPruning(ClientContext& context) {
  duckdb::Value value;
  return !context.TryGetCurrentSetting(kFilterPruningSetting, value) || duckdb::BooleanValue::Get(value);
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitGlobal(ClientContext& context,
                                                                duckdb::TableFunctionInitInput& input) {
  const auto& bind = input.bind_data->Cast<ScanBindData>();
  const Schema& schema = bind.entry->table()->schema();
  auto global = duckdb::make_uniq<ScanGlobalState>();
  std::vector<size_t> positions;  // of the scanned columns in global->columns
  for (const duckdb::column_t column : input.column_ids) {
    if (column >= schema.size()) {
      positions.push_back(SIZE_MAX);
      continue;
    }
    positions.push_back(global->columns.size());
    global->columns.push_back(column);
    global->types.push_back(bind.entry->GetColumn(duckdb::LogicalIndex(column)).Type());
  }
  if (input.CanRemoveFilterColumns()) {
    for (const idx_t projected : input.projection_ids) global->outputs.push_back(positions[projected]);
  } else {
    global->outputs = positions;
  }
  std::vector<store::ColumnPredicate> predicates;
  if (input.filters != nullptr) {
    global->filter_set = input.filters->Copy();
    for (const auto& [position, filter] : global->filter_set->filters) {
      const size_t column = global->columns[positions[position]];
      global->filters.push_back({positions[position], filter.get()});
      predicates.push_back({column, ToPredicate(*filter, schema[column].type)});
    }
  }
  auto view = PetaliteTransaction::Get(context, bind.entry->catalog).ScanView(*bind.entry);
  global->scan = Must(store::TableScan::Start(std::move(view), std::move(predicates), FilterPruning(context)));
  return global;
}

duckdb::unique_ptr<duckdb::LocalTableFunctionState> InitLocal(duckdb::ExecutionContext& context,
                                                              duckdb::TableFunctionInitInput& input,
                                                              duckdb::GlobalTableFunctionState* global) {
  return duckdb::make_uniq<ScanLocalState>(context.client, global->Cast<ScanGlobalState>());
}

void Scan(ClientContext& context, duckdb::TableFunctionInput& input, DataChunk& output) {
  input.local_state->Cast<ScanLocalState>().Next(output);
}

// What the optimizer asks about.
std::shared_ptr<const store::TableView> PlanningView(ClientContext& context, const FunctionData* bind_data) {
  const PetaliteTable& entry = *bind_data->Cast<ScanBindData>().entry;
  return PetaliteTransaction::Get(context, entry.catalog).PlanningView(entry);
}

// Where the number of rows is not exact, it is not too low either.
duckdb::unique_ptr<duckdb::NodeStatistics> Cardinality(ClientContext& context, const FunctionData* bind_data) {
  const idx_t rows = PlanningView(context, bind_data)->rows();
  return duckdb::make_uniq<duckdb::NodeStatistics>(rows, rows);
}

duckdb::unique_ptr<duckdb::BaseStatistics> Statistics(ClientContext& context, const FunctionData* bind_data,
                                                      duckdb::column_t column) {
  if (column >= bind_data->Cast<ScanBindData>().entry->table()->schema().size()) return nullptr;
  return ColumnStatistics(*PlanningView(context, bind_data), column);
}

double Progress(ClientContext& context, const FunctionData* bind_data,
                const duckdb::GlobalTableFunctionState* global_state) {
  const store::TableScan& scan = *global_state->Cast<ScanGlobalState>().scan;
  if (scan.morsels() == 0) return 100;
  return 100.0 * static_cast<double>(std::min(scan.started(), scan.morsels())) / static_cast<double>(scan.morsels());
}

// Morsels are numbered in table order, so that DuckDB can put parallel results back into it.
duckdb::OperatorPartitionData PartitionData(ClientContext& context, duckdb::TableFunctionGetPartitionInput& input) {
  return duckdb::OperatorPartitionData(input.local_state->Cast<ScanLocalState>().morsel());
}

duckdb::BindInfo GetBindInfo(const duckdb::optional_ptr<FunctionData> bind_data) {
  return duckdb::BindInfo(*bind_data->Cast<ScanBindData>().entry);
}

// One exact count for all rows, where it is known without looking at them: COUNT(*) is then a constant.
duckdb::vector<duckdb::PartitionStatistics> PartitionStats(ClientContext& context,
                                                           duckdb::GetPartitionStatsInput& input) {
  const auto rows = PlanningView(context, input.bind_data.get())->exact_rows();
  if (!rows.has_value()) return {};
  duckdb::PartitionStatistics statistics;
  statistics.row_start = 0;
  statistics.count = *rows;
  statistics.count_type = duckdb::CountType::COUNT_EXACT;
  return {statistics};
}

duckdb::virtual_column_map_t VirtualColumns(ClientContext& context, duckdb::optional_ptr<FunctionData> bind_data) {
  return bind_data->Cast<ScanBindData>().entry->GetVirtualColumns();
}

duckdb::InsertionOrderPreservingMap<duckdb::string> ToString(duckdb::TableFunctionToStringInput& input) {
  duckdb::InsertionOrderPreservingMap<duckdb::string> lines;
  const PetaliteTable& entry = *input.bind_data->Cast<ScanBindData>().entry;
  lines["Table"] = entry.table()->name().ToString();
  if (entry.commit().has_value()) lines["Version"] = std::to_string(*entry.commit());
  return lines;
}

duckdb::InsertionOrderPreservingMap<duckdb::string> DynamicToString(duckdb::TableFunctionDynamicToStringInput& input) {
  duckdb::InsertionOrderPreservingMap<duckdb::string> lines;
  if (input.global_state == nullptr) return lines;
  store::TableScan& scan = *input.global_state->Cast<ScanGlobalState>().scan;
  const store::ScanStatistics& counts = scan.statistics();
  lines["Rowsets"] =
      fmt::format("{} considered, {} pruned by zone map", counts.rowsets.load(), counts.rowsets_by_zone.load());
  lines["Row Groups"] =
      fmt::format("{} considered, {} pruned by zone map, {} by Bloom filter", counts.row_groups.load(),
                  counts.row_groups_by_zone.load(), counts.row_groups_by_filter.load());
  lines["Pages"] =
      fmt::format("{} considered, {} pruned by page index", counts.pages.load(), counts.pages_by_zone.load());
  uint64_t in_memory = 0;
  for (const auto& part : scan.view().mem_rowsets()) in_memory += part.rows;
  if (in_memory > 0) lines["Memory"] = fmt::format("{} rows", in_memory);
  return lines;
}

}  // namespace

duckdb::unique_ptr<FunctionData> MakeScanBindData(PetaliteTable& entry) {
  return duckdb::make_uniq<ScanBindData>(entry.shared_from_this());
}

duckdb::TableFunction ScanFunction() {
  duckdb::TableFunction function("petalite_scan", {}, Scan, nullptr, InitGlobal, InitLocal);
  function.projection_pushdown = true;
  function.filter_pushdown = true;
  function.filter_prune = true;
  // Whatever is asked of one column alone is applied here, where a dictionary needs it only once an entry.
  function.pushdown_expression = [](ClientContext&, const duckdb::LogicalGet&, duckdb::Expression&) { return true; };
  function.cardinality = Cardinality;
  function.statistics = Statistics;
  function.table_scan_progress = Progress;
  function.get_partition_data = PartitionData;
  function.get_partition_stats = PartitionStats;
  function.get_bind_info = GetBindInfo;
  function.get_virtual_columns = VirtualColumns;
  function.to_string = ToString;
  function.dynamic_to_string = DynamicToString;
  return function;
}

}  // namespace petalite::sql
