// Rows by full key, as of a commit.

#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/table_view.h"

namespace petalite::store {

// Where the row with this encoded key is; none if the table has no such row.
Result<std::optional<RowPosition>> FindKey(const TableView& view, std::string_view encoded_key);

// The same for many keys: the number of the first key that is present; none if all are absent.
Result<std::optional<size_t>> FindFirstPresent(const TableView& view, std::span<const std::string_view> encoded_keys);

// The value of one row of a decoded page.
Value PageValue(const parquet::DecodedPage& page, const Type& type, uint32_t row);

// Values of the given columns of a row.
Result<std::vector<Value>> ReadRow(const TableView& view, const RowPosition& position, std::span<const size_t> columns);
// The value of one column of a row of a tablet's state, whatever schema the row was written under.
Result<Value> ReadValue(const TabletState& state, const RowLocation& location, const Field& field);

}  // namespace petalite::store
