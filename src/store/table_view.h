// All rows of a table as of one commit: what scans, lookups and statistics read. Immutable (invariant 3); holding one
// keeps files and memrowsets in place, so it is held for a query, and a Snapshot for longer. Thread-safe.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/column_mapping.h"
#include "store/tablet_state.h"
#include "store/version.h"

namespace petalite::store {

struct StoreContext;

class TableView {
 public:
  struct RowsetPart {
    std::shared_ptr<Rowset> rowset;
    std::shared_ptr<const DeleteVector> dead;  // null if none
    bool some_unborn = false;                  // it has rows of later commits: each row's commit must be looked at
    std::shared_ptr<const ColumnMapping> mapping;
    uint32_t tablet = 0;  // which of the table's
    uint32_t source = 0;  // its place in the tablet's state, as RowLocation counts
  };
  struct MemPart {
    std::shared_ptr<MemRowset> mem_rowset;
    uint32_t rows = 0;  // of commits up to the view's
    bool any_dead = false;
    std::shared_ptr<const DeleteVector> own_dead;  // dead to the transaction that reads; null if none
    std::shared_ptr<const ColumnMapping> mapping;
    uint32_t tablet = 0;
    uint32_t source = 0;
  };
  // Committed rows that are dead to one transaction: ascending positions by rowset or memrowset.
  using OwnDeaths = std::map<const void*, std::vector<uint32_t>>;

  // `commit` is readable while this is made, and visible.
  static std::shared_ptr<const TableView> Open(std::shared_ptr<const Table> table, uint64_t commit);

  // The same with a transaction's own parts and deaths.
  static std::shared_ptr<const TableView> OpenStaged(std::shared_ptr<const Table> table, uint64_t commit,
                                                     const std::vector<std::shared_ptr<const TabletState>>& states,
                                                     const std::vector<std::shared_ptr<Rowset>>& own_rowsets,
                                                     const std::shared_ptr<MemRowset>& own_mem,
                                                     const OwnDeaths& own_deaths);

  const Table& table() const { return *table_; }
  const std::shared_ptr<const Table>& table_pointer() const { return table_; }
  uint64_t commit() const { return commit_; }
  StoreContext& context() const;

  // Parts with rows, tablet by tablet; each in the order of its rows.
  const std::vector<RowsetPart>& rowsets() const { return rowsets_; }
  const std::vector<MemPart>& mem_rowsets() const { return mem_rowsets_; }
  // What a key's tablet consists of.
  const TabletState& state(size_t tablet) const { return *states_[tablet]; }

  // Where each key's row is in state(tablet): what the transaction wrote itself, if it is one's view, comes first, and
  // what is dead to it is not found.
  Status FindKeys(size_t tablet, std::span<const std::string_view> keys, std::span<const uint64_t> hashes,
                  std::span<RowLocation> locations) const;

  // An estimate where exact_rows() has none.
  uint64_t rows() const { return rows_; }
  std::optional<uint64_t> exact_rows() const;
  // Bytes of the rowsets' files.
  uint64_t bytes() const;
  // Bounds of all rows and perhaps of more; none where some part does not know its own. Row and null counts likewise
  // are those of the rowsets, dead rows included. Distinct values are an estimate.
  const ZoneMap& ColumnZone(size_t column) const { return Summaries()[column].zone; }
  double DistinctCount(size_t column) const { return Summaries()[column].distinct; }
  // Whether every row that a rowset has is seen, and no other: only then do counts and bounds say more than "at most".
  bool IsExact() const;

 private:
  struct ColumnSummary {
    ZoneMap zone;
    double distinct = 0;
  };
  TableView(std::shared_ptr<const Table> table, uint64_t commit) : table_(std::move(table)), commit_(commit) {}
  void AddTablet(std::shared_ptr<const TabletState> state, const OwnDeaths& own_deaths);
  // Of the table's columns in a part; parts of the same schema share it.
  std::shared_ptr<const ColumnMapping> MappingOf(const Schema& source);
  void AddOwn(const std::vector<std::shared_ptr<Rowset>>& rowsets, const std::shared_ptr<MemRowset>& mem);
  const std::vector<ColumnSummary>& Summaries() const;
  ColumnSummary Summarize(size_t column) const;

  std::shared_ptr<const Table> table_;
  uint64_t commit_;
  bool IsOwnDead(uint32_t tablet, const RowLocation& location) const;

  std::vector<std::shared_ptr<const TabletState>> states_;
  std::vector<std::shared_ptr<const TabletState>> own_,
      committed_;  // of a transaction's view: what states_ are made of
  std::vector<RowsetPart> rowsets_;
  std::vector<MemPart> mem_rowsets_;
  uint64_t rows_ = 0;
  const Schema* last_source_ = nullptr;  // what last_mapping_ is of
  std::shared_ptr<const ColumnMapping> last_mapping_;
  mutable std::once_flag summarized_;
  mutable std::vector<ColumnSummary> summaries_;
};

}  // namespace petalite::store
