// Rows by full key: key range, key filter, key index, one key page, then one page of each wanted column.

#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/version.h"

namespace petalite::store {

struct RowPosition {
  const Rowset* rowset = nullptr;
  uint32_t row_group = 0;
  uint32_t row = 0;  // within the row group
};

// Where the row with this encoded key is; none if the table has no such row.
Result<std::optional<RowPosition>> FindKey(const Table& table, std::string_view encoded_key);

// The same for many keys: the number of the first key that is present, with its position; none if all are absent.
struct FoundKey {
  size_t number;
  RowPosition position;
};
Result<std::optional<FoundKey>> FindFirstPresent(const Table& table, std::span<const std::string_view> encoded_keys);

// The value of one row of a decoded page.
Value PageValue(const parquet::DecodedPage& page, const Type& type, uint32_t row);

// Values of the given columns of a row.
Result<std::vector<Value>> ReadRow(const Table& table, const RowPosition& position, std::span<const size_t> columns);

}  // namespace petalite::store
