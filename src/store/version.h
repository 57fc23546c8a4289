// One state of the catalog: schemas, tables, views. Immutable; a commit that changes a definition publishes a new one,
// and whoever holds an old one goes on reading it (invariant 3). What rows a table has as of a commit is a TableView's
// to say. Thread-safe.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "petalite/table.h"
#include "store/options.h"

namespace petalite::store {

using TableId = uint64_t;

class Tablet;

// What a table is; its rows are in its tablets. Immutable: a changed definition is another Table over the same tablets.
class Table {
 public:
  Table(TableId id, TableName name, Schema schema, std::vector<size_t> key, TableOptions options,
        std::vector<std::shared_ptr<Tablet>> tablets);

  TableId id() const { return id_; }
  const TableName& name() const { return name_; }
  const Schema& schema() const { return schema_; }
  // Positions of the primary key's columns, in key order; empty for an unkeyed table.
  const std::vector<size_t>& key() const { return key_; }
  bool is_keyed() const { return !key_.empty(); }
  std::vector<Type> KeyTypes() const;
  const TableOptions& options() const { return options_; }
  // Partitions by the key's hash; one for an unkeyed table.
  const std::vector<std::shared_ptr<Tablet>>& tablets() const { return tablets_; }
  // The tablet of a key with this hash.
  size_t TabletOf(uint64_t hash) const;

 private:
  TableId id_;
  TableName name_;
  Schema schema_;
  std::vector<size_t> key_;
  TableOptions options_;
  std::vector<std::shared_ptr<Tablet>> tablets_;
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
  std::map<TableId, std::shared_ptr<const Table>> TablesById() const;
};

// kNotFound, with the nearest name.
Status NoSuchTable(const Version& version, const TableName& name);

}  // namespace petalite::store
