#include "store/compaction.h"

#include <algorithm>

#include "store/commit_log.h"
#include "store/records.h"
#include "store/rowset_merge.h"
#include "store/snapshots.h"

namespace petalite::store {
namespace {

class Compaction {
 public:
  Compaction(Tablet& tablet, const Table& table, const std::vector<std::shared_ptr<Rowset>>& inputs)
      : tablet_(tablet),
        context_(tablet.context()),
        hold_(*context_.snapshots),
        inputs_(inputs),
        merge_(context_, table, tablet.index(), inputs, hold_.commit()) {
    for (const auto& input : inputs_) seen_.push_back(input->deletes().CountAt(hold_.commit()));
  }

  Status Run() {
    const MergeCharge charge(context_.memory, merge_.memory_bytes());
    RETURN_IF_ERROR(merge_.Run());
    deaths_.resize(merge_.outputs().size());
    CarryDeaths();
    const std::lock_guard latch(tablet_.latch());
    return Publish();
  }

 private:
  // Deaths of the inputs since the last call; most of them before the latch is taken.
  void CarryDeaths() {
    std::vector<std::pair<uint64_t, RowsetMerge::Place>> carried;
    for (uint32_t i = 0; i < inputs_.size(); ++i) {
      const auto deaths = inputs_[i]->deletes().Since(seen_[i]);
      seen_[i] += deaths.size();
      for (const Death& death : deaths) {
        const auto place = merge_.PlaceOf(i, death.position);
        if (place.has_value()) carried.emplace_back(death.commit, *place);
      }
    }
    std::stable_sort(carried.begin(), carried.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [commit, place] : carried) deaths_[place.output].push_back({place.position, commit});
  }

  // Under the latch: the outputs take the inputs' place, in memory and in the log.
  Status Publish() {
    const auto state = tablet_.state();
    auto rowsets = state->rowsets();
    StorageRecord record{.table = tablet_.table(), .tablet = tablet_.index()};
    for (const auto& input : inputs_) {
      if (std::erase(rowsets, input) == 0) return Busy("a rowset is gone that was being compacted");
      record.removed.push_back(input->info().id);
    }
    CarryDeaths();
    for (size_t i = 0; i < merge_.outputs().size(); ++i) {
      const auto& output = merge_.outputs()[i];
      // Carried in several turns: the later ones may be of earlier commits than the last of those before.
      std::stable_sort(deaths_[i].begin(), deaths_[i].end(),
                       [](const Death& a, const Death& b) { return a.commit < b.commit; });
      output->deletes().Append(deaths_[i]);
      rowsets.push_back(output);
      record.added.push_back({output->info(), deaths_[i]});
    }
    const auto next = std::make_shared<TabletState>(std::move(rowsets), state->mem_rowsets());
    const ByteBuffer body = SerializeStorageRecord(record);
    const Bytes parts[] = {body};
    RETURN_IF_ERROR(context_.log->AppendStorage(parts, [&](Lsn) { tablet_.SetState(next); }));
    merge_.Release();
    context_.retired.Add(inputs_);
    context_.metrics.compactions.fetch_add(1, std::memory_order_relaxed);
    return Status::Ok();
  }

  Tablet& tablet_;
  StoreContext& context_;
  const HorizonHold hold_;
  const std::vector<std::shared_ptr<Rowset>>& inputs_;
  RowsetMerge merge_;
  std::vector<uint64_t> seen_;              // deaths of each input that were carried over, or are settled
  std::vector<std::vector<Death>> deaths_;  // of each output
};

}  // namespace

std::vector<CompactionCandidate> CandidatesOf(const TabletState& state, const Schema& schema, bool mixed,
                                              uint64_t horizon) {
  std::vector<CompactionCandidate> candidates;
  for (const auto& rowset : state.rowsets()) {
    const RowsetInfo& info = rowset->info();
    candidates.push_back({.id = info.order,
                          .min_key = info.min_key,
                          .max_key = info.max_key,
                          .bytes = info.bytes,
                          .rows = info.rows,
                          .dead_rows = rowset->deletes().CountAt(horizon),
                          .busy = !mixed && rowset->schema() != schema});
  }
  return candidates;
}

Status CompactRowsets(Tablet& tablet, const Table& table, const std::vector<std::shared_ptr<Rowset>>& inputs) {
  const std::lock_guard lock(tablet.compaction_mutex());
  {
    const auto state = tablet.state();
    for (const auto& input : inputs) {
      const auto& rowsets = state->rowsets();
      if (std::find(rowsets.begin(), rowsets.end(), input) == rowsets.end()) {
        return Busy("a rowset is gone that was to be compacted");
      }
    }
  }
  return Compaction(tablet, table, inputs).Run();
}

}  // namespace petalite::store
