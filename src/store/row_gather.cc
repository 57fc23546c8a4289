#include "store/row_gather.h"

#include "column/types.h"

namespace petalite::store {
namespace {

constexpr size_t kAhead = 24;  // rows whose values are on their way

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

}  // namespace petalite::store
