// The load of `petalite bench insert`: random keys into one keyed table, batch by batch.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/database.h"

namespace petalite::cli {

struct InsertLoadOptions {
  uint64_t rows = 10'000'000;
  uint64_t preload = 0;       // rows that are there before; not measured
  std::string key = "int64";  // int64, uuid, composite (int32 and text)
  uint64_t payload = 2;       // columns of 8 bytes
  uint64_t batch = 10'000;
  double updates = 0;  // the part of the rows that are upserts of a key that is there
  double key_bloom_fpp = 0.0001;
  uint64_t points = 10;  // a multiple of 10: so often is the throughput measured
  store::DatabaseOptions database;
};

struct InsertLoadResult {
  std::vector<double> rows_per_s;  // from point to point
  double write_seconds = 0;        // of the writes alone
  double seconds = 0;              // until nothing is left to flush or compact
  double rows_per_second() const { return seconds == 0 ? 0 : static_cast<double>(rows) / seconds; }
  uint64_t rows = 0;
  uint64_t user_bytes = 0, wal_bytes = 0, flushed_bytes = 0, compacted_bytes = 0, puffin_bytes = 0, disk_bytes = 0;
  uint64_t keys = 0, filter_probes = 0, false_positives = 0, key_pages_read = 0;
  uint64_t rowsets = 0, rowsets_consulted = 0;  // at the end; of a random key
  uint64_t flushes = 0, compactions = 0, syncs = 0, commits = 0;
  double real_fpp = 0;  // of the key filters at the end, weighted by their keys
  double throttled_seconds = 0;
  double write_amplification() const;
  double space_amplification() const;
};

// `path` does not exist yet. `progress` gets the rows so far; false ends the run with kInterrupted.
Result<InsertLoadResult> RunInsertLoad(const std::string& path, const InsertLoadOptions& options,
                                       const std::function<bool(uint64_t rows)>& progress);

// Bytes of memory that this process has used at most.
uint64_t PeakMemory();

}  // namespace petalite::cli
