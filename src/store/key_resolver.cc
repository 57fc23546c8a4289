#include "store/key_resolver.h"

#include <algorithm>
#include <memory>

#include "store/key_prefix.h"

namespace petalite::store {
namespace {

struct Wanted {
  uint32_t entry;  // of the key index
  uint32_t number;
};

}  // namespace

Status KeyResolver::Find(std::span<const std::string_view> keys, std::span<const uint64_t> hashes,
                         std::span<RowLocation> locations) const {
  std::fill(locations.begin(), locations.end(), RowLocation());
  context_.metrics.keys_resolved.fetch_add(keys.size(), std::memory_order_relaxed);
  Numbers open(keys.size());  // keys not decided yet
  for (uint32_t i = 0; i < keys.size(); ++i) open[i] = i;
  const auto& mem_rowsets = state_.mem_rowsets();
  std::vector<uint32_t> rows(keys.size());
  for (size_t source = mem_rowsets.size(); source-- > 0 && !open.empty();) {
    const MemRowset& mem = *mem_rowsets[source];
    if (mem.rows() == 0) continue;
    if (commit_ == kNewestCommit && open.size() == keys.size()) {
      mem.FindNewest(keys, hashes, rows.data());
    } else {
      for (const uint32_t i : open) {
        rows[i] = commit_ == kNewestCommit ? mem.FindNewest(keys[i], hashes[i]) : mem.Find(keys[i], hashes[i], commit_);
      }
    }
    // A dead row here says nothing of the rowsets: what replaced it may be in one that a transaction brought.
    std::erase_if(open, [&](uint32_t i) {
      if (rows[i] == kNoRow || mem.DiedAt(rows[i]) <= commit_) return false;
      locations[i] = {static_cast<uint32_t>(source), rows[i]};
      return true;
    });
  }
  const auto first = static_cast<uint32_t>(mem_rowsets.size());
  std::vector<uint64_t> prefixes(keys.size());
  for (const uint32_t i : open) prefixes[i] = KeyPrefix(keys[i]);
  for (const TabletState::Run& run : state_.runs()) {
    std::vector<Numbers> wanted(run.rowsets.size());
    if (wanted.size() == 1) wanted[0].reserve(open.size());
    for (const uint32_t i : open) {
      const size_t in_run = run.Find(keys[i], prefixes[i]);
      if (in_run != SIZE_MAX) wanted[in_run].push_back(i);
    }
    bool any_found = false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].empty()) continue;
      ASSIGN_OR_RETURN(const bool found, SearchRowset(first + run.rowsets[i], keys, hashes, wanted[i], locations));
      any_found = any_found || found;
    }
    if (any_found) std::erase_if(open, [&](uint32_t i) { return locations[i].found(); });
  }
  return Status::Ok();
}

Result<bool> KeyResolver::SearchRowset(uint32_t source, std::span<const std::string_view> keys,
                                       std::span<const uint64_t> hashes, const Numbers& wanted,
                                       std::span<RowLocation> locations) const {
  const Rowset& rowset = *state_.rowsets()[source - state_.mem_rowsets().size()];
  if (rowset.info().min_commit > commit_) return false;
  ASSIGN_OR_RETURN(const Numbers maybe, PassFilter(rowset, hashes, wanted));
  if (maybe.empty()) return false;
  const bool check_births = rowset.info().max_commit > commit_;
  Status failed;
  size_t present = 0;
  uint32_t last = UINT32_MAX;
  RETURN_IF_ERROR(SearchPages(rowset, keys, maybe, [&](uint32_t number, uint32_t position) {
    present += number != last ? 1 : 0;
    last = number;
    if (rowset.deletes().IsDead(position, commit_)) return true;
    if (check_births) {
      const auto born = rowset.CommitOf(position);
      if (!born.ok()) failed = born.status();
      if (!born.ok() || *born > commit_) return born.ok();
    }
    locations[number] = {source, position};
    return true;
  }));
  RETURN_IF_ERROR(failed);
  const uint64_t false_positives = maybe.size() - present;
  rowset.key_filter_counters().false_positives.fetch_add(false_positives, std::memory_order_relaxed);
  context_.metrics.false_positives.fetch_add(false_positives, std::memory_order_relaxed);
  return present != 0;
}

Result<KeyResolver::Numbers> KeyResolver::PassFilter(const Rowset& rowset, std::span<const uint64_t> hashes,
                                                     const Numbers& wanted) const {
  ASSIGN_OR_RETURN(const auto filter, rowset.LoadKeyFilter());
  std::vector<uint64_t> probed;
  probed.reserve(wanted.size());
  for (const uint32_t i : wanted) probed.push_back(hashes[i]);
  std::vector<uint8_t> results(wanted.size());
  filter->MayContain(probed, results.data());
  Numbers maybe;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (results[i] != 0) maybe.push_back(wanted[i]);
  }
  FilterCounters& counters = rowset.key_filter_counters();
  counters.probes.fetch_add(wanted.size(), std::memory_order_relaxed);
  counters.skips.fetch_add(wanted.size() - maybe.size(), std::memory_order_relaxed);
  context_.metrics.filter_probes.fetch_add(wanted.size(), std::memory_order_relaxed);
  return maybe;
}

// The pages that the keys lie on, each once, all of them on their way together.
Status KeyResolver::SearchPages(const Rowset& rowset, std::span<const std::string_view> keys, const Numbers& maybe,
                                const Found& found) const {
  ASSIGN_OR_RETURN(const auto index, rowset.LoadKeyIndex());
  const bool versions = rowset.info().has_versions;
  std::vector<Wanted> wanted;
  for (const uint32_t i : maybe) {
    const size_t last = index->FindEntry(keys[i]);
    // Versions of one key may begin on an earlier page, and end on the last page that begins with it.
    size_t first = last;
    while (versions && first > 0 && index->KeyAt(first) == keys[i]) --first;
    for (size_t entry = first; entry <= last; ++entry) wanted.push_back({static_cast<uint32_t>(entry), i});
  }
  std::sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
    return a.entry != b.entry ? a.entry < b.entry : a.number < b.number;
  });
  std::vector<uint32_t> entries;
  for (const Wanted& each : wanted) {
    if (entries.empty() || entries.back() != each.entry) entries.push_back(each.entry);
  }
  context_.metrics.key_pages_read.fetch_add(entries.size(), std::memory_order_relaxed);
  std::vector<std::shared_ptr<const EncodedKeys>> pages(entries.size());
  std::vector<uint32_t> starts(entries.size());
  const auto load = [&](size_t i) -> Status {
    const KeyIndex::Position at = index->position(entries[i]);
    ASSIGN_OR_RETURN(starts[i], rowset.PageStart(at.row_group, at.page));
    ASSIGN_OR_RETURN(pages[i], rowset.KeyPage(at.row_group, at.page, context_.cold_key_pages));
    return Status::Ok();
  };
  TaskGroup group(entries.size() > 1 ? &context_.pool : nullptr);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (rowset.IsKeyPageCached(index->position(entries[i]))) {
      RETURN_IF_ERROR(load(i));
    } else {
      group.Add([&load, i] { return load(i); });
    }
  }
  RETURN_IF_ERROR(group.Wait());
  size_t page = 0;
  for (const Wanted& each : wanted) {
    while (entries[page] != each.entry) ++page;
    const EncodedKeys& page_keys = *pages[page];
    for (size_t row = page_keys.LowerBound(keys[each.number]); row < page_keys.size(); ++row) {
      if (page_keys[row] != keys[each.number]) break;
      if (!found(each.number, starts[page] + static_cast<uint32_t>(row))) return Status::Ok();
    }
  }
  return Status::Ok();
}

Result<std::optional<size_t>> KeyResolver::FirstTouchedSince(uint64_t snapshot, std::span<const std::string_view> keys,
                                                             std::span<const uint64_t> hashes) const {
  std::optional<size_t> first;
  const auto touched = [&](size_t number) { first = std::min(first.value_or(number), number); };
  for (const auto& mem : state_.mem_rowsets()) {
    if (mem->rows() == 0) continue;
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint32_t row = mem->FindNewest(keys[i], hashes[i]);
      if (row == kNoRow) continue;
      const uint64_t died = mem->DiedAt(row);
      if (mem->BornAt(row) > snapshot || (died != kNeverDied && died > snapshot)) touched(i);
    }
  }
  for (const auto& rowset : state_.rowsets()) {
    const bool births = rowset->info().max_commit > snapshot;
    const bool deaths = rowset->deletes().count() > rowset->deletes().CountAt(snapshot);
    if (!births && !deaths) continue;
    Status failed;
    RETURN_IF_ERROR(VisitRows(*rowset, keys, hashes, [&](uint32_t number, uint32_t position) {
      const uint64_t died = rowset->deletes().DeathOf(position);
      if (died != kNeverDied && died > snapshot) touched(number);
      if (!births) return true;
      const auto born = rowset->CommitOf(position);
      if (!born.ok()) failed = born.status();
      if (born.ok() && *born > snapshot) touched(number);
      return born.ok();
    }));
    RETURN_IF_ERROR(failed);
  }
  return first;
}

Status KeyResolver::VisitRows(const Rowset& rowset, std::span<const std::string_view> keys,
                              std::span<const uint64_t> hashes, const Found& found) const {
  Numbers wanted;
  for (uint32_t i = 0; i < keys.size(); ++i) {
    if (keys[i] >= rowset.info().min_key && keys[i] <= rowset.info().max_key) wanted.push_back(i);
  }
  if (wanted.empty()) return Status::Ok();
  ASSIGN_OR_RETURN(const Numbers maybe, PassFilter(rowset, hashes, wanted));
  return maybe.empty() ? Status::Ok() : SearchPages(rowset, keys, maybe, found);
}

namespace {

// Where the parts of one state are in another that has them all.
std::vector<uint32_t> PlacesIn(const TabletState& part, const TabletState& whole) {
  std::vector<uint32_t> places;
  const auto place = [&](const auto& all, const auto& each) {
    return static_cast<uint32_t>(std::find(all.begin(), all.end(), each) - all.begin());
  };
  for (const auto& mem : part.mem_rowsets()) places.push_back(place(whole.mem_rowsets(), mem));
  const auto mems = static_cast<uint32_t>(whole.mem_rowsets().size());
  for (const auto& rowset : part.rowsets()) places.push_back(mems + place(whole.rowsets(), rowset));
  return places;
}

}  // namespace

Status FindInBoth(StoreContext& context, const TabletState& own, const TabletState& committed, const TabletState& both,
                  uint64_t commit, std::span<const std::string_view> keys, std::span<const uint64_t> hashes,
                  const std::function<bool(const RowLocation&)>& is_dead, std::span<RowLocation> locations) {
  RETURN_IF_ERROR(KeyResolver(context, own, kNewestCommit).Find(keys, hashes, locations));
  std::vector<RowLocation> others(keys.size());
  RETURN_IF_ERROR(KeyResolver(context, committed, commit).Find(keys, hashes, others));
  const auto own_places = PlacesIn(own, both);
  const auto places = PlacesIn(committed, both);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (locations[i].found()) {
      locations[i].source = own_places[locations[i].source];
    } else if (others[i].found()) {
      const RowLocation location{places[others[i].source], others[i].row};
      if (!is_dead(location)) locations[i] = location;
    }
  }
  return Status::Ok();
}

}  // namespace petalite::store
