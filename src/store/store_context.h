// What the parts of an open database share. The database owns it all and outlives its users.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/thread_pool.h"
#include "store/files_in_use.h"
#include "store/memory_budget.h"
#include "store/page_cache.h"

namespace petalite::store {

class CommitLog;
class Rowset;
class Snapshots;
class Maintenance;

// Counts since the database was opened, for people and benchmarks; relaxed.
struct Metrics {
  std::atomic<uint64_t> keys_resolved{0};    // keys that writes looked for
  std::atomic<uint64_t> filter_probes{0};    // of key filters, by writes
  std::atomic<uint64_t> false_positives{0};  // "maybe" where the key page then had no such key
  std::atomic<uint64_t> key_pages_read{0};   // key pages consulted, cached or not
  std::atomic<uint64_t> user_bytes{0};       // values of rows written, as they lie in memory
  std::atomic<uint64_t> flushed_bytes{0};    // rowsets that flushes wrote
  std::atomic<uint64_t> compacted_bytes{0};  // rowsets that compactions wrote
  std::atomic<uint64_t> puffin_bytes{0};     // delete logs
  std::atomic<uint64_t> flushes{0}, compactions{0};
  std::atomic<uint64_t> throttled_micros{0};  // that writers waited for flushes
};

// Rowsets that took their leave of tablets and that the catalog may still name: their files go after the next
// checkpoint, when nobody reads them any more (invariant 4). Thread-safe.
class RetiredRowsets {
 public:
  void Add(const std::vector<std::shared_ptr<Rowset>>& rowsets);
  std::vector<std::shared_ptr<Rowset>> Take();

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Rowset>> rowsets_;
};

struct StoreContext {
  FileSystem& fs;
  std::string path;
  MemoryBudget& memory;
  PageCache& cache;
  ThreadPool& pool;
  CommitLog* log = nullptr;  // null only while the database is being opened
  Snapshots* snapshots = nullptr;
  Maintenance* maintenance = nullptr;
  size_t transaction_bytes = size_t{64} << 20;  // of a table's rows that a transaction keeps in memory
  bool cold_key_pages = false;                  // read each key page from the disk, past every cache (benchmarks)
  std::atomic<uint64_t> replay_lsn{0};          // where the next open would begin to replay
  FilesInUse files;                             // of rowsets
  RetiredRowsets retired;
  std::atomic<uint64_t> next_table_id{1};
  std::atomic<uint64_t> next_rowset_id{1};
  std::atomic<uint64_t> next_puffin_id{1};
  Metrics metrics;

  std::string DataDirectory(uint64_t table) const { return path + "/data/" + std::to_string(table); }
  std::string RowsetPath(uint64_t table, uint64_t rowset) const {
    return DataDirectory(table) + "/" + std::to_string(rowset) + ".parquet";
  }
  std::string PuffinPath(uint64_t table, uint64_t puffin) const {
    return DataDirectory(table) + "/" + std::to_string(puffin) + ".puffin";
  }
};

}  // namespace petalite::store
