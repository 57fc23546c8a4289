// Reads whole columns through a FileReader, for tests that compare them with something else.

#pragma once

#include <vector>

#include "parquet/reader.h"
#include "petalite/value.h"

namespace petalite::parquet {

inline bool IsValidRow(const DecodedPage& page, uint32_t row) {
  return page.validity() == nullptr || (page.validity()[row / 64] >> (row % 64) & 1) != 0;
}

// The value of one row of a page.
inline Value PageValue(const Type& type, const DecodedPage& page, uint32_t row) {
  if (!IsValidRow(page, row)) return Value();
  if (page.is_dictionary()) {
    const auto* strings = static_cast<const StringRef*>(page.dictionary()->values());
    return Value::FromSlot(type, strings + page.codes()[row]);
  }
  return Value::FromSlot(type, static_cast<const uint8_t*>(page.values()) + row * type.Width());
}

// Calls f(page, first_row) for each page of a chunk.
template <typename F>
Status ForEachPage(const FileReader& reader, size_t row_group, size_t column, F&& f) {
  ASSIGN_OR_RETURN(const auto pages, reader.LoadPages(row_group, column));
  ASSIGN_OR_RETURN(const auto dictionary, reader.LoadDictionary(row_group, column, *pages));
  for (size_t i = 0; i < pages->locations.size(); ++i) {
    ASSIGN_OR_RETURN(const auto page, reader.LoadPage(row_group, column, *pages, i, dictionary));
    f(*page, pages->locations[i].first_row_index);
  }
  return Status::Ok();
}

inline Result<std::vector<Value>> ReadColumn(const FileReader& reader, size_t column) {
  std::vector<Value> values;
  const Type& type = reader.columns()[column].field.type;
  for (size_t group = 0; group < reader.row_groups(); ++group) {
    RETURN_IF_ERROR(ForEachPage(reader, group, column, [&](const DecodedPage& page, int64_t) {
      for (uint32_t row = 0; row < page.rows(); ++row) values.push_back(PageValue(type, page, row));
    }));
  }
  return values;
}

}  // namespace petalite::parquet
