#include "store/lookup.h"

#include <algorithm>

#include "base/hash.h"
#include "store/column_mapping.h"

namespace petalite::store {

Value PageValue(const parquet::DecodedPage& page, const Type& type, uint32_t row) {
  if (page.validity() != nullptr && (page.validity()[row / 64] >> (row % 64) & 1) == 0) return {};
  const void* values = page.is_dictionary() ? page.dictionary()->values() : page.values();
  const size_t slot = page.is_dictionary() ? page.codes()[row] : row;
  return Value::FromSlot(type, static_cast<const uint8_t*>(values) + slot * type.Width());
}

Result<std::optional<RowPosition>> FindKey(const TableView& view, std::string_view encoded_key) {
  CHECK(view.table().is_keyed());
  const uint64_t hash = Xxh64(encoded_key);
  const size_t tablet = view.table().TabletOf(hash);
  RowLocation location;
  RETURN_IF_ERROR(view.FindKeys(tablet, {&encoded_key, 1}, {&hash, 1}, {&location, 1}));
  if (!location.found()) return std::optional<RowPosition>();
  return std::optional(RowPosition{static_cast<uint32_t>(tablet), location});
}

Result<std::optional<size_t>> FindFirstPresent(const TableView& view, std::span<const std::string_view> encoded_keys) {
  std::optional<size_t> first;
  for (size_t tablet = 0; tablet < view.table().tablets().size(); ++tablet) {
    std::vector<std::string_view> keys;
    std::vector<uint64_t> hashes;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < encoded_keys.size(); ++i) {
      const uint64_t hash = Xxh64(encoded_keys[i]);
      if (view.table().TabletOf(hash) != tablet) continue;
      keys.push_back(encoded_keys[i]);
      hashes.push_back(hash);
      numbers.push_back(i);
    }
    std::vector<RowLocation> locations(keys.size());
    RETURN_IF_ERROR(view.FindKeys(tablet, keys, hashes, locations));
    const auto found = std::find_if(locations.begin(), locations.end(), [](const auto& each) { return each.found(); });
    if (found == locations.end()) continue;
    first = std::min(first.value_or(SIZE_MAX), numbers[static_cast<size_t>(found - locations.begin())]);
  }
  return first;
}

Result<Value> ReadValue(const TabletState& state, const RowLocation& location, const Field& field) {
  const auto& mem_rowsets = state.mem_rowsets();
  if (location.source < mem_rowsets.size()) {
    const MemRowset& mem = *mem_rowsets[location.source];
    const size_t column = PositionOf(mem.schema(), field);
    if (column == ColumnSource::kAbsent) return field.initial_default;
    if (!mem.IsValid(column, location.row)) return Value();
    const Type& type = mem.schema()[column].type;
    return WidenValue(type, field.type, Value::FromSlot(type, mem.Values(column, location.row)));
  }
  const Rowset& rowset = *state.rowsets()[location.source - mem_rowsets.size()];
  const size_t column = PositionOf(rowset.schema(), field);
  if (column == ColumnSource::kAbsent) return field.initial_default;
  ASSIGN_OR_RETURN([[maybe_unused]] const auto* file, rowset.file());
  const Rowset::Place place = rowset.PlaceOf(location.row);
  ASSIGN_OR_RETURN(const auto pages, rowset.Pages(place.row_group, column));
  const size_t page = pages->PageOf(place.row);
  ASSIGN_OR_RETURN(const auto decoded, rowset.Page(place.row_group, column, page));
  const auto row = place.row - static_cast<uint32_t>(pages->locations[page].first_row_index);
  const Type& type = rowset.schema()[column].type;
  return WidenValue(type, field.type, PageValue(*decoded, type, row));
}

Result<std::vector<Value>> ReadRow(const TableView& view, const RowPosition& position,
                                   std::span<const size_t> columns) {
  std::vector<Value> values;
  for (const size_t column : columns) {
    ASSIGN_OR_RETURN(auto value,
                     ReadValue(view.state(position.tablet), position.location, view.table().schema()[column]));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace petalite::store
