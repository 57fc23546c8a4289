// Scans: what of a table must be read at all as of a commit, cut into morsels for threads, and read as slices that
// point into decoded pages or memrowsets.
//
//   TableScan (shared by threads): prunes rowsets and row groups by zone map and column filter, hands out morsels.
//   MorselReader (one per thread): prunes pages, then gives row ranges that lie on one page in every column.

#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "column/predicate.h"
#include "store/table_view.h"

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

// Rows of one row group, or as many of a memrowset.
struct Morsel {
  uint32_t part = 0;  // position in the view's rowsets, or behind them in its memrowsets
  uint32_t row_group = 0;
};

struct RowRange {
  uint32_t begin = 0;
  uint32_t end = 0;  // exclusive
};

class TableScan {
 public:
  // `filter_pruning` off: column filters are not consulted (for comparisons).
  static Result<std::unique_ptr<TableScan>> Start(std::shared_ptr<const TableView> view,
                                                  std::vector<ColumnPredicate> predicates, bool filter_pruning = true);

  // Thread-safe; false when none is left. `index` is the morsel's number in table order.
  bool Next(Morsel* morsel, size_t* index);
  size_t morsels() const { return morsels_.size(); }
  size_t started() const { return next_.load(std::memory_order_relaxed); }

  // Rows of a memrowset that are one morsel.
  static constexpr uint32_t kMemMorselRows = 12 * MemRowset::kBlockRows;

  const TableView& view() const { return *view_; }
  const Table& table() const { return view_->table(); }
  const std::vector<ColumnPredicate>& predicates() const { return predicates_; }
  ScanStatistics& statistics() { return statistics_; }
  bool filter_pruning() const { return filter_pruning_; }

 private:
  TableScan(std::shared_ptr<const TableView> view, std::vector<ColumnPredicate> predicates, bool filter_pruning);
  Status PruneRowset(uint32_t position);
  Result<bool> RowGroupMayMatch(const Rowset& rowset, const ColumnMapping& mapping, size_t row_group);

  const std::shared_ptr<const TableView> view_;
  const std::vector<ColumnPredicate> predicates_;
  const bool filter_pruning_;
  std::vector<Morsel> morsels_;
  std::atomic<size_t> next_{0};
  ScanStatistics statistics_;
};

// Consecutive rows of one column, pointing into a page or memrowset, which `owner` keeps alive.
struct ColumnSlice {
  const void* values = nullptr;     // flat: the first row's slot; null for dictionary slices
  const uint32_t* codes = nullptr;  // dictionary: the first row's code
  const parquet::Dictionary* dictionary = nullptr;
  const uint64_t* validity = nullptr;  // null: no nulls in the page; else bit validity_offset is the first row's
  size_t validity_offset = 0;
  std::shared_ptr<const void> owner;
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

  // Whether some rows of the morsel may not be seen: dead, or of later commits. Then Visible must be asked.
  bool may_have_invisible() const { return may_have_invisible_; }
  // Writes those of a range that are seen, relative to its beginning, ascending; how many.
  Result<uint32_t> Visible(const RowRange& range, uint32_t* rows);
  // Where a row of the morsel is, for those who come back to it: in the state of the view's tablet.
  RowPosition PositionOf(uint32_t row) const;
  // Whether the morsel's rows may have nulls in columns[i].
  bool MayHaveNulls(size_t i) const;

  // Rows of a range that NextRange gave, of columns[i]. Decodes the page unless it is cached.
  Result<ColumnSlice> Read(size_t i, const RowRange& range);

 private:
  struct Cursor {
    size_t column;    // of the table
    size_t position;  // of the same one in what is read
    std::shared_ptr<const parquet::ChunkPages> pages;
    size_t page = SIZE_MAX;
    std::shared_ptr<const parquet::DecodedPage> decoded;
  };
  Result<bool> PrunePages(std::span<const ColumnPredicate> predicates);

  Result<bool> StartRowset(const Morsel& morsel, std::span<const ColumnPredicate> more);
  const ColumnSource& SourceOf(size_t column) const;
  Result<ColumnSlice> ReadRowset(Cursor& cursor, const RowRange& range);
  Result<ColumnSlice> ReadMemory(size_t column, const RowRange& range) const;
  ColumnSlice ReadDefault(size_t column, const RowRange& range) const;
  ColumnSlice Converted(const ColumnSlice& slice, size_t column, uint32_t rows) const;
  Result<const parquet::DecodedPage*> Decoded(Cursor& cursor, uint32_t row);

  TableScan& scan_;
  std::vector<Cursor> cursors_;
  Cursor commits_{};                             // of rowsets with rows of later commits
  const TableView::RowsetPart* part_ = nullptr;  // null while a memrowset is read
  const TableView::MemPart* mem_part_ = nullptr;
  const Rowset* rowset_ = nullptr;
  bool may_have_invisible_ = false;
  uint32_t row_group_ = 0;
  std::vector<RowRange> kept_;  // ascending, disjoint
  size_t next_kept_ = 0;
  uint32_t position_ = 0;
};

}  // namespace petalite::store
