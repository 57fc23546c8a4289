// Rows picked from here and there, brought together column by column for a writer.

#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "column/column_vector.h"
#include "petalite/column_view.h"
#include "petalite/schema.h"
#include "store/mem_rowset.h"
#include "store/tablet_state.h"

namespace petalite::store {

// One column of gathered rows. Strings go on pointing where they pointed.
class GatheredColumn {
 public:
  // For `rows` rows; what it held is gone.
  void Begin(const Type& type, size_t rows);
  // The value of row i: `slot` in the type's layout.
  void Set(size_t i, const void* slot) { std::memcpy(values_.data() + i * width_, slot, width_); }
  void SetNull(size_t i);
  uint8_t* values() { return values_.data(); }
  ColumnView View() const;

 private:
  size_t width_ = 0;
  size_t rows_ = 0;
  ByteBuffer values_;
  std::vector<uint64_t> validity_;  // empty until the first null
};

// Rows of a memrowset, in the order given. `blocks` are the column's.
void GatherRows(const MemRowset& mem, size_t column, std::span<const uint8_t* const> blocks,
                std::span<const uint32_t> rows, GatheredColumn* out);

// Rows of a tablet, wherever they are and whatever schema they were written under. Each page is read once, and none is
// held on to.
class LocatedRows {
 public:
  // All of them are there. `state` must outlive this.
  LocatedRows(const TabletState& state, std::span<const RowLocation> locations);

  // Appends a column's values; the value of the i-th location is the places()[i]-th of those appended.
  Status Gather(const Field& field, ColumnVector* out) const;
  const std::vector<uint32_t>& places() const { return places_; }

 private:
  struct Row {
    uint32_t source;
    uint32_t row;
    uint32_t number;  // of the location
  };
  static void GatherFromMemory(const MemRowset& mem, const Field& field, std::span<const Row> rows, ColumnVector* out);
  static Status GatherFromFile(const Rowset& rowset, const Field& field, std::span<const Row> rows, ColumnVector* out);

  const TabletState& state_;
  std::vector<Row> rows_;  // by source and row
  std::vector<uint32_t> places_;
};

}  // namespace petalite::store
