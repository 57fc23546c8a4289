#include "store/tablet_state.h"

#include <algorithm>
#include <numeric>

namespace petalite::store {

TabletState::TabletState(std::vector<std::shared_ptr<Rowset>> rowsets,
                         std::vector<std::shared_ptr<MemRowset>> mem_rowsets)
    : rowsets_(std::move(rowsets)), mem_rowsets_(std::move(mem_rowsets)) {
  std::stable_sort(rowsets_.begin(), rowsets_.end(),
                   [](const auto& a, const auto& b) { return a->info().order < b->info().order; });
}

// Interval partitioning: by rising lower bounds, each rowset joins a run that ends before it begins.
const std::vector<TabletState::Run>& TabletState::runs() const {
  std::call_once(runs_made_, [this] {
    std::vector<uint32_t> order(rowsets_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      return rowsets_[a]->info().min_key < rowsets_[b]->info().min_key;
    });
    for (const uint32_t rowset : order) {
      const RowsetInfo& info = rowsets_[rowset]->info();
      auto run = std::find_if(runs_.begin(), runs_.end(), [&](const Run& each) {
        return each.max_keys[each.max_keys.size() - 1] < std::string_view(info.min_key);
      });
      if (run == runs_.end()) run = runs_.insert(runs_.end(), Run());
      run->rowsets.push_back(rowset);
      run->min_keys.Add(info.min_key);
      run->max_keys.Add(info.max_key);
    }
  });
  return runs_;
}

}  // namespace petalite::store
