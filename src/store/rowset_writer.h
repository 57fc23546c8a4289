// Writes one rowset file of a table: the Parquet writer with the table's options, and for keyed tables the key filter
// and the key index.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parquet/writer.h"
#include "store/key_index.h"
#include "store/version.h"

namespace petalite::store {

class RowsetWriter {
 public:
  static Result<std::unique_ptr<RowsetWriter>> Create(FileSystem& fs, ThreadPool* pool, const std::string& path,
                                                      const Table& table, RowsetId id);

  // `keys`: for a keyed table the rows' encoded keys, in rising order and above last_key(); otherwise empty.
  Status Append(std::span<const ColumnView> columns, size_t rows, std::span<const std::string_view> keys);
  // Completes and syncs the file.
  Result<RowsetInfo> Finish();

  const std::string& path() const { return path_; }
  const std::string& last_key() const { return info_.max_key; }
  uint64_t rows() const { return rows_; }
  uint64_t bytes() const { return file_->bytes(); }

 private:
  RowsetWriter(std::string path, const Table& table, std::unique_ptr<parquet::FileWriter> file);

  const std::string path_;
  const TableOptions options_;
  const bool keyed_;
  std::unique_ptr<parquet::FileWriter> file_;
  RowsetInfo info_;
  uint64_t rows_ = 0;
  std::vector<uint64_t> key_hashes_;
  KeyIndex key_index_;
};

}  // namespace petalite::store
