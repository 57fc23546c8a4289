// Slices of decoded pages as DuckDB vectors, without copying values.

#pragma once

#include <memory>

#include "duckdb/common/types/vector.hpp"

#include "store/scan.h"

namespace petalite::sql {

// Turns the slices of one column into vectors. Keeps the DuckDB form of the last dictionary, which the pages of a row
// group share; one per thread and column.
class SliceVectors {
 public:
  // `may_have_nulls`: whether any page of the chunk may; its dictionary then has a null entry.
  void Set(const store::ColumnSlice& slice, size_t rows, bool may_have_nulls, duckdb::Vector* out);

  // The dictionary of the last slice, a flat vector of `dictionary_entries()`; only after a dictionary slice.
  duckdb::Vector& dictionary() { return reusable_->data; }
  size_t dictionary_entries() const { return entries_; }

 private:
  void SetFlat(const store::ColumnSlice& slice, size_t rows, duckdb::Vector* out);
  void SetDictionary(const store::ColumnSlice& slice, bool may_have_nulls, duckdb::Vector* out);

  std::shared_ptr<const parquet::Dictionary> current_;
  duckdb::buffer_ptr<duckdb::VectorChildBuffer> reusable_;
  size_t entries_ = 0;
};

}  // namespace petalite::sql
