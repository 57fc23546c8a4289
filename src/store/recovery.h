// Brings a database's structure from what a checkpoint says to what the log says.

#pragma once

#include <map>
#include <memory>

#include "store/catalog.h"
#include "store/records.h"
#include "store/store_context.h"
#include "store/tablet.h"
#include "store/wal.h"

namespace petalite::store {

// For one thread. Legal order of calls: Restore, Replay for each record in order, then the results.
class Recovery {
 public:
  // `context` outlives what is made.
  explicit Recovery(StoreContext& context) : context_(context) {}

  // Tables and tablets as the checkpoint has them, delete logs loaded.
  Status Restore(const CatalogImage& image);
  // Does again what a record says, unless the checkpoint has it (invariant 6).
  Status Replay(const WalRecord& record);

  // The newest, and those before it that can still be read.
  const std::map<uint64_t, std::shared_ptr<const Version>>& versions() const { return versions_; }
  // Tells the tablets of tables that are only in older versions. After the last Replay.
  void MarkDropped();
  uint64_t last_commit() const { return last_commit_; }
  int64_t last_time() const { return last_time_; }
  uint64_t next_table_id() const { return next_table_id_; }
  uint64_t next_rowset_id() const { return next_rowset_id_; }

 private:
  struct Progress {
    std::shared_ptr<Tablet> tablet;
    uint64_t applied_lsn = 0;
  };

  std::vector<std::shared_ptr<Tablet>> MakeTablets(TableId table, uint32_t count);
  Result<std::shared_ptr<Rowset>> MakeRowset(TableId table, const RowsetImage& image);
  Status ReplayCommit(const WalRecord& wal_record);
  Status ReplayStorage(const WalRecord& wal_record);
  Status ReplayChange(const DecodedChange& decoded, const CommitRecord& record, Lsn lsn);
  Status ReplayRows(Tablet& tablet, const Table& table, const DecodedChange& decoded, uint64_t commit, Lsn lsn);
  Status ReplayDeaths(const TabletState& state, const SourceDeaths& deaths, uint64_t commit, Lsn lsn);
  void Define();
  Progress* Find(TableId table, uint32_t tablet);
  // A table as it was at a commit; null if nothing is known of it any more.
  const Table* DefinitionAt(TableId table, uint64_t commit) const;

  StoreContext& context_;
  std::shared_ptr<const Version> version_;
  std::map<uint64_t, std::shared_ptr<const Version>> versions_;
  std::map<TableId, std::shared_ptr<const Table>> tables_;  // of version_
  std::map<TabletKey, Progress> tablets_;
  uint64_t catalog_lsn_ = 0;
  uint64_t last_commit_ = 0;
  int64_t last_time_ = 0;
  uint64_t next_table_id_ = 1;
  uint64_t next_rowset_id_ = 1;
};

}  // namespace petalite::store
