#include "store/table_view.h"

#include <algorithm>

#include "store/key_resolver.h"
#include "store/tablet.h"

namespace petalite::store {

std::shared_ptr<const TableView> TableView::Open(std::shared_ptr<const Table> table, uint64_t commit) {
  std::shared_ptr<TableView> view(new TableView(std::move(table), commit));
  for (const auto& tablet : view->table_->tablets()) view->AddTablet(tablet->state(), {});
  return view;
}

std::shared_ptr<const TableView> TableView::OpenStaged(std::shared_ptr<const Table> table, uint64_t commit,
                                                       const std::vector<std::shared_ptr<const TabletState>>& states,
                                                       const std::vector<std::shared_ptr<Rowset>>& own_rowsets,
                                                       const std::shared_ptr<MemRowset>& own_mem,
                                                       const OwnDeaths& own_deaths) {
  std::shared_ptr<TableView> view(new TableView(std::move(table), commit));
  for (const auto& state : states) view->AddTablet(state, own_deaths);
  view->AddOwn(own_rowsets, own_mem);
  return view;
}

void TableView::AddTablet(std::shared_ptr<const TabletState> state, const OwnDeaths& own_deaths) {
  const auto tablet = static_cast<uint32_t>(states_.size());
  auto source = static_cast<uint32_t>(state->mem_rowsets().size());
  for (const auto& rowset : state->rowsets()) {
    const uint32_t place = source++;
    if (rowset->info().min_commit > commit_) continue;
    RowsetPart part{
        rowset, rowset->deletes().At(commit_), rowset->info().max_commit > commit_, MappingOf(rowset->schema()), tablet,
        place};
    const auto own = own_deaths.find(rowset.get());
    if (own != own_deaths.end()) part.dead = DeleteVector::With(part.dead.get(), own->second);
    rows_ += rowset->info().rows - (part.dead == nullptr ? 0 : part.dead->count());
    rowsets_.push_back(std::move(part));
  }
  source = 0;
  for (const auto& mem : state->mem_rowsets()) {
    const uint32_t place = source++;
    const uint32_t rows = mem->RowsAt(commit_);
    if (rows == 0) continue;
    const uint64_t deaths = mem->DeathsAt(commit_);
    MemPart part{mem, rows, deaths != 0, nullptr, MappingOf(mem->schema()), tablet, place};
    rows_ += rows - deaths;
    const auto own = own_deaths.find(mem.get());
    if (own != own_deaths.end()) {
      part.own_dead = DeleteVector::Of(own->second);
      rows_ -= own->second.size();
    }
    mem_rowsets_.push_back(std::move(part));
  }
  states_.push_back(std::move(state));
}

// The own memrowset is every tablet's last one in memory, so that what follows it in the state moves up.
void TableView::AddOwn(const std::vector<std::shared_ptr<Rowset>>& rowsets, const std::shared_ptr<MemRowset>& mem) {
  for (RowsetPart& part : rowsets_) ++part.source;
  committed_ = states_;
  for (uint32_t tablet = 0; tablet < states_.size(); ++tablet) {
    std::vector<std::shared_ptr<Rowset>> mine;
    for (const auto& rowset : rowsets) {
      if (rowset->info().tablet == tablet) mine.push_back(rowset);
    }
    own_.push_back(std::make_shared<TabletState>(std::move(mine), std::vector{mem}));
    auto all = states_[tablet]->rowsets();
    auto mems = states_[tablet]->mem_rowsets();
    mems.push_back(mem);
    for (const auto& rowset : rowsets) {
      if (rowset->info().tablet != tablet) continue;
      RowsetPart part{rowset, rowset->deletes().At(kNewestCommit), false, MappingOf(rowset->schema()), tablet, 0};
      rows_ += rowset->info().rows - (part.dead == nullptr ? 0 : part.dead->count());
      part.source = static_cast<uint32_t>(mems.size() + all.size());
      rowsets_.push_back(std::move(part));
      all.push_back(rowset);
    }
    states_[tablet] = std::make_shared<TabletState>(std::move(all), std::move(mems));
  }
  if (mem->rows() == 0) return;
  const auto source = static_cast<uint32_t>(states_[0]->mem_rowsets().size() - 1);
  mem_rowsets_.push_back({mem, mem->rows(), mem->deaths() != 0, nullptr, MappingOf(mem->schema()), 0, source});
  rows_ += mem->rows() - mem->deaths();
}

Status TableView::FindKeys(size_t tablet, std::span<const std::string_view> keys, std::span<const uint64_t> hashes,
                           std::span<RowLocation> locations) const {
  if (own_.empty()) return KeyResolver(context(), *states_[tablet], commit_).Find(keys, hashes, locations);
  const auto dead = [&](const RowLocation& location) { return IsOwnDead(static_cast<uint32_t>(tablet), location); };
  return FindInBoth(context(), *own_[tablet], *committed_[tablet], *states_[tablet], commit_, keys, hashes, dead,
                    locations);
}

// What is dead as of the commit was not found to begin with.
bool TableView::IsOwnDead(uint32_t tablet, const RowLocation& location) const {
  for (const MemPart& part : mem_rowsets_) {
    if (part.tablet != tablet || part.source != location.source) continue;
    return part.own_dead != nullptr && part.own_dead->Contains(location.row);
  }
  for (const RowsetPart& part : rowsets_) {
    if (part.tablet != tablet || part.source != location.source) continue;
    return part.dead != nullptr && part.dead->Contains(location.row);
  }
  return false;
}

std::shared_ptr<const ColumnMapping> TableView::MappingOf(const Schema& source) {
  if (last_source_ == nullptr || *last_source_ != source) {
    last_source_ = &source;
    last_mapping_ = std::make_shared<ColumnMapping>(table_->schema(), source);
  }
  return last_mapping_;
}

StoreContext& TableView::context() const { return table_->tablets()[0]->context(); }

std::optional<uint64_t> TableView::exact_rows() const {
  const bool known = std::none_of(rowsets_.begin(), rowsets_.end(), [](const auto& each) { return each.some_unborn; });
  return known ? std::optional(rows_) : std::nullopt;
}

bool TableView::IsExact() const {
  return mem_rowsets_.empty() && std::all_of(rowsets_.begin(), rowsets_.end(), [](const RowsetPart& part) {
           return part.dead == nullptr && !part.some_unborn;
         });
}

uint64_t TableView::bytes() const {
  uint64_t sum = 0;
  for (const RowsetPart& part : rowsets_) sum += part.rowset->info().bytes;
  return sum;
}

const std::vector<TableView::ColumnSummary>& TableView::Summaries() const {
  std::call_once(summarized_, [this] {
    for (size_t column = 0; column < table_->schema().size(); ++column) summaries_.push_back(Summarize(column));
  });
  return summaries_;
}

TableView::ColumnSummary TableView::Summarize(size_t column) const {
  ZoneMap sum{.has_null_count = true, .may_have_nan = false};
  bloom::HyperLogLog distinct;
  bool bounded = mem_rowsets_.empty();  // every part that has values has bounds
  sum.has_null_count = bounded;
  sum.may_have_nan = !bounded;
  for (const RowsetPart& each : rowsets_) {
    const ColumnSource& source = (*each.mapping)[column];
    if (!source.same()) {  // a default, or values of another type
      bounded = false;
      sum.has_null_count = false;
      sum.may_have_nan = true;
      continue;
    }
    const ColumnStatistics& statistics = each.rowset->info().columns[source.position];
    distinct.Merge(statistics.distinct);
    const ZoneMap& part = statistics.zone;
    sum.rows += part.rows;
    sum.null_count += part.null_count;
    sum.has_null_count = sum.has_null_count && part.has_null_count;
    sum.may_have_nan = sum.may_have_nan || part.may_have_nan;
    if (part.has_null_count && part.null_count == part.rows) continue;
    if (part.min.is_null() || part.max.is_null()) {
      bounded = false;
      continue;
    }
    if (sum.min.is_null() || Value::Compare(part.min, sum.min) < 0) {
      sum.min = part.min;
      sum.min_exact = part.min_exact;
    }
    if (sum.max.is_null() || Value::Compare(part.max, sum.max) > 0) {
      sum.max = part.max;
      sum.max_exact = part.max_exact;
    }
  }
  if (!bounded) sum.min = sum.max = Value();
  if (!bounded || !IsExact()) sum.min_exact = sum.max_exact = false;
  return {std::move(sum), rowsets_.empty() ? 0 : distinct.Estimate()};
}

}  // namespace petalite::store
