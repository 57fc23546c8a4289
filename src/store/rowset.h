// One immutable Parquet file of a table, open for reading. Shared by every version of the catalog that names it; the
// file is removed when the last of them is gone and the catalog no longer names it (invariant 4). Thread-safe.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "bloom/hyperloglog.h"
#include "column/key_encoding.h"
#include "parquet/reader.h"
#include "petalite/schema.h"
#include "store/delete_log.h"
#include "store/files_in_use.h"
#include "store/key_index.h"
#include "store/page_cache.h"
#include "store/puffin.h"

namespace petalite::store {

struct StoreContext;

using RowsetId = uint64_t;

// What the catalog knows of a column of a rowset without opening the file.
struct ColumnStatistics {
  ZoneMap zone;
  bloom::HyperLogLog distinct;
  uint64_t compressed_bytes = 0;
  uint64_t uncompressed_bytes = 0;
  uint64_t filter_bytes = 0;
};

struct RowsetInfo {
  RowsetId id = 0;
  uint32_t tablet = 0;  // which of the table's
  uint64_t order = 0;   // rowsets of a tablet stand in this order, and with them the rows of unkeyed tables
  uint64_t rows = 0;
  uint64_t row_groups = 0;
  uint64_t bytes = 0;
  uint32_t footer_crc = 0;
  std::string min_key, max_key;             // encoded; empty for unkeyed tables
  uint64_t min_commit = 0, max_commit = 0;  // of its rows
  bool has_commit_column = false;           // the file's last column is CommitField(): each row's; else they are equal
  bool has_versions = false;                // several rows may have one key; the newest stands first
  Schema schema;                            // the table's when it was written
  std::vector<size_t> key;                  // the key's columns in it; empty for unkeyed tables
  std::vector<ColumnStatistics> columns;
};

// The column of commit numbers, as Iceberg v3 reserves it.
inline constexpr int32_t kCommitFieldId = 2147483539;
Field CommitField();

// Where the catalog finds what is durable of a rowset's delete log.
struct StoredDeletes {
  uint64_t puffin = 0;  // the file's number; 0: none
  DeleteLogLocation location;
  uint32_t footer_crc = 0;   // PuffinFileInfo's
  uint64_t applied_lsn = 0;  // deaths logged below are in it (invariant 6)
};

// Counts since the database was opened; relaxed, for people to read.
struct FilterCounters {
  std::atomic<uint64_t> probes{0};           // asked
  std::atomic<uint64_t> skips{0};            // answered "absent"
  std::atomic<uint64_t> false_positives{0};  // answered "maybe" where a lookup then found nothing
};

class Rowset {
 public:
  // Does not touch the file before it is first read.
  Rowset(StoreContext& context, std::string path, RowsetInfo info);
  ~Rowset();
  Rowset(const Rowset&) = delete;
  Rowset& operator=(const Rowset&) = delete;

  const RowsetInfo& info() const { return info_; }
  const Schema& schema() const { return info_.schema; }
  const std::vector<size_t>& key() const { return info_.key; }
  const std::string& path() const { return path_; }
  // The commit of all its rows, known only when the transaction that wrote it commits; before anybody else sees it.
  void SetCommit(uint64_t commit) { info_.min_commit = info_.max_commit = commit; }

  // Its dead rows, by position: rows count from 0 through all row groups. Replaced only before anybody else sees it.
  DeleteLog& deletes() const { return *deletes_; }
  void SetDeletes(std::unique_ptr<DeleteLog> deletes) { deletes_ = std::move(deletes); }
  // For checkpoints, of which there is one at a time.
  const StoredDeletes& stored_deletes() const { return stored_deletes_; }
  void SetStoredDeletes(const StoredDeletes& stored) const { stored_deletes_ = stored; }

  // The open file; opened on first use. An attempt that fails is not the last: the disk's trouble may pass.
  Result<const parquet::FileReader*> file() const;
  // Another reader of it, which knows nothing yet: for those who check what stands on the disk.
  Result<std::shared_ptr<const parquet::FileReader>> OpenAnew() const;
  // Whether pages of all columns break at the same rows: true of every file that Petalite wrote. After file().
  bool pages_aligned() const { return pages_aligned_; }

  // After file(): the position of a row group's first row.
  uint32_t GroupStart(size_t row_group) const { return group_starts_[row_group]; }
  struct Place {
    uint32_t row_group;
    uint32_t row;
  };
  Place PlaceOf(uint32_t position) const;

  // Through the cache:
  Result<std::shared_ptr<const parquet::ChunkPages>> Pages(size_t row_group, size_t column) const;
  Result<std::shared_ptr<const parquet::ColumnFilter>> Filter(size_t row_group, size_t column) const;  // may be null
  Result<std::shared_ptr<const parquet::DecodedPage>> Page(size_t row_group, size_t column, size_t page) const;
  // The commit of a row.
  Result<uint64_t> CommitOf(uint32_t position) const;
  // Keyed tables only:
  // The encoded keys of a page. `cold`: past every cache, from the disk.
  Result<std::shared_ptr<const EncodedKeys>> KeyPage(uint32_t row_group, uint32_t page, bool cold = false) const;
  // Past the cache, for those who read everything once.
  Result<std::shared_ptr<const parquet::DecodedPage>> PassingPage(size_t row_group, size_t column, size_t page) const;
  // The encoded keys of a page whose columns are given, all of them.
  Result<std::shared_ptr<const EncodedKeys>> EncodePageKeys(
      std::span<const std::shared_ptr<const parquet::DecodedPage>> columns) const;
  bool IsKeyPageCached(KeyIndex::Position page) const;
  // The position of a page's first row.
  Result<uint32_t> PageStart(uint32_t row_group, uint32_t page) const;
  Result<std::shared_ptr<const KeyFilter>> LoadKeyFilter() const;
  Result<std::shared_ptr<const KeyIndex>> LoadKeyIndex() const;

  FilterCounters& filter_counters(size_t column) const { return filter_counters_[column]; }
  FilterCounters& key_filter_counters() const { return key_filter_counters_; }

  // Of an unkeyed table: the memrowset whose rows it has, in the same order; 0: none. Set before it is published.
  uint64_t flushed_from() const { return flushed_from_; }
  void SetFlushedFrom(uint64_t mem_rowset) { flushed_from_ = mem_rowset; }

  // The catalog does not name this rowset (any more): remove its file when the last user lets go.
  void MarkObsolete(bool obsolete = true) { obsolete_ = obsolete; }

 private:
  CacheKey KeyPageCacheKey(KeyIndex::Position page) const;
  Result<std::shared_ptr<const parquet::Dictionary>> Dictionary(size_t row_group, size_t column,
                                                                const parquet::ChunkPages& pages) const;

  FileSystem& fs_;
  const std::string path_;
  const FilesInUse::Use use_;
  RowsetInfo info_;
  PageCache* const cache_;
  const uint64_t cache_number_;
  mutable std::mutex open_mutex_;  // guards the making of the next four
  mutable std::shared_ptr<const parquet::FileReader> file_;
  mutable bool pages_aligned_ = false;
  mutable std::vector<uint32_t> group_starts_;
  mutable std::atomic<const parquet::FileReader*> opened_{nullptr};  // set last: whoever sees it sees the others
  mutable std::shared_ptr<const KeyFilter> key_filter_;              // by atomic loads; made under open_mutex_
  mutable size_t pinned_bytes_ = 0;
  mutable std::vector<FilterCounters> filter_counters_;
  mutable FilterCounters key_filter_counters_;
  std::unique_ptr<DeleteLog> deletes_;
  mutable StoredDeletes stored_deletes_;
  uint64_t flushed_from_ = 0;
  std::atomic<bool> obsolete_{false};
};

}  // namespace petalite::store
