// What one transaction has done to one table so far, seen by that transaction alone: rows of its own in a memrowset and
// rowsets of its own, and which of the committed rows are dead to it. Resolved against the snapshot that the
// transaction reads; a commit resolves it once more, against the newest state. For one thread.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "petalite/write_batch.h"
#include "store/table_view.h"
#include "store/table_writer.h"

namespace petalite::store {

class StagedTable {
 public:
  StagedTable(std::shared_ptr<const Table> table, uint64_t snapshot);

  const std::shared_ptr<const Table>& table() const { return table_; }

  // All or nothing of the batch. Rows that outgrow the transaction's share of memory go to rowsets of their own.
  Result<WriteCounts> Write(const WriteBatch& batch, std::vector<RowOutcome>* outcomes);
  // Of an unkeyed table: rows by their positions in a view that View gave; with an update they are written anew, behind
  // the others. Rows that are dead already are counted as absent. kBusy if a compaction has moved them.
  Result<WriteCounts> DeleteRows(const TableView& view, std::span<const RowPosition> positions);
  Result<WriteCounts> UpdateRows(const TableView& view, std::span<const RowPosition> positions,
                                 const WriteBatch& batch);
  // Rows written to a file by a bulk load; their keys are in no other part of the table.
  void AddRowset(std::shared_ptr<Rowset> rowset) { rowsets_.push_back(std::move(rowset)); }
  const std::vector<std::shared_ptr<Rowset>>& rowsets() const { return rowsets_; }

  // The snapshot's rows with these changes.
  Result<std::shared_ptr<const TableView>> View();
  size_t memory_bytes() const { return mem_->memory_bytes(); }

  // The changes as batches for a commit, each key in one of them at most.
  class CommitBatches;
  Result<std::vector<std::unique_ptr<CommitBatches>>> TakeBatches();

  // For TableWriter ------------------------------------------------------------------------------------------------
  uint64_t snapshot() const { return snapshot_; }
  MemRowset& mem_rowset() { return *mem_; }
  // A tablet's state with this transaction's parts, its memrowset last of those in memory. As of the last Refresh.
  std::shared_ptr<const TabletState> Combined(const Tablet& tablet) const;
  // Finds keys in that state: own rows first, and no rows that are dead to the transaction.
  Status Find(const Tablet& tablet, const TabletState& combined, std::span<const std::string_view> keys,
              std::span<const uint64_t> hashes, std::span<RowLocation> locations) const;
  bool IsDead(const TabletState& state, const RowLocation& location) const;
  void AddDeaths(const TabletState& state, uint32_t source, std::span<const uint32_t> rows,
                 std::span<const std::string_view> keys);
  // A row that a batch left as it is: a commit that changes it meanwhile is a conflict, as if it had been written.
  void AddRead(const TabletState& state, uint32_t source, std::string_view key);

 private:
  // Takes the tablets' states, until Forget: what was flushed or compacted since the last time has other places for
  // rows that are dead to this transaction, and they are looked for again.
  Status Refresh();
  Status FindDead(size_t tablet);
  Status MoveDeadRows();
  bool IsOwn(const void* part) const;
  bool IsOwnDead(const TableWriter::PartRows& part, uint32_t row) const;
  void Forget();
  Status Spill();
  Status SpillTablet(const Tablet& tablet, std::span<const uint32_t> rows);

  const std::shared_ptr<const Table> table_;
  const uint64_t snapshot_;
  std::shared_ptr<MemRowset> mem_;
  MemoryCharge charge_;                                       // for it
  std::vector<std::shared_ptr<const TabletState>> states_;    // per tablet; empty while nothing is done
  std::vector<std::weak_ptr<const TabletState>> dead_as_of_;  // what dead_ is true of
  std::vector<std::shared_ptr<Rowset>> rowsets_;
  TableView::OwnDeaths dead_;                     // committed rows, by their part
  std::vector<TableWriter::PartRows> dead_rows_;  // the same of an unkeyed table, whose rows no key finds again
  boost::unordered_flat_set<std::string> dead_keys_;
  boost::unordered_flat_set<std::string> read_keys_;  // of committed rows
};

// One batch, what its views point into, and its writer.
class StagedTable::CommitBatches {
 public:
  std::unique_ptr<TableWriter> writer;

 private:
  friend class StagedTable;
  WriteBatch batch_;
  std::vector<uint32_t> rows_;
  std::vector<std::vector<uint64_t>> validity_;
};

}  // namespace petalite::store
