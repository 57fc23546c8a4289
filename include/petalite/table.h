// What a table is called, and what it consists of.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "petalite/schema.h"

namespace petalite {

// Names compare without regard to ASCII case. Every database has the schema "main".
struct TableName {
  std::string schema = "main";
  std::string table = {};

  bool operator==(const TableName&) const = default;
  std::string ToString() const { return schema == "main" ? table : schema + "." + table; }
};

// One "name = value" as a user gives it: {"codec", "lz4; l_comment = zstd:3"}, {"bloom_fpp", "0.001"}. The value before
// the first ";" is the table's, the others name columns. docs/options.md lists names, defaults and ranges.
using OptionList = std::vector<std::pair<std::string, std::string>>;

struct TableDefinition {
  TableName name;
  Schema schema;                 // field ids 0: numbered from 1
  std::vector<std::string> key;  // names of the primary key's columns, in key order; they become not null; may be empty
  OptionList options;
};

}  // namespace petalite
