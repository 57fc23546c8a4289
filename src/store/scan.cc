#include "store/scan.h"

#include <algorithm>
#include <array>
#include <numeric>

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

TableScan::TableScan(std::shared_ptr<const TableView> view, std::vector<ColumnPredicate> predicates,
                     bool filter_pruning)
    : view_(std::move(view)), predicates_(std::move(predicates)), filter_pruning_(filter_pruning) {}

Result<std::unique_ptr<TableScan>> TableScan::Start(std::shared_ptr<const TableView> view,
                                                    std::vector<ColumnPredicate> predicates, bool filter_pruning) {
  std::unique_ptr<TableScan> scan(new TableScan(std::move(view), std::move(predicates), filter_pruning));
  const auto rowsets = static_cast<uint32_t>(scan->view_->rowsets().size());
  for (uint32_t i = 0; i < rowsets; ++i) RETURN_IF_ERROR(scan->PruneRowset(i));
  for (uint32_t i = 0; i < scan->view_->mem_rowsets().size(); ++i) {
    const uint32_t rows = scan->view_->mem_rowsets()[i].rows;
    for (uint32_t group = 0; group * kMemMorselRows < rows; ++group) scan->morsels_.push_back({rowsets + i, group});
  }
  return scan;
}

Status TableScan::PruneRowset(uint32_t position) {
  const Rowset& rowset = *view_->rowsets()[position].rowset;
  ++statistics_.rowsets;
  const ColumnMapping& mapping = *view_->rowsets()[position].mapping;
  const bool may_match = std::all_of(predicates_.begin(), predicates_.end(), [&](const ColumnPredicate& each) {
    const ColumnSource& source = mapping[each.column];
    return !source.same() || MayMatch(each.predicate, rowset.info().columns[source.position].zone);
  });
  if (!may_match) {
    ++statistics_.rowsets_by_zone;
    return Status::Ok();
  }
  for (uint32_t group = 0; group < rowset.info().row_groups; ++group) {
    ++statistics_.row_groups;
    if (!predicates_.empty()) {
      ASSIGN_OR_RETURN(const bool kept, RowGroupMayMatch(rowset, mapping, group));
      if (!kept) continue;
    }
    morsels_.push_back({position, group});
  }
  return Status::Ok();
}

Result<bool> TableScan::RowGroupMayMatch(const Rowset& rowset, const ColumnMapping& mapping, size_t row_group) {
  ASSIGN_OR_RETURN(const parquet::FileReader* file, rowset.file());
  // All zones first: they are in memory, a filter may have to be read.
  for (const ColumnPredicate& each : predicates_) {
    const ColumnSource& source = mapping[each.column];
    if (source.same() && !MayMatch(each.predicate, file->RowGroupZone(row_group, source.position))) {
      ++statistics_.row_groups_by_zone;
      return false;
    }
  }
  if (!filter_pruning_) return true;
  for (const ColumnPredicate& each : predicates_) {
    const ColumnSource& source = mapping[each.column];
    if (!source.same() || !MayUseFilter(each.predicate) || !file->columns()[source.position].can_filter) continue;
    ASSIGN_OR_RETURN(const auto filter, rowset.Filter(row_group, source.position));
    if (filter == nullptr) continue;
    FilterCounters& counters = rowset.filter_counters(source.position);
    counters.probes.fetch_add(1, std::memory_order_relaxed);
    if (!parquet::FilterMayMatch(each.predicate, file->columns()[source.position], filter->view())) {
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
  for (const size_t column : columns) cursors_.push_back({.column = column, .position = column});
}

Result<bool> MorselReader::Start(const Morsel& morsel, std::span<const ColumnPredicate> more) {
  const TableView& view = scan_.view();
  row_group_ = morsel.row_group;
  position_ = 0;
  next_kept_ = 0;
  commits_ = {};
  part_ = nullptr;
  mem_part_ = nullptr;
  rowset_ = nullptr;
  if (morsel.part < view.rowsets().size()) {
    part_ = &view.rowsets()[morsel.part];
    rowset_ = part_->rowset.get();
    may_have_invisible_ = part_->dead != nullptr || part_->some_unborn;
    for (Cursor& cursor : cursors_) cursor = {.column = cursor.column, .position = SourceOf(cursor.column).position};
    return StartRowset(morsel, more);
  }
  mem_part_ = &view.mem_rowsets()[morsel.part - view.rowsets().size()];
  for (Cursor& cursor : cursors_) cursor = {.column = cursor.column, .position = SourceOf(cursor.column).position};
  may_have_invisible_ = mem_part_->any_dead || mem_part_->own_dead != nullptr;
  const uint32_t begin = morsel.row_group * TableScan::kMemMorselRows;
  kept_ = {{begin, std::min(begin + TableScan::kMemMorselRows, mem_part_->rows)}};
  return true;
}

Result<bool> MorselReader::StartRowset(const Morsel& morsel, std::span<const ColumnPredicate> more) {
  ASSIGN_OR_RETURN(const parquet::FileReader* file, rowset_->file());
  for (const ColumnPredicate& each : more) {
    const ColumnSource& source = SourceOf(each.column);
    if (source.same() && !MayMatch(each.predicate, file->RowGroupZone(row_group_, source.position))) {
      ++scan_.statistics().row_groups_by_zone;
      return false;
    }
  }
  // Our own files break pages at the same rows in all columns, so that one column knows them all.
  const size_t breaking = rowset_->pages_aligned() ? std::min<size_t>(cursors_.size(), 1) : cursors_.size();
  for (size_t i = 0, broken = 0; i < cursors_.size() && broken < breaking; ++i) {
    if (cursors_[i].position == ColumnSource::kAbsent) continue;
    ASSIGN_OR_RETURN(cursors_[i].pages, rowset_->Pages(row_group_, cursors_[i].position));
    ++broken;
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
    const ColumnSource& source = SourceOf(each.column);
    if (!source.same()) continue;
    ASSIGN_OR_RETURN(const auto pages, rowset_->Pages(row_group_, source.position));
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
    if (mem_part_ != nullptr)
      end = std::min(end, position_ - position_ % MemRowset::kBlockRows + MemRowset::kBlockRows);
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

// The page of a column that holds a row of the row group.
Result<const parquet::DecodedPage*> MorselReader::Decoded(Cursor& cursor, uint32_t row) {
  if (cursor.pages == nullptr) {
    ASSIGN_OR_RETURN(cursor.pages, rowset_->Pages(row_group_, cursor.position));
  }
  const auto holds = [&](size_t page) {
    const auto first = static_cast<uint64_t>(cursor.pages->locations[page].first_row_index);
    return row >= first && row < first + cursor.pages->rows[page];
  };
  if (cursor.decoded == nullptr || !holds(cursor.page)) {
    cursor.page = cursor.pages->PageOf(row);
    ASSIGN_OR_RETURN(cursor.decoded, rowset_->Page(row_group_, cursor.position, cursor.page));
  }
  return cursor.decoded.get();
}

const ColumnSource& MorselReader::SourceOf(size_t column) const {
  return mem_part_ != nullptr ? (*mem_part_->mapping)[column] : (*part_->mapping)[column];
}

Result<ColumnSlice> MorselReader::Read(size_t i, const RowRange& range) {
  Cursor& cursor = cursors_[i];
  const ColumnSource& source = SourceOf(cursor.column);
  if (source.absent()) return ReadDefault(cursor.column, range);
  ASSIGN_OR_RETURN(const ColumnSlice slice,
                   mem_part_ != nullptr ? ReadMemory(source.position, range) : ReadRowset(cursor, range));
  return source.converted ? Converted(slice, cursor.column, range.end - range.begin) : slice;
}

// Every row has what the column began with.
ColumnSlice MorselReader::ReadDefault(size_t column, const RowRange& range) const {
  struct Owner {
    Field field;  // strings point into it
    ByteBuffer values;
    std::vector<uint64_t> validity;
  };
  auto owner = std::make_shared<Owner>(Owner{scan_.table().schema()[column], {}, {}});
  const size_t rows = range.end - range.begin;
  owner->values.resize(rows * owner->field.type.Width());
  FillDefault(owner->field, rows, owner->values.data());
  ColumnSlice slice;
  if (owner->field.initial_default.is_null()) {
    owner->validity.assign((rows + 63) / 64, 0);
    slice.validity = owner->validity.data();
  }
  slice.values = owner->values.data();
  slice.owner = std::move(owner);
  return slice;
}

// Types that are widened are never strings, so that they have no codes.
ColumnSlice MorselReader::Converted(const ColumnSlice& slice, size_t column, uint32_t rows) const {
  const Type& type = scan_.table().schema()[column].type;
  struct Owner {
    std::shared_ptr<const void> slice;
    ByteBuffer values;
  };
  auto owner = std::make_shared<Owner>(Owner{slice.owner, ByteBuffer(rows * type.Width())});
  WidenValues(SourceOf(column).type, type, slice.values, rows, owner->values.data());
  ColumnSlice converted = slice;
  converted.values = owner->values.data();
  converted.owner = std::move(owner);
  return converted;
}

Result<ColumnSlice> MorselReader::ReadRowset(Cursor& cursor, const RowRange& range) {
  ASSIGN_OR_RETURN(const parquet::DecodedPage* decoded, Decoded(cursor, range.begin));
  const auto offset = range.begin - static_cast<uint32_t>(cursor.pages->locations[cursor.page].first_row_index);
  CHECK(offset + (range.end - range.begin) <= decoded->rows());
  ColumnSlice slice;
  slice.owner = cursor.decoded;
  slice.validity = decoded->validity();
  slice.validity_offset = offset;
  if (decoded->is_dictionary()) {
    slice.codes = decoded->codes() + offset;
    slice.dictionary = decoded->dictionary().get();
  } else {
    const size_t width = rowset_->schema()[cursor.position].type.Width();
    slice.values = static_cast<const uint8_t*>(decoded->values()) + offset * width;
  }
  return slice;
}

// Values stand where they are; the bits of validity share words with rows that are being written, and are copied.
Result<ColumnSlice> MorselReader::ReadMemory(size_t column, const RowRange& range) const {
  const std::shared_ptr<MemRowset>& mem = mem_part_->mem_rowset;
  ColumnSlice slice;
  slice.values = mem->Values(column, range.begin);
  slice.owner = mem;
  std::array<uint64_t, MemRowset::kBlockRows / 64> words;
  if (!mem->CopyValidity(column, range.begin, range.end, words.data())) return slice;
  struct Owner {
    std::shared_ptr<MemRowset> mem_rowset;
    std::vector<uint64_t> validity;
  };
  const size_t count = (range.end - range.begin + 63) / 64;
  auto owner = std::make_shared<Owner>(Owner{mem, {words.begin(), words.begin() + static_cast<ptrdiff_t>(count)}});
  slice.validity = owner->validity.data();
  slice.owner = std::move(owner);
  return slice;
}

RowPosition MorselReader::PositionOf(uint32_t row) const {
  if (mem_part_ != nullptr) return {mem_part_->tablet, {mem_part_->source, row}};
  return {part_->tablet, {part_->source, rowset_->GroupStart(row_group_) + row}};
}

bool MorselReader::MayHaveNulls(size_t i) const {
  if (mem_part_ != nullptr || cursors_[i].position == ColumnSource::kAbsent) return true;
  const ZoneMap& zone = rowset_->info().columns[cursors_[i].position].zone;
  return !zone.has_null_count || zone.null_count != 0;
}

Result<uint32_t> MorselReader::Visible(const RowRange& range, uint32_t* rows) {
  const uint64_t commit = scan_.view().commit();
  if (mem_part_ != nullptr) {
    const uint32_t live = mem_part_->mem_rowset->LiveRows(range.begin, range.end, commit, rows);
    if (mem_part_->own_dead == nullptr) return live;
    const auto dead = [&](uint32_t row) { return mem_part_->own_dead->Contains(range.begin + row); };
    return static_cast<uint32_t>(std::remove_if(rows, rows + live, dead) - rows);
  }
  const uint32_t start = rowset_->GroupStart(row_group_);
  uint32_t count = range.end - range.begin;
  if (part_->dead != nullptr) {
    count = part_->dead->LiveRows(start + range.begin, start + range.end, rows);
  } else {
    std::iota(rows, rows + count, 0);
  }
  if (!part_->some_unborn) return count;
  commits_.position = rowset_->schema().size();
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t row = range.begin + rows[i];
    uint64_t born = rowset_->info().min_commit;
    if (rowset_->info().has_commit_column) {
      ASSIGN_OR_RETURN(const parquet::DecodedPage* page, Decoded(commits_, row));
      const auto first = static_cast<uint32_t>(commits_.pages->locations[commits_.page].first_row_index);
      born = static_cast<const uint64_t*>(page->values())[row - first];
    }
    rows[kept] = rows[i];
    kept += born <= commit ? 1 : 0;
  }
  return kept;
}

}  // namespace petalite::store
