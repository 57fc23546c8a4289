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
#include "parquet/reader.h"
#include "store/key_index.h"
#include "store/page_cache.h"

namespace petalite::store {

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
  uint64_t rows = 0;
  uint64_t row_groups = 0;
  uint64_t bytes = 0;
  uint32_t footer_crc = 0;
  std::string min_key, max_key;  // encoded; empty for unkeyed tables
  std::vector<ColumnStatistics> columns;
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
  Rowset(FileSystem& fs, std::string path, RowsetInfo info, Schema schema, PageCache* cache);
  ~Rowset();
  Rowset(const Rowset&) = delete;
  Rowset& operator=(const Rowset&) = delete;

  const RowsetInfo& info() const { return info_; }
  const std::string& path() const { return path_; }

  // The open file; opened on first use. An attempt that fails is not the last: the disk's trouble may pass.
  Result<const parquet::FileReader*> file() const;
  // Whether pages of all columns break at the same rows: true of every file that Petalite wrote. After file().
  bool pages_aligned() const { return pages_aligned_; }

  // Through the cache:
  Result<std::shared_ptr<const parquet::ChunkPages>> Pages(size_t row_group, size_t column) const;
  Result<std::shared_ptr<const parquet::ColumnFilter>> Filter(size_t row_group, size_t column) const;  // may be null
  Result<std::shared_ptr<const parquet::DecodedPage>> Page(size_t row_group, size_t column, size_t page) const;
  // Keyed tables only:
  Result<std::shared_ptr<const KeyFilter>> LoadKeyFilter() const;
  Result<std::shared_ptr<const KeyIndex>> LoadKeyIndex() const;

  FilterCounters& filter_counters(size_t column) const { return filter_counters_[column]; }
  FilterCounters& key_filter_counters() const { return key_filter_counters_; }

  // The catalog no longer names this rowset: remove its file when the last user lets go.
  void MarkObsolete() { obsolete_ = true; }

 private:
  FileSystem& fs_;
  const std::string path_;
  const RowsetInfo info_;
  const Schema schema_;
  PageCache* const cache_;
  const uint64_t cache_number_;
  mutable std::mutex open_mutex_;  // guards the making of the next three
  mutable std::shared_ptr<const parquet::FileReader> file_;
  mutable bool pages_aligned_ = false;
  mutable std::atomic<const parquet::FileReader*> opened_{nullptr};  // set last: whoever sees it sees the others
  mutable std::vector<FilterCounters> filter_counters_;
  mutable FilterCounters key_filter_counters_;
  std::atomic<bool> obsolete_{false};
};

}  // namespace petalite::store
