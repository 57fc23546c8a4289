// One state of the catalog: schemas, tables with their rowsets, views. Immutable; a commit publishes a new one, and
// whoever holds an old one goes on reading it (invariant 3). Thread-safe.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "column/schema.h"
#include "store/options.h"
#include "store/rowset.h"

namespace petalite::store {

using TableId = uint64_t;

struct TableName {
  std::string schema;
  std::string table;

  bool operator==(const TableName&) const = default;
  std::string ToString() const { return schema == "main" ? table : schema + "." + table; }
};

class Table {
 public:
  Table(TableId id, TableName name, Schema schema, std::vector<size_t> key, TableOptions options,
        std::vector<std::shared_ptr<Rowset>> rowsets);

  TableId id() const { return id_; }
  const TableName& name() const { return name_; }
  const Schema& schema() const { return schema_; }
  // Positions of the primary key's columns, in key order; empty for an unkeyed table.
  const std::vector<size_t>& key() const { return key_; }
  bool is_keyed() const { return !key_.empty(); }
  std::vector<Type> KeyTypes() const;
  const TableOptions& options() const { return options_; }
  const std::vector<std::shared_ptr<Rowset>>& rowsets() const { return rowsets_; }

  // Over all rowsets. Exact for rows; bounds are those of the parts; distinct is an estimate.
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const;
  const ZoneMap& ColumnZone(size_t column) const { return Summaries()[column].zone; }
  double DistinctCount(size_t column) const { return Summaries()[column].distinct; }

 private:
  struct ColumnSummary {
    ZoneMap zone;
    double distinct = 0;
  };
  // Added up on first use: every query asks, and most tables are never asked.
  const std::vector<ColumnSummary>& Summaries() const;
  ColumnSummary Summarize(size_t column) const;

  TableId id_;
  TableName name_;
  Schema schema_;
  std::vector<size_t> key_;
  TableOptions options_;
  std::vector<std::shared_ptr<Rowset>> rowsets_;
  uint64_t rows_ = 0;
  mutable std::once_flag summarized_;
  mutable std::vector<ColumnSummary> summaries_;
};

struct View {
  TableName name;
  std::string sql;  // the SELECT it stands for
};

// Names compare without regard to case.
struct NameLess {
  bool operator()(const std::string& a, const std::string& b) const;
};

struct SchemaVersion {
  std::string name;
  std::map<std::string, std::shared_ptr<const Table>, NameLess> tables;
  std::map<std::string, View, NameLess> views;
};

struct Version {
  uint64_t commit = 0;                                     // the number of the commit that made it
  std::map<std::string, SchemaVersion, NameLess> schemas;  // "main" always exists

  const SchemaVersion* FindSchema(const std::string& name) const;
  // Null if there is none.
  std::shared_ptr<const Table> FindTable(const TableName& name) const;
};

}  // namespace petalite::store
