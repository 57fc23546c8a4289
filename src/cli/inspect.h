// What `petalite inspect` finds out, as documents: objects whose members are single facts or lists of objects. The same
// document is printed as JSON or, one table per list, for people. Values are text in the form that Value::Parse reads.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/status.h"
#include "cli/command.h"
#include "parquet/reader.h"
#include "store/column_mapping.h"

namespace petalite::cli {

using Document = nlohmann::ordered_json;

struct InspectOptions {
  std::string path;
  std::string table;
  bool pages = false;
  bool filters = false;
  bool json = false;
  std::vector<std::string> probes;  // COLUMN=VALUE

  bool details() const { return pages || filters || !probes.empty(); }
};

// A file of those that are described together. `label` tells it from the others of a table (the rowset's number) and
// is null for a file on its own. `distinct` are estimates per column for the whole file, empty where there are none.
struct InspectedFile {
  const parquet::FileReader* reader = nullptr;
  Document label;
  std::vector<double> distinct;
  // Of a table's columns in the file, which may have been written under an older schema; null: they are the file's own.
  const store::ColumnMapping* mapping = nullptr;

  store::ColumnSource Source(size_t column) const {
    return mapping != nullptr ? (*mapping)[column] : store::ColumnSource{.position = column};
  }
};

// One object per column, added up over the files that have it.
Document DescribeColumns(std::span<const InspectedFile> files, const std::vector<parquet::LeafColumn>& leaves);
// The lists that --pages, --filters and --probe ask for, into `document`. `where` stands for the files in errors;
// `leaves` are their columns, which are known even where a table has no files yet.
Status DescribeDetails(const InspectOptions& options, const std::string& where,
                       const std::vector<parquet::LeafColumn>& leaves, std::span<const InspectedFile> files,
                       Document* document);

// A Parquet file, whoever wrote it.
Result<Document> InspectFile(const InspectOptions& options);
// A database's tables or, where the options name one, that table.
Result<Document> InspectDatabase(const InspectOptions& options, const CommonOptions& common);

}  // namespace petalite::cli
