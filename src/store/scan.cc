#include "store/scan.h"

#include <algorithm>

namespace petalite::store {
namespace {

// Whether a predicate can gain anything from a column filter: only equalities can be denied by one.
bool MayUseFilter(const Predicate& predicate) {
  switch (predicate.kind) {
    case PredicateKind::kEqual:
    case PredicateKind::kIn:
      return true;
    case PredicateKind::kAnd:
      return std::any_of(predicate.children.begin(), predicate.children.end(), MayUseFilter);
    case PredicateKind::kOr:
      return std::all_of(predicate.children.begin(), predicate.children.end(), MayUseFilter);
    default:
      return false;
  }
}

// Keeps of `ranges` what lies within pages that may match; both ascending and disjoint.
std::vector<RowRange> Intersect(const std::vector<RowRange>& ranges, const std::vector<RowRange>& pages) {
  std::vector<RowRange> kept;
  size_t page = 0;
  for (const RowRange& range : ranges) {
    while (page < pages.size() && pages[page].end <= range.begin) ++page;
    for (size_t i = page; i < pages.size() && pages[i].begin < range.end; ++i) {
      kept.push_back({std::max(range.begin, pages[i].begin), std::min(range.end, pages[i].end)});
    }
  }
  return kept;
}

// The runs of pages that may match, as rows.
std::vector<RowRange> MatchingRows(const parquet::ChunkPages& pages, const Predicate& predicate) {
  std::vector<RowRange> runs;
  for (size_t i = 0; i < pages.zones.size(); ++i) {
    if (!MayMatch(predicate, pages.zones[i])) continue;
    const auto begin = static_cast<uint32_t>(pages.locations[i].first_row_index);
    const uint32_t end = begin + pages.rows[i];
    if (!runs.empty() && runs.back().end == begin) {
      runs.back().end = end;
    } else {
      runs.push_back({begin, end});
    }
  }
  return runs;
}

uint64_t CountRows(const std::vector<RowRange>& ranges) {
  uint64_t rows = 0;
  for (const RowRange& range : ranges) rows += range.end - range.begin;
  return rows;
}

}  // namespace

TableScan::TableScan(std::shared_ptr<const Table> table, std::vector<ColumnPredicate> predicates, bool filter_pruning)
    : table_(std::move(table)), predicates_(std::move(predicates)), filter_pruning_(filter_pruning) {}

Result<std::unique_ptr<TableScan>> TableScan::Start(std::shared_ptr<const Table> table,
                                                    std::vector<ColumnPredicate> predicates, bool filter_pruning) {
  std::unique_ptr<TableScan> scan(new TableScan(std::move(table), std::move(predicates), filter_pruning));
  for (uint32_t i = 0; i < scan->table_->rowsets().size(); ++i) RETURN_IF_ERROR(scan->PruneRowset(i));
  return scan;
}

Status TableScan::PruneRowset(uint32_t position) {
  const Rowset& rowset = *table_->rowsets()[position];
  ++statistics_.rowsets;
  const bool may_match = std::all_of(predicates_.begin(), predicates_.end(), [&](const ColumnPredicate& each) {
    return MayMatch(each.predicate, rowset.info().columns[each.column].zone);
  });
  if (!may_match) {
    ++statistics_.rowsets_by_zone;
    return Status::Ok();
  }
  for (uint32_t group = 0; group < rowset.info().row_groups; ++group) {
    ++statistics_.row_groups;
    if (!predicates_.empty()) {
      ASSIGN_OR_RETURN(const bool kept, RowGroupMayMatch(rowset, group));
      if (!kept) continue;
    }
    morsels_.push_back({position, group});
  }
  return Status::Ok();
}

Result<bool> TableScan::RowGroupMayMatch(const Rowset& rowset, size_t row_group) {
  ASSIGN_OR_RETURN(const parquet::FileReader* file, rowset.file());
  // All zones first: they are in memory, a filter may have to be read.
  for (const ColumnPredicate& each : predicates_) {
    if (!MayMatch(each.predicate, file->RowGroupZone(row_group, each.column))) {
      ++statistics_.row_groups_by_zone;
      return false;
    }
  }
  if (!filter_pruning_) return true;
  for (const ColumnPredicate& each : predicates_) {
    if (!MayUseFilter(each.predicate) || !file->columns()[each.column].can_filter) continue;
    ASSIGN_OR_RETURN(const auto filter, rowset.Filter(row_group, each.column));
    if (filter == nullptr) continue;
    FilterCounters& counters = rowset.filter_counters(each.column);
    counters.probes.fetch_add(1, std::memory_order_relaxed);
    if (!parquet::FilterMayMatch(each.predicate, file->columns()[each.column], filter->view())) {
      counters.skips.fetch_add(1, std::memory_order_relaxed);
      ++statistics_.row_groups_by_filter;
      return false;
    }
  }
  return true;
}

bool TableScan::Next(Morsel* morsel, size_t* index) {
  *index = next_.fetch_add(1, std::memory_order_relaxed);
  if (*index >= morsels_.size()) return false;
  *morsel = morsels_[*index];
  return true;
}

MorselReader::MorselReader(TableScan& scan, std::vector<size_t> columns) : scan_(scan) {
  for (const size_t column : columns) cursors_.push_back({.column = column});
}

Result<bool> MorselReader::Start(const Morsel& morsel, std::span<const ColumnPredicate> more) {
  rowset_ = scan_.table().rowsets()[morsel.rowset].get();
  row_group_ = morsel.row_group;
  position_ = 0;
  next_kept_ = 0;
  for (Cursor& cursor : cursors_) {
    cursor.pages = nullptr;
    cursor.page = SIZE_MAX;
    cursor.decoded = nullptr;
  }
  ASSIGN_OR_RETURN(const parquet::FileReader* file, rowset_->file());
  for (const ColumnPredicate& each : more) {
    if (!MayMatch(each.predicate, file->RowGroupZone(row_group_, each.column))) {
      ++scan_.statistics().row_groups_by_zone;
      return false;
    }
  }
  // Our own files break pages at the same rows in all columns, so that one column knows them all.
  const size_t breaking = rowset_->pages_aligned() ? std::min<size_t>(cursors_.size(), 1) : cursors_.size();
  for (size_t i = 0; i < breaking; ++i) {
    ASSIGN_OR_RETURN(cursors_[i].pages, rowset_->Pages(row_group_, cursors_[i].column));
  }
  kept_ = {{0, static_cast<uint32_t>(file->rows(row_group_))}};
  const uint64_t page_rows = scan_.table().options().page_rows();
  const uint64_t rows_before = CountRows(kept_);
  scan_.statistics().pages += (rows_before + page_rows - 1) / page_rows;
  ASSIGN_OR_RETURN(bool any, PrunePages(scan_.predicates()));
  if (any) {
    ASSIGN_OR_RETURN(any, PrunePages(more));
  }
  scan_.statistics().pages_by_zone += (rows_before - CountRows(kept_)) / page_rows;
  return any;
}

Result<bool> MorselReader::PrunePages(std::span<const ColumnPredicate> predicates) {
  for (const ColumnPredicate& each : predicates) {
    ASSIGN_OR_RETURN(const auto pages, rowset_->Pages(row_group_, each.column));
    if (pages->zones.empty()) continue;
    kept_ = Intersect(kept_, MatchingRows(*pages, each.predicate));
    if (kept_.empty()) return false;
  }
  return true;
}

bool MorselReader::NextRange(uint32_t limit, RowRange* range) {
  while (next_kept_ < kept_.size()) {
    const RowRange& kept = kept_[next_kept_];
    position_ = std::max(position_, kept.begin);
    if (position_ >= kept.end) {
      ++next_kept_;
      continue;
    }
    uint32_t end = std::min(kept.end, position_ - position_ % limit + limit);
    for (const Cursor& cursor : cursors_) {
      if (cursor.pages == nullptr) continue;
      const size_t page = cursor.pages->PageOf(position_);
      const auto first = static_cast<uint32_t>(cursor.pages->locations[page].first_row_index);
      end = std::min(end, first + cursor.pages->rows[page]);
    }
    *range = {position_, end};
    position_ = end;
    return true;
  }
  return false;
}

Result<ColumnSlice> MorselReader::Read(size_t i, const RowRange& range) {
  Cursor& cursor = cursors_[i];
  if (cursor.pages == nullptr) {
    ASSIGN_OR_RETURN(cursor.pages, rowset_->Pages(row_group_, cursor.column));
  }
  const auto holds = [&](size_t page) {
    const auto first = static_cast<uint64_t>(cursor.pages->locations[page].first_row_index);
    return range.begin >= first && range.begin < first + cursor.pages->rows[page];
  };
  if (cursor.decoded == nullptr || !holds(cursor.page)) {
    cursor.page = cursor.pages->PageOf(range.begin);
    ASSIGN_OR_RETURN(cursor.decoded, rowset_->Page(row_group_, cursor.column, cursor.page));
  }
  const auto offset = range.begin - static_cast<uint32_t>(cursor.pages->locations[cursor.page].first_row_index);
  CHECK(offset + (range.end - range.begin) <= cursor.decoded->rows());
  ColumnSlice slice;
  slice.owner = cursor.decoded;
  slice.validity = cursor.decoded->validity();
  slice.validity_offset = offset;
  if (cursor.decoded->is_dictionary()) {
    slice.codes = cursor.decoded->codes() + offset;
    slice.dictionary = cursor.decoded->dictionary().get();
  } else {
    const size_t width = scan_.table().schema()[cursor.column].type.Width();
    slice.values = static_cast<const uint8_t*>(cursor.decoded->values()) + offset * width;
  }
  return slice;
}

}  // namespace petalite::store
