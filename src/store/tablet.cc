#include "store/tablet.h"

#include "store/commit_log.h"

namespace petalite::store {

Tablet::Tablet(StoreContext& context, TableId table, uint32_t index, std::shared_ptr<const TabletState> state)
    : context_(context), table_(table), index_(index), state_(std::move(state)) {}

Tablet::~Tablet() {
  for (const auto& mem : state_->mem_rowsets()) context_.memory.Remove(MemoryUse::kMemRowsets, mem->charged());
  if (!dropped_) return;
  context_.retired.Add(state_->rowsets());
}

std::shared_ptr<const TabletState> Tablet::state() const {
  const std::lock_guard lock(state_mutex_);
  return state_;
}

void Tablet::SetState(std::shared_ptr<const TabletState> state) {
  // The old one goes after the lock is released: with it may go files.
  const std::lock_guard lock(state_mutex_);
  state_.swap(state);
}

MemRowset& Tablet::Active(const Schema& schema, const std::vector<size_t>& key) {
  const auto& mem_rowsets = state_->mem_rowsets();
  if (!mem_rowsets.empty() && mem_rowsets.back()->schema() == schema) return *mem_rowsets.back();
  return AddMemRowset(next_mem_rowset_, schema, key);
}

MemRowset& Tablet::AddMemRowset(MemRowsetId id, const Schema& schema, const std::vector<size_t>& key) {
  next_mem_rowset_ = id + 1;
  auto grown = state_->mem_rowsets();
  // One that is empty is the last: recovery takes rows of memrowsets behind the first that is left for unflushed.
  const size_t expected_rows = grown.empty() ? 0 : grown.back()->rows();  // as many as last time
  if (!grown.empty() && grown.back()->rows() == 0) {
    context_.memory.Remove(MemoryUse::kMemRowsets, grown.back()->charged());
    grown.pop_back();
  }
  grown.push_back(std::make_shared<MemRowset>(id, schema, key, expected_rows));
  SetState(std::make_shared<TabletState>(state_->rowsets(), std::move(grown)));
  return *state_->mem_rowsets().back();
}

void Tablet::Freeze() {
  const auto& mem_rowsets = state_->mem_rowsets();
  if (mem_rowsets.empty() || mem_rowsets.back()->rows() == 0) return;
  const std::shared_ptr<MemRowset> full = mem_rowsets.back();
  AddMemRowset(next_mem_rowset_, full->schema(), full->key());
}

}  // namespace petalite::store
