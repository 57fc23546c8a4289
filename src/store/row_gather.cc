#include "store/row_gather.h"

#include <algorithm>

#include "column/types.h"
#include "store/column_mapping.h"

namespace petalite::store {
namespace {

constexpr size_t kAhead = 24;  // rows whose values are on their way

// Values of type `from`, as the field has them.
void AppendWidened(const Type& from, const Field& field, ColumnView view, ColumnVector* out) {
  ByteBuffer widened;
  if (from != field.type) {
    widened.resize(view.size * field.type.Width());
    WidenValues(from, field.type, view.values, view.size, widened.data());
    view.values = widened.data();
  }
  out->Append(view);
}

void AppendDefault(const Field& field, size_t rows, ColumnVector* out) {
  ByteBuffer values(rows * field.type.Width());
  FillDefault(field, rows, values.data());
  const std::vector<uint64_t> none(field.initial_default.is_null() ? (rows + 63) / 64 : 0);
  out->Append({.values = values.data(), .validity = none.empty() ? nullptr : none.data(), .size = rows});
}

}  // namespace

void GatheredColumn::Begin(const Type& type, size_t rows) {
  width_ = type.Width();
  rows_ = rows;
  values_.resize(rows * width_);
  validity_.clear();
}

void GatheredColumn::SetNull(size_t i) {
  if (validity_.empty()) validity_.assign((rows_ + 63) / 64, ~uint64_t{0});
  validity_[i / 64] &= ~(uint64_t{1} << (i % 64));
  std::memset(values_.data() + i * width_, 0, width_);
}

ColumnView GatheredColumn::View() const {
  return {.values = values_.data(), .validity = validity_.empty() ? nullptr : validity_.data(), .size = rows_};
}

void GatherRows(const MemRowset& mem, size_t column, std::span<const uint8_t* const> blocks,
                std::span<const uint32_t> rows, GatheredColumn* out) {
  const Type& type = mem.schema()[column].type;
  out->Begin(type, rows.size());
  VisitLayout(type, [&]<typename T>(T) {
    const auto slot = [&](uint32_t row) {
      return reinterpret_cast<const T*>(blocks[row / MemRowset::kBlockRows]) + row % MemRowset::kBlockRows;
    };
    T* const to = reinterpret_cast<T*>(out->values());
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i + kAhead < rows.size()) __builtin_prefetch(slot(rows[i + kAhead]));
      to[i] = *slot(rows[i]);
    }
  });
  if (!mem.MayHaveNulls(column)) return;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!mem.IsValid(column, rows[i])) out->SetNull(i);
  }
}

LocatedRows::LocatedRows(const TabletState& state, std::span<const RowLocation> locations) : state_(state) {
  rows_.reserve(locations.size());
  for (const RowLocation& location : locations) {
    rows_.push_back({location.source, location.row, static_cast<uint32_t>(rows_.size())});
  }
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return a.source != b.source ? a.source < b.source : a.row < b.row; });
  places_.resize(rows_.size());
  for (uint32_t i = 0; i < rows_.size(); ++i) places_[rows_[i].number] = i;
}

Status LocatedRows::Gather(const Field& field, ColumnVector* out) const {
  const size_t mems = state_.mem_rowsets().size();
  for (auto begin = rows_.begin(); begin != rows_.end();) {
    const uint32_t source = begin->source;
    const auto end = std::find_if(begin, rows_.end(), [&](const Row& row) { return row.source != source; });
    if (source < mems) {
      GatherFromMemory(*state_.mem_rowsets()[source], field, {begin, end}, out);
    } else {
      RETURN_IF_ERROR(GatherFromFile(*state_.rowsets()[source - mems], field, {begin, end}, out));
    }
    begin = end;
  }
  return Status::Ok();
}

void LocatedRows::GatherFromMemory(const MemRowset& mem, const Field& field, std::span<const Row> rows,
                                   ColumnVector* out) {
  const size_t column = PositionOf(mem.schema(), field);
  if (column == ColumnSource::kAbsent) return AppendDefault(field, rows.size(), out);
  std::vector<uint32_t> numbers;
  for (const Row& row : rows) numbers.push_back(row.row);
  GatheredColumn gathered;
  GatherRows(mem, column, mem.Blocks(column), numbers, &gathered);
  AppendWidened(mem.schema()[column].type, field, gathered.View(), out);
}

Status LocatedRows::GatherFromFile(const Rowset& rowset, const Field& field, std::span<const Row> rows,
                                   ColumnVector* out) {
  const size_t column = PositionOf(rowset.schema(), field);
  if (column == ColumnSource::kAbsent) {
    AppendDefault(field, rows.size(), out);
    return Status::Ok();
  }
  RETURN_IF_ERROR(rowset.file().status());
  const Type& type = rowset.schema()[column].type;
  GatheredColumn gathered;
  for (size_t begin = 0; begin < rows.size();) {
    const Rowset::Place place = rowset.PlaceOf(rows[begin].row);
    ASSIGN_OR_RETURN(const auto pages, rowset.Pages(place.row_group, column));
    const size_t number = pages->PageOf(place.row);
    ASSIGN_OR_RETURN(const auto page, rowset.Page(place.row_group, column, number));
    const uint32_t start =
        rowset.GroupStart(place.row_group) + static_cast<uint32_t>(pages->locations[number].first_row_index);
    size_t end = begin;
    while (end < rows.size() && rows[end].row - start < page->rows()) ++end;
    gathered.Begin(type, end - begin);
    const auto* values = static_cast<const uint8_t*>(page->is_dictionary() ? page->dictionary()->values()  //
                                                                           : page->values());
    for (size_t i = begin; i < end; ++i) {
      const uint32_t row = rows[i].row - start;
      if (page->validity() != nullptr && (page->validity()[row / 64] >> (row % 64) & 1) == 0) {
        gathered.SetNull(i - begin);
      } else {
        gathered.Set(i - begin, values + (page->is_dictionary() ? page->codes()[row] : row) * type.Width());
      }
    }
    AppendWidened(type, field, gathered.View(), out);
    begin = end;
  }
  return Status::Ok();
}

}  // namespace petalite::store
