// The options of tables (DESIGN.md, "Options"): their names, defaults, text form and meaning per column.

#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parquet/writer.h"
#include "petalite/table.h"

namespace petalite::store {

inline constexpr double kDefaultBloomFpp = 0.01;
inline constexpr double kDefaultKeyBloomFpp = 0.0001;

// Splits one command-line string, "codec=lz4; l_comment=zstd:3" or "bloom_fpp=0.001": everything behind the first
// "=" belongs to the option. An error where there is none.
Result<std::pair<std::string, std::string>> SplitOption(std::string_view text);

// The options of one table, checked and resolved against its schema.
class TableOptions {
 public:
  // The defaults.
  explicit TableOptions(const Schema& schema);

  // Applies what the user gave on top of `this`; on an error nothing has changed. Values are per table or per column:
  // the value before the first ";" is the table's, the others are "column = value". Errors name the option and the
  // nearest known name, an unknown column, or the allowed range.
  Status Apply(const Schema& schema, const OptionList& options);

  const std::vector<parquet::ColumnOptions>& columns() const { return columns_; }
  double key_bloom_fpp() const { return key_bloom_fpp_; }
  uint32_t page_rows() const { return page_rows_; }
  uint32_t row_group_rows() const { return row_group_rows_; }
  uint64_t rowset_bytes() const { return rowset_bytes_; }
  uint32_t tablets() const { return tablets_; }
  // An upsert or update that gives a row the values it has writes nothing (row_compare.h).
  bool skip_unchanged() const { return skip_unchanged_; }

  // The same options for another schema of the table: columns by field id, defaults for others.
  TableOptions For(const Schema& own, const Schema& other) const;
  // After a column got another name, or none: what was given speaks of it so.
  void RenameColumn(const std::string& from, const std::optional<std::string>& to);

  // What was set, as given: what the catalog stores, and Apply takes again.
  const std::map<std::string, std::string>& given() const { return given_; }

 private:
  Status ApplyOne(const Schema& schema, const std::string& name, const std::string& value);

  std::vector<parquet::ColumnOptions> columns_;
  double key_bloom_fpp_ = kDefaultKeyBloomFpp;
  uint32_t page_rows_ = 8192;
  uint32_t row_group_rows_ = 98304;
  uint64_t rowset_bytes_ = uint64_t{256} << 20;
  uint32_t tablets_ = 1;
  bool skip_unchanged_ = false;
  std::map<std::string, std::string> given_;
};

}  // namespace petalite::store
