#include "store/lookup.h"

#include <algorithm>

#include "base/hash.h"
#include "column/key_encoding.h"

namespace petalite::store {
namespace {

// The encoded keys of single rows of a page, column by column.
class PageKeys {
 public:
  static Result<PageKeys> Load(const Table& table, const Rowset& rowset, KeyIndex::Position position) {
    PageKeys keys(table);
    for (const size_t column : table.key()) {
      ASSIGN_OR_RETURN(auto page, rowset.Page(position.row_group, column, position.page));
      keys.pages_.push_back(std::move(page));
    }
    return keys;
  }

  uint32_t rows() const { return pages_[0]->rows(); }

  Result<std::string> KeyAt(uint32_t row) const {
    std::vector<Value> values;
    for (size_t i = 0; i < pages_.size(); ++i) values.push_back(PageValue(*pages_[i], types_[i], row));
    return EncodeKey(types_, values);
  }

 private:
  explicit PageKeys(const Table& table) : types_(table.KeyTypes()) {}

  std::vector<Type> types_;
  std::vector<std::shared_ptr<const parquet::DecodedPage>> pages_;
};

bool InKeyRange(const Rowset& rowset, std::string_view key) {
  return key >= rowset.info().min_key && key <= rowset.info().max_key;
}

// Searches the one page of a rowset that can hold the key.
Result<std::optional<RowPosition>> FindOnPage(const Table& table, const Rowset& rowset, std::string_view key) {
  ASSIGN_OR_RETURN(const auto index, rowset.LoadKeyIndex());
  const KeyIndex::Position position = index->Find(key);
  ASSIGN_OR_RETURN(const PageKeys keys, PageKeys::Load(table, rowset, position));
  uint32_t low = 0;
  uint32_t high = keys.rows();
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const std::string at, keys.KeyAt(middle));
    if (at == key) {
      ASSIGN_OR_RETURN(const auto pages, rowset.Pages(position.row_group, table.key()[0]));
      const auto first = static_cast<uint32_t>(pages->locations[position.page].first_row_index);
      return std::optional(RowPosition{&rowset, position.row_group, first + middle});
    }
    if (at < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  rowset.key_filter_counters().false_positives.fetch_add(1, std::memory_order_relaxed);
  return std::optional<RowPosition>();
}

}  // namespace

Value PageValue(const parquet::DecodedPage& page, const Type& type, uint32_t row) {
  if (page.validity() != nullptr && (page.validity()[row / 64] >> (row % 64) & 1) == 0) return {};
  const void* values = page.is_dictionary() ? page.dictionary()->values() : page.values();
  const size_t slot = page.is_dictionary() ? page.codes()[row] : row;
  return Value::FromSlot(type, static_cast<const uint8_t*>(values) + slot * type.Width());
}

Result<std::optional<RowPosition>> FindKey(const Table& table, std::string_view encoded_key) {
  CHECK(table.is_keyed());
  const uint64_t hash = Xxh64(encoded_key);
  for (const auto& rowset : table.rowsets()) {
    if (!InKeyRange(*rowset, encoded_key)) continue;
    ASSIGN_OR_RETURN(const auto filter, rowset->LoadKeyFilter());
    FilterCounters& counters = rowset->key_filter_counters();
    counters.probes.fetch_add(1, std::memory_order_relaxed);
    if (!filter->MayContain(hash)) {
      counters.skips.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    ASSIGN_OR_RETURN(const auto found, FindOnPage(table, *rowset, encoded_key));
    if (found.has_value()) return found;
  }
  return std::optional<RowPosition>();
}

Result<std::optional<FoundKey>> FindFirstPresent(const Table& table, std::span<const std::string_view> encoded_keys) {
  if (table.rowsets().empty()) return std::optional<FoundKey>();
  std::vector<uint64_t> hashes;
  hashes.reserve(encoded_keys.size());
  for (const std::string_view key : encoded_keys) hashes.push_back(Xxh64(key));
  std::vector<uint8_t> maybe(encoded_keys.size());
  std::optional<FoundKey> first;
  for (const auto& rowset : table.rowsets()) {
    const bool overlaps = std::any_of(encoded_keys.begin(), encoded_keys.end(),
                                      [&](std::string_view key) { return InKeyRange(*rowset, key); });
    if (!overlaps) continue;
    ASSIGN_OR_RETURN(const auto filter, rowset->LoadKeyFilter());
    filter->MayContain(hashes, maybe.data());
    FilterCounters& counters = rowset->key_filter_counters();
    counters.probes.fetch_add(hashes.size(), std::memory_order_relaxed);
    for (size_t i = 0; i < encoded_keys.size() && (!first || i < first->number); ++i) {
      if (maybe[i] == 0) {
        counters.skips.fetch_add(1, std::memory_order_relaxed);
      } else if (InKeyRange(*rowset, encoded_keys[i])) {
        ASSIGN_OR_RETURN(const auto found, FindOnPage(table, *rowset, encoded_keys[i]));
        if (found.has_value()) first = FoundKey{i, *found};
      }
    }
  }
  return first;
}

Result<std::vector<Value>> ReadRow(const Table& table, const RowPosition& position, std::span<const size_t> columns) {
  std::vector<Value> values;
  for (const size_t column : columns) {
    ASSIGN_OR_RETURN(const auto pages, position.rowset->Pages(position.row_group, column));
    const size_t page = pages->PageOf(position.row);
    ASSIGN_OR_RETURN(const auto decoded, position.rowset->Page(position.row_group, column, page));
    const auto row = position.row - static_cast<uint32_t>(pages->locations[page].first_row_index);
    values.push_back(PageValue(*decoded, table.schema()[column].type, row));
  }
  return values;
}

}  // namespace petalite::store
