// How to open a database.

#pragma once

#include <cstddef>
#include <cstdint>

namespace petalite {

// What an acknowledged commit has survived. In every mode a commit is there whole or not at all after a crash, over all
// its tables, and with it all commits before it.
enum class Durability : uint8_t {
  kSync = 1,   // it is on the disk; commits of many threads share an fdatasync
  kAsync = 2,  // written and synced every async_interval_ms: a crash may lose the last interval
  kNone = 3,   // synced when a log segment is full or memory is flushed: a crash may lose what was not
};

struct DatabaseOptions {
  bool read_only = false;   // any number of processes may have it open so; the log is replayed in memory
  bool create = false;      // make the directory a database if it is absent or empty
  double wait_seconds = 0;  // how long to wait for another process to let go of it

  // Bytes. 0: what the cgroup or the machine has; five sixteenths of memory_limit; three eighths of it, at most 1 GiB.
  // What the two leave, an eighth of memory_limit at least, is for flushes and compactions.
  size_t memory_limit = 0;
  size_t cache_bytes = 0;  // of decoded pages and key filters
  size_t write_bytes = 0;  // of rows that are not flushed yet; a writer that finds them full waits for a flush
  size_t threads = 0;      // 0: as many as the process may use

  Durability durability = Durability::kSync;
  uint32_t async_interval_ms = 200;
  int64_t history_retention_micros = int64_t{15} * 60 * 1'000'000;  // how far back AtTime and At may go
  bool background = true;  // flush and compact on threads of its own; off: only when asked, and for want of memory
};

}  // namespace petalite
