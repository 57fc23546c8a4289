// An embedded DuckDB with a Petalite database attached as "p", for tests.

#pragma once

#include <string>

#include <gtest/gtest.h>

#include "duckdb/main/client_context.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/database.hpp"
#include "duckdb/main/materialized_query_result.hpp"

#include "sql/catalog.h"
#include "sql/extension.h"
#include "temporary_folder.h"

namespace petalite::sql {

class SqlTest : public ::testing::Test {
 protected:
  SqlTest() {
    duckdb::DBConfig config;
    ConfigureEmbedded(&config);
    instance_ = std::make_unique<duckdb::DuckDB>(nullptr, &config);
    Register(*instance_->instance);
    connection_ = std::make_unique<duckdb::Connection>(*instance_);
    Run("ATTACH '" + (folder_ / "db") + "' AS p (TYPE petalite)");
  }

  // The result as text, a line a row, columns separated by "|".
  std::string Query(const std::string& sql) {
    const auto result = connection_->Query(sql);
    EXPECT_FALSE(result->HasError()) << sql << "\n" << result->GetError();
    if (result->HasError()) return "error";
    std::string text;
    for (duckdb::idx_t row = 0; row < result->RowCount(); ++row) {
      for (duckdb::idx_t column = 0; column < result->ColumnCount(); ++column) {
        text += (column > 0 ? "|" : "") + result->GetValue(column, row).ToString();
      }
      text += "\n";
    }
    return text;
  }
  void Run(const std::string& sql) { Query(sql); }

  // The message of a statement that must fail.
  std::string Error(const std::string& sql) {
    const auto result = connection_->Query(sql);
    EXPECT_TRUE(result->HasError()) << sql << " succeeds";
    return result->HasError() ? result->GetError() : "";
  }

  void Reattach(const std::string& options = "") {
    Run("USE memory");
    Run("DETACH p");
    Run("ATTACH '" + (folder_ / "db") + "' AS p (TYPE petalite" + options + ")");
  }

  // The store below, for what SQL cannot say.
  store::Database& database() {
    store::Database* found = nullptr;
    connection_->context->RunFunctionInTransaction(
        [&] { found = &duckdb::Catalog::GetCatalog(*connection_->context, "p").Cast<PetaliteCatalog>().database(); });
    return *found;
  }

  // Writes a query's rows, which are the columns `fields` of a table of schema main, past SQL.
  void WriteRows(const std::string& table, WriteOp op, const std::vector<size_t>& fields, const std::string& query) {
    auto result = connection_->Query(query);
    ASSERT_FALSE(result->HasError()) << query << "\n" << result->GetError();
    for (;;) {
      const auto chunk = result->Fetch();
      if (chunk == nullptr || chunk->size() == 0) return;
      std::vector<duckdb::UnifiedVectorFormat> formats(chunk->ColumnCount());
      WriteBatch batch{.op = op, .fields = fields, .rows = chunk->size()};
      for (duckdb::idx_t i = 0; i < chunk->ColumnCount(); ++i) {
        duckdb::UnifiedVectorFormat& format = formats[i];
        chunk->data[i].ToUnifiedFormat(chunk->size(), format);
        batch.columns.push_back({.values = format.data,
                                 .validity = format.validity.AllValid() ? nullptr : format.validity.GetData(),
                                 .selection = format.sel->IsSet() ? format.sel->data() : nullptr,
                                 .size = chunk->size()});
      }
      const auto written = database().Write({"main", table}, batch);
      ASSERT_TRUE(written.ok()) << written.status().message();
    }
  }

  TemporaryFolder folder_;
  std::unique_ptr<duckdb::DuckDB> instance_;
  std::unique_ptr<duckdb::Connection> connection_;
};

}  // namespace petalite::sql
