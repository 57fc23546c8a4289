// Scans: what of a table must be read at all, cut into morsels for threads, and read as slices that point into decoded
// pages.
//
//   TableScan (shared by threads): prunes rowsets and row groups by zone map and column filter, hands out morsels.
//   MorselReader (one per thread): prunes pages, then gives row ranges that lie on one page in every column.

#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "column/predicate.h"
#include "store/version.h"

namespace petalite::store {

struct ColumnPredicate {
  size_t column = 0;  // position in the table's schema
  Predicate predicate;
};

// How much each kind of pruning removed. Row groups count only in rowsets that were kept, pages only in row groups
// that were read.
struct ScanStatistics {
  std::atomic<uint64_t> rowsets{0}, rowsets_by_zone{0};
  std::atomic<uint64_t> row_groups{0}, row_groups_by_zone{0}, row_groups_by_filter{0};
  std::atomic<uint64_t> pages{0}, pages_by_zone{0};  // page rows of the table, not of each column
};

// Rows of one row group.
struct Morsel {
  uint32_t rowset = 0;  // position in the table's rowsets
  uint32_t row_group = 0;
};

struct RowRange {
  uint32_t begin = 0;
  uint32_t end = 0;  // exclusive
};

class TableScan {
 public:
  // `filter_pruning` off: column filters are not consulted (for comparisons).
  static Result<std::unique_ptr<TableScan>> Start(std::shared_ptr<const Table> table,
                                                  std::vector<ColumnPredicate> predicates, bool filter_pruning = true);

  // Thread-safe; false when none is left. `index` is the morsel's number in table order.
  bool Next(Morsel* morsel, size_t* index);
  size_t morsels() const { return morsels_.size(); }
  size_t started() const { return next_.load(std::memory_order_relaxed); }

  const Table& table() const { return *table_; }
  const std::vector<ColumnPredicate>& predicates() const { return predicates_; }
  ScanStatistics& statistics() { return statistics_; }
  bool filter_pruning() const { return filter_pruning_; }

 private:
  TableScan(std::shared_ptr<const Table> table, std::vector<ColumnPredicate> predicates, bool filter_pruning);
  Status PruneRowset(uint32_t position);
  Result<bool> RowGroupMayMatch(const Rowset& rowset, size_t row_group);

  const std::shared_ptr<const Table> table_;
  const std::vector<ColumnPredicate> predicates_;
  const bool filter_pruning_;
  std::vector<Morsel> morsels_;
  std::atomic<size_t> next_{0};
  ScanStatistics statistics_;
};

// Consecutive rows of one column, pointing into a page, which `owner` keeps alive.
struct ColumnSlice {
  const void* values = nullptr;     // flat: the first row's slot; null for dictionary slices
  const uint32_t* codes = nullptr;  // dictionary: the first row's code
  const parquet::Dictionary* dictionary = nullptr;
  const uint64_t* validity = nullptr;  // null: no nulls in the page; else bit validity_offset is the first row's
  size_t validity_offset = 0;
  std::shared_ptr<const parquet::DecodedPage> owner;
};

class MorselReader {
 public:
  // `columns`: positions in the table's schema that may be read.
  MorselReader(TableScan& scan, std::vector<size_t> columns);

  // Begins a morsel. `more` are predicates that arrived while the query runs; false if they, or page zones, leave
  // nothing of it.
  Result<bool> Start(const Morsel& morsel, std::span<const ColumnPredicate> more = {});

  // The next at most `limit` rows that lie on one page in each column; false at the morsel's end.
  bool NextRange(uint32_t limit, RowRange* range);

  // Rows of a range that NextRange gave, of columns[i]. Decodes the page unless it is cached.
  Result<ColumnSlice> Read(size_t i, const RowRange& range);

 private:
  struct Cursor {
    size_t column;
    std::shared_ptr<const parquet::ChunkPages> pages;
    size_t page = SIZE_MAX;
    std::shared_ptr<const parquet::DecodedPage> decoded;
  };
  Result<bool> PrunePages(std::span<const ColumnPredicate> predicates);

  TableScan& scan_;
  std::vector<Cursor> cursors_;
  const Rowset* rowset_ = nullptr;
  uint32_t row_group_ = 0;
  std::vector<RowRange> kept_;  // ascending, disjoint
  size_t next_kept_ = 0;
  uint32_t position_ = 0;
};

}  // namespace petalite::store
