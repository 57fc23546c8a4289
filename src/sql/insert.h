// The sink of INSERT and CREATE TABLE AS: rows into a TableAppender, which joins the transaction at the end.

#pragma once

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/planner/parsed_data/bound_create_table_info.hpp"

namespace petalite::sql {

class PetaliteTable;

// One thread at a time, so that rows keep their order; encoding runs on the store's own threads.
class PetaliteInsert : public duckdb::PhysicalOperator {
 public:
  static constexpr duckdb::PhysicalOperatorType TYPE = duckdb::PhysicalOperatorType::EXTENSION;

  // INSERT INTO an existing table.
  PetaliteInsert(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types, PetaliteTable& table,
                 duckdb::idx_t estimated_cardinality);
  // CREATE TABLE AS: the table is made when execution begins.
  PetaliteInsert(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
                 duckdb::SchemaCatalogEntry& schema, duckdb::unique_ptr<duckdb::BoundCreateTableInfo> info,
                 duckdb::idx_t estimated_cardinality);

  duckdb::string GetName() const override { return "PETALITE_INSERT"; }

  bool IsSink() const override { return true; }
  bool ParallelSink() const override { return false; }
  bool SinkOrderDependent() const override { return true; }
  duckdb::unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(duckdb::ClientContext& context) const override;
  duckdb::SinkResultType Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override;
  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline& pipeline, duckdb::Event& event, duckdb::ClientContext& context,
                                    duckdb::OperatorSinkFinalizeInput& input) const override;

  bool IsSource() const override { return true; }

 protected:
  duckdb::SourceResultType GetDataInternal(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput& input) const override;

 private:
  PetaliteTable* table_ = nullptr;  // INSERT
  duckdb::SchemaCatalogEntry* schema_ = nullptr;
  duckdb::unique_ptr<duckdb::BoundCreateTableInfo> info_;  // CREATE TABLE AS
};

}  // namespace petalite::sql
