// A tablet: a hash partition of a keyed table, or an unkeyed table as a whole. It knows which rowsets and memrowsets
// hold its rows; writers take its latch one after another.
//
// Thread-safe. The latch guards what says so; it is held over reads of key pages, never over a write or a sync. Who
// needs several latches takes them in order of table and index.

#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "store/store_context.h"
#include "store/tablet_state.h"
#include "store/version.h"

namespace petalite::store {

class Tablet {
 public:
  Tablet(StoreContext& context, TableId table, uint32_t index, std::shared_ptr<const TabletState> state);
  ~Tablet();
  Tablet(const Tablet&) = delete;
  Tablet& operator=(const Tablet&) = delete;

  TableId table() const { return table_; }
  uint32_t index() const { return index_; }
  StoreContext& context() const { return context_; }

  std::shared_ptr<const TabletState> state() const;

  std::mutex& latch() { return latch_; }

  // Under the latch ------------------------------------------------------------------------------------------------

  void SetState(std::shared_ptr<const TabletState> state);
  // The memrowset that takes rows of this schema, made if there is none.
  MemRowset& Active(const Schema& schema, const std::vector<size_t>& key);
  // Adds one as the log had it.
  MemRowset& AddMemRowset(MemRowsetId id, const Schema& schema, const std::vector<size_t>& key);
  // From now on rows go to another memrowset; nothing if the active one is empty.
  void Freeze();
  // The newest commit that touched the tablet.
  uint64_t last_commit() const { return last_commit_; }
  void SetLastCommit(uint64_t commit) { last_commit_ = commit; }
  // The definition that writers must have: a change of the schema makes others fail.
  const Table* definition() const { return definition_; }
  void SetDefinition(const Table* table) { definition_ = table; }
  MemRowsetId next_mem_rowset() const { return next_mem_rowset_; }
  void SetNextMemRowset(MemRowsetId id) { next_mem_rowset_ = id; }

  // The table was dropped: the files go with the last user.
  void MarkDropped() { dropped_ = true; }

  // Taken by whoever flushes or compacts, so that each is done by one thread at a time. Before the latch.
  std::mutex& flush_mutex() { return flush_mutex_; }
  std::mutex& compaction_mutex() { return compaction_mutex_; }

 private:
  StoreContext& context_;
  const TableId table_;
  const uint32_t index_;
  std::mutex latch_;
  mutable std::mutex state_mutex_;  // guards the pointer; held for a copy of it
  std::shared_ptr<const TabletState> state_;
  MemRowsetId next_mem_rowset_ = 1;
  uint64_t last_commit_ = 0;
  const Table* definition_ = nullptr;
  std::mutex flush_mutex_;
  std::mutex compaction_mutex_;
  std::atomic<bool> dropped_{false};
};

}  // namespace petalite::store
