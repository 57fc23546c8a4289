// One batch of one table on its way into a commit: checked and encoded without a latch, then, under the latches of the
// table's tablets, resolved against their newest state, logged and applied (DESIGN.md, "Write path" (1) to (6)).
//
// Legal order of calls: Make, [latches:] Resolve, Log, Apply. Until Apply nothing has changed but empty memrowsets
// made. For one thread.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "column/column_vector.h"
#include "column/key_encoding.h"
#include "petalite/write_batch.h"
#include "store/key_resolver.h"
#include "store/records.h"
#include "store/row_compare.h"
#include "store/tablet.h"

namespace petalite::store {

class StagedTable;

class TableWriter {
 public:
  // Errors: a column count that is wrong, a null or oversized key, values that the table does not take, an operation by
  // key on a table without one, a duplicate key within the batch. The batch's columns must outlive the writer.
  // `writes_all`: rows that change nothing too, whatever the table's option skip_unchanged is.
  static Result<std::unique_ptr<TableWriter>> Make(std::shared_ptr<const Table> table, const WriteBatch& batch,
                                                   bool writes_all = false);

  // Deletes of keys that come encoded; `batch` says kDelete and how many.
  static std::unique_ptr<TableWriter> MakeDeletes(std::shared_ptr<const Table> table, const WriteBatch& batch,
                                                  std::vector<std::string> keys);

  // Writes nothing, and is in conflict with whoever changed one of the keys; otherwise as above.
  static std::unique_ptr<TableWriter> MakeChecks(std::shared_ptr<const Table> table, const WriteBatch& batch,
                                                 std::vector<std::string> keys);

  // Deletes of rows of an unkeyed table, each by its place in a part of the only tablet. Errors of Resolve: kBusy if a
  // row is gone, or its part was compacted.
  struct PartRows {
    std::shared_ptr<MemRowset> mem_rowset;  // one of the two
    std::shared_ptr<Rowset> rowset;
    std::vector<uint32_t> rows;
    // Its place in a state: where it is itself, or the rowset that a flush made of it.
    std::optional<uint32_t> SourceIn(const TabletState& state) const;
  };
  static std::unique_ptr<TableWriter> MakeRowDeletes(std::shared_ptr<const Table> table, const WriteBatch& batch,
                                                     std::vector<PartRows> rows);

  const Table& table() const { return *table_; }
  // The tablets that it touches, by rising index.
  std::vector<Tablet*> tablets() const;

  // Finds the old rows and decides what to do. Errors: kAlreadyExists naming the key for an insert; kBusy if the
  // table's definition changed, or, with a `snapshot`, if a later commit touched one of the keys.
  Status Resolve(std::optional<uint64_t> snapshot);
  // Appends the changes to a record's body; `logged` counts the rows that writers of the same commit put into each
  // memrowset, which are applied in the order in which they are logged.
  using LoggedRows = std::map<const MemRowset*, uint32_t>;
  void Log(LoggedRows* logged, ByteBuffer* record) const;
  void Apply(uint64_t commit, uint64_t lsn);

  // Instead of Resolve, Log and Apply: into a transaction of its own, as of its snapshot.
  Status ResolveStaged(StagedTable& staged);
  void ApplyStaged(StagedTable& staged, uint64_t commit);

  const WriteCounts& counts() const { return counts_; }
  // Per row of the batch; after Resolve.
  const std::vector<RowOutcome>& outcomes() const { return outcomes_; }
  // Bytes of the values that are written.
  uint64_t user_bytes() const { return user_bytes_; }

 private:
  // A tablet's share.
  struct Part {
    Tablet* tablet = nullptr;
    std::vector<uint32_t> rows;  // of the batch, each with another key
    std::vector<std::string_view> keys;
    std::vector<uint64_t> hashes;
    // After Resolve:
    std::shared_ptr<const TabletState> state;
    std::vector<RowLocation> locations;
    std::vector<uint32_t> written;  // positions in the vectors above of rows to append
    std::vector<std::string_view> written_keys;
    std::vector<uint64_t> written_hashes;
    std::vector<uint32_t> selection;     // of `columns`
    std::vector<uint32_t> unchanged;     // positions of rows that are there as they are given
    std::vector<ColumnVector> composed;  // of updates: the columns that were not given
    std::vector<uint32_t> composed_places;
    std::vector<ColumnView> columns;  // of the rows to append
    std::vector<SourceDeaths> deaths;
    std::vector<uint32_t> death_sources;  // of each of `deaths`, in the state
    std::vector<std::vector<std::string_view>> death_keys;
    MemRowset* mem_rowset = nullptr;
  };
  // A row that names a key that another row of the batch named before.
  struct Repeated {
    uint32_t row;
    uint32_t first;          // the first row with this key
    bool unchanged = false;  // it gives the same values as the row before with this key
  };

  TableWriter(std::shared_ptr<const Table> table, const WriteBatch& batch) : table_(std::move(table)), batch_(batch) {}
  Status Init();
  Status ArrangeColumns();
  Status EncodeAndDivide();
  Status FindRepeated(const EncodedKeys& keys, std::vector<uint32_t>* rows);
  void FindLastOfRepeated(std::vector<uint32_t>* rows);
  void Divide(const std::vector<uint32_t>& rows, const std::vector<std::string_view>& keys);
  Status ResolvePart(Part& part, std::optional<uint64_t> snapshot);
  Status Finish();
  Status Decide(Part& part);
  Status DecideRowDeletes(Part& part);
  Result<std::vector<bool>> FindUnchangedRows(const Part& part) const;
  void NoteDeath(Part& part, uint32_t number, std::vector<size_t>* group_of_source);
  Status Compose(Part& part);
  void SelectColumns(Part& part);
  void CountUserBytes(const Part& part);
  void SettleRepeated();
  Status Duplicate(std::string_view key) const;

  const std::shared_ptr<const Table> table_;
  const WriteBatch& batch_;
  std::vector<ColumnView> columns_;  // one per column of the schema; of updates those that are given
  std::vector<bool> given_;
  std::vector<ByteBuffer> nulls_;  // what columns that are not given point into
  std::vector<uint64_t> no_validity_;
  EncodedKeys keys_;
  std::vector<std::string> given_keys_;  // of MakeDeletes
  std::vector<PartRows> given_rows_;     // of MakeRowDeletes
  std::vector<uint64_t> hashes_;
  std::vector<Repeated> repeated_;
  bool skips_unchanged_ = false;
  bool only_checks_ = false;
  std::vector<ComparedColumn> compared_;  // where unchanged rows are skipped
  // Of upserts and updates: the rows that stand for others with their key, each with the first of these, and whether
  // one of them gives other values than the one before.
  struct StandsFor {
    uint32_t first;
    bool differ;
  };
  boost::unordered_flat_map<uint32_t, StandsFor> stands_for_;
  std::vector<Part> parts_;
  std::optional<uint32_t> duplicate_;  // the first row whose key is there, of an insert
  std::vector<RowOutcome> outcomes_;
  WriteCounts counts_;
  uint64_t user_bytes_ = 0;
};

// Enters deaths at `commit`: `sources` gives the place of each in the state. Under the latch.
void ApplyDeaths(const TabletState& state, std::span<const SourceDeaths> deaths, std::span<const uint32_t> sources,
                 uint64_t commit);

}  // namespace petalite::store
