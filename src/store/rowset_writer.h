// Writes one rowset file of a table: the Parquet writer with the table's options, and for keyed tables the key filter
// and the key index.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parquet/writer.h"
#include "store/rowset.h"
#include "store/store_context.h"
#include "store/version.h"

namespace petalite::store {

// How a job writes a rowset in the memory that it may use.
struct WriterPlan {
  uint32_t row_group_rows = 0;
  bool parallel = true;  // row groups are encoded while the next one is filled
  size_t bytes = 0;      // that the writer takes: row groups, key filter
};
// `row_bytes`: of a row in memory. `keys`: of the rowset; 0 for unkeyed tables. Where `budget` is too small, row groups
// are smaller (a page's rows at least) and encoded one by one.
WriterPlan PlanWriter(const TableOptions& options, size_t row_bytes, uint64_t keys, size_t budget);

class RowsetWriter {
 public:
  struct Target {
    const Schema& schema;
    const TableOptions& options;     // for that schema
    const std::vector<size_t>& key;  // positions in it; empty for unkeyed tables
    RowsetId id;
    uint32_t tablet = 0;
    bool with_commits = false;         // the rows are of several commits
    uint64_t keys = 0;                 // how many rows of a keyed table will come; 0: nobody knows
    const WriterPlan* plan = nullptr;  // null: as the options say
  };
  static Result<std::unique_ptr<RowsetWriter>> Create(StoreContext& context, TableId table, const Target& target);

  // `keys`: for a keyed table the rows' encoded keys, in rising order and not below last_key(), where versions of one
  // key follow each other from the newest to the oldest; otherwise empty. `commits`: of rows of several commits, each
  // row's; otherwise empty.
  Status Append(std::span<const ColumnView> columns, size_t rows, std::span<const std::string_view> keys,
                std::span<const uint64_t> commits = {});
  // Completes and syncs the file.
  Result<RowsetInfo> Finish();

  const std::string& path() const { return path_; }
  const std::string& last_key() const { return info_.max_key; }
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return file_->bytes(); }
  uint32_t row_group_rows() const { return row_group_rows_; }

 private:
  RowsetWriter(StoreContext& context, std::string path, const Target& target);

  const std::string path_;
  const FilesInUse::Use use_;
  const uint32_t page_rows_;
  const uint32_t row_group_rows_;
  const bool keyed_;
  std::unique_ptr<parquet::FileWriter> file_;
  RowsetInfo info_;
  uint64_t rows_ = 0;
  uint32_t row_group_ = 0;  // of the last row
  KeyFilterBuilder key_filter_;
  KeyIndex key_index_;
};

}  // namespace petalite::store
