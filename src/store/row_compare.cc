#include "store/row_compare.h"

#include <cstring>

#include "store/row_gather.h"

namespace petalite::store {
namespace {

template <typename T>
bool SameValue(const ColumnView& a, size_t a_row, const ColumnView& b, size_t b_row) {
  const bool valid = a.IsValid(a_row);
  if (valid != b.IsValid(b_row) || !valid) return valid == b.IsValid(b_row);
  if constexpr (std::is_same_v<T, StringRef>) {
    return a.Value<T>(a_row).view() == b.Value<T>(b_row).view();
  } else {
    return std::memcmp(&a.Value<T>(a_row), &b.Value<T>(b_row), sizeof(T)) == 0;
  }
}

}  // namespace

Result<std::vector<bool>> FindUnchanged(const TabletState& state, std::span<const RowLocation> locations,
                                        std::span<const uint32_t> rows, std::span<const ComparedColumn> columns) {
  std::vector<bool> same(locations.size(), true);
  std::vector<uint32_t> open(locations.size());  // the same so far
  for (uint32_t i = 0; i < open.size(); ++i) open[i] = i;
  for (const ComparedColumn& column : columns) {
    if (open.empty()) break;
    std::vector<RowLocation> wanted;
    for (const uint32_t i : open) wanted.push_back(locations[i]);
    const LocatedRows old_rows(state, wanted);
    ColumnVector old_values(column.field->type);
    RETURN_IF_ERROR(old_rows.Gather(*column.field, &old_values));
    const ColumnView old = old_values.View();
    VisitLayout(column.field->type, [&]<typename T>(T) {
      for (size_t i = 0; i < open.size(); ++i) {
        same[open[i]] = SameValue<T>(old, old_rows.places()[i], column.given, rows[open[i]]);
      }
    });
    std::erase_if(open, [&](uint32_t i) { return !same[i]; });
  }
  return same;
}

bool SameValues(std::span<const ComparedColumn> columns, uint32_t a, uint32_t b) {
  for (const ComparedColumn& column : columns) {
    const bool same = VisitLayout(column.field->type, [&]<typename T>(T) {  //
      return SameValue<T>(column.given, a, column.given, b);
    });
    if (!same) return false;
  }
  return true;
}

}  // namespace petalite::store
