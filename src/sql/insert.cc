#include "sql/insert.h"

#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/planner/operator/logical_create_table.hpp"
#include "duckdb/planner/operator/logical_delete.hpp"
#include "duckdb/planner/operator/logical_insert.hpp"
#include "duckdb/planner/operator/logical_update.hpp"

#include "sql/catalog.h"
#include "sql/errors.h"
#include "sql/transaction.h"
#include "sql/types.h"
#include "store/appender.h"

namespace petalite::sql {
namespace {

struct InsertState : public duckdb::GlobalSinkState {
  PetaliteTransaction* transaction = nullptr;
  std::shared_ptr<const store::Table> table;
  std::unique_ptr<store::TableAppender> appender;
  duckdb::DataChunk converted;  // where the table's type is not the value's (types.h)
  duckdb::vector<duckdb::LogicalType> types;
};

// Views of a chunk's vectors, whatever their form, and what the views point into.
class ChunkViews {
 public:
  explicit ChunkViews(duckdb::DataChunk& chunk) : formats_(chunk.ColumnCount()) {
    for (duckdb::idx_t i = 0; i < chunk.ColumnCount(); ++i) {
      chunk.data[i].ToUnifiedFormat(chunk.size(), formats_[i]);
      const duckdb::UnifiedVectorFormat& format = formats_[i];
      views_.push_back({.values = format.data,
                        .validity = format.validity.AllValid() ? nullptr : format.validity.GetData(),
                        .selection = format.sel->IsSet() ? format.sel->data() : nullptr,
                        .size = chunk.size()});
    }
  }
  const std::vector<ColumnView>& views() const { return views_; }

 private:
  std::vector<duckdb::UnifiedVectorFormat> formats_;
  std::vector<ColumnView> views_;
};

}  // namespace

PetaliteInsert::PetaliteInsert(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
                               PetaliteTable& table, duckdb::idx_t estimated_cardinality)
    : duckdb::PhysicalOperator(plan, TYPE, std::move(types), estimated_cardinality), table_(&table) {}

PetaliteInsert::PetaliteInsert(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
                               duckdb::SchemaCatalogEntry& schema,
                               duckdb::unique_ptr<duckdb::BoundCreateTableInfo> info,
                               duckdb::idx_t estimated_cardinality)
    : duckdb::PhysicalOperator(plan, TYPE, std::move(types), estimated_cardinality),
      schema_(&schema),
      info_(std::move(info)) {}

duckdb::unique_ptr<duckdb::GlobalSinkState> PetaliteInsert::GetGlobalSinkState(duckdb::ClientContext& context) const {
  auto state = duckdb::make_uniq<InsertState>();
  PetaliteTable* table = table_;
  if (info_ != nullptr) {
    auto transaction = schema_->GetCatalogTransaction(context);
    table = &schema_->CreateTable(transaction, *info_)->Cast<PetaliteTable>();
  }
  auto& transaction = PetaliteTransaction::Get(context, table->catalog);
  state->transaction = &transaction;
  state->table = table->table();
  state->appender = Must(transaction.Write().Append(state->table->name()));
  for (const auto& column : table->GetColumns().Logical()) state->types.push_back(column.Type());
  return state;
}

duckdb::SinkResultType PetaliteInsert::Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                                            duckdb::OperatorSinkInput& input) const {
  auto& state = input.global_state.Cast<InsertState>();
  duckdb::DataChunk* rows = &chunk;
  if (chunk.GetTypes() != state.types) {
    if (state.converted.ColumnCount() == 0) state.converted.Initialize(context.client, state.types);
    state.converted.Reset();
    for (duckdb::idx_t i = 0; i < chunk.ColumnCount(); ++i) {
      if (chunk.data[i].GetType() == state.types[i]) {
        state.converted.data[i].Reference(chunk.data[i]);
      } else {
        duckdb::VectorOperations::Cast(context.client, chunk.data[i], state.converted.data[i], chunk.size());
      }
    }
    state.converted.SetCardinality(chunk.size());
    rows = &state.converted;
  }
  const ChunkViews views(*rows);
  state.transaction->WithStore([&] { return state.appender->Append(views.views(), rows->size()); });
  return duckdb::SinkResultType::NEED_MORE_INPUT;
}

duckdb::SinkFinalizeType PetaliteInsert::Finalize(duckdb::Pipeline& pipeline, duckdb::Event& event,
                                                  duckdb::ClientContext& context,
                                                  duckdb::OperatorSinkFinalizeInput& input) const {
  auto& state = input.global_state.Cast<InsertState>();
  state.transaction->ChangeRows([&] { return state.appender->Finish(); });
  return duckdb::SinkFinalizeType::READY;
}

duckdb::SourceResultType PetaliteInsert::GetDataInternal(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                                                         duckdb::OperatorSourceInput& input) const {
  const auto rows = sink_state->Cast<InsertState>().appender->rows();
  chunk.SetCardinality(1);
  chunk.SetValue(0, 0, duckdb::Value::BIGINT(static_cast<int64_t>(rows)));
  return duckdb::SourceResultType::FINISHED;
}

duckdb::PhysicalOperator& PetaliteCatalog::PlanCreateTableAs(duckdb::ClientContext& context,
                                                             duckdb::PhysicalPlanGenerator& planner,
                                                             duckdb::LogicalCreateTable& op,
                                                             duckdb::PhysicalOperator& plan) {
  auto& insert = planner.Make<PetaliteInsert>(op.types, op.schema, std::move(op.info), op.estimated_cardinality);
  insert.children.push_back(plan);
  return insert;
}

duckdb::PhysicalOperator& PetaliteCatalog::PlanInsert(duckdb::ClientContext& context,
                                                      duckdb::PhysicalPlanGenerator& planner, duckdb::LogicalInsert& op,
                                                      duckdb::optional_ptr<duckdb::PhysicalOperator> plan) {
  if (op.return_chunk) Throw(Unsupported("INSERT … RETURNING is not supported"));
  if (op.on_conflict_info.action_type != duckdb::OnConflictAction::THROW) {
    Throw(Unsupported("INSERT … ON CONFLICT is not supported"));
  }
  if (!op.column_index_map.empty()) plan = planner.ResolveDefaultsProjection(op, *plan);
  auto& insert = planner.Make<PetaliteInsert>(op.types, op.table.Cast<PetaliteTable>(), op.estimated_cardinality);
  insert.children.push_back(*plan);
  return insert;
}

duckdb::PhysicalOperator& PetaliteCatalog::PlanDelete(duckdb::ClientContext& context,
                                                      duckdb::PhysicalPlanGenerator& planner, duckdb::LogicalDelete& op,
                                                      duckdb::PhysicalOperator& plan) {
  Throw(Unsupported("table '{}': DELETE is not supported", op.table.name));
}

duckdb::PhysicalOperator& PetaliteCatalog::PlanUpdate(duckdb::ClientContext& context,
                                                      duckdb::PhysicalPlanGenerator& planner, duckdb::LogicalUpdate& op,
                                                      duckdb::PhysicalOperator& plan) {
  Throw(Unsupported("table '{}': UPDATE is not supported", op.table.name));
}

}  // namespace petalite::sql
