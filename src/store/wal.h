// The write-ahead log: an endless sequence of checksummed records, kept in segment files and synced for many commits at
// once.
//
// Append copies a record into memory and gives its position; it never waits for the disk, so it may be called under a
// latch. WaitDurable waits, after the latch is released, until the durability that was chosen is reached. One thread at
// a time writes and syncs, on behalf of all: the first that waits, or the log's own thread. It holds no lock meanwhile,
// and takes along everything appended before it began.
//
// A failed write or sync is final: from then on every call that promises something fails with the same error, until the
// log is opened again and shows what survived.
//
// Thread-safety: any number of threads may use a Wal; nobody may when it is destroyed. One Wal at a time uses a folder;
// the caller holds the database's lock.

#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "petalite/database_options.h"
#include "store/wal_files.h"
#include "store/wal_scan.h"
#include "store/wal_segment.h"

namespace petalite::store {

struct WalOptions {
  uint64_t segment_bytes = 64 << 20;  // of a file; a longer record gets a file that fits
  Durability durability = Durability::kSync;
  uint32_t async_interval_ms = 200;
  size_t spare_segments = 2;
  size_t max_buffered = 64 << 20;  // bytes not yet written at which WaitForRoom waits
};

struct WalPosition {
  Lsn lsn = 0;  // of the record
  Lsn end = 0;  // behind it
};

struct WalStatistics {
  uint64_t records = 0;        // appended
  uint64_t bytes_written = 0;  // of records, with the padding to whole pages
  uint64_t syncs = 0;          // of segment files
  uint64_t segments_created = 0;
  uint64_t segments_recycled = 0;
};

class Wal {
 public:
  // Hands every whole record with lsn >= from to `replay`, in order, and goes on behind the last: a torn tail is cut,
  // and what was replayed is durable when Open returns. `from` is 0, or a record's lsn or end, and was durable. The
  // positions given to new records are greater than any before. read_only: changes nothing on disk, and nothing can be
  // appended. kCorruption names segment and offset of damage.
  static Result<std::unique_ptr<Wal>> Open(FileSystem& fs, std::string directory, Lsn from, const WalOptions& options,
                                           bool read_only, const WalReplay& replay);
  // Writes and syncs what was appended, unless the log has failed.
  ~Wal();
  Wal(const Wal&) = delete;
  Wal& operator=(const Wal&) = delete;

  // Appends a record whose payload is `parts` one after another, together less than 4 GiB. `type` is not 0.
  Result<WalPosition> Append(uint8_t type, std::span<const Bytes> parts);
  // Waits while more than max_buffered bytes are not yet written. For writers, before they take the latch.
  Status WaitForRoom();
  // Waits until everything in front of `end`, a position that Append gave, is as durable as the options say.
  Status WaitDurable(Lsn end);
  // The same for kSync, whatever the options say.
  Status Sync(Lsn end);

  // The error that ended writing, if one did.
  Status health() const;
  Lsn durable() const;  // everything in front of it is written and synced
  Lsn end() const;      // behind the last record

  // Recycles or removes the segments wholly in front of `keep_from`, which the caller has made durable elsewhere and
  // will pass, or something greater, to Open. An error has lost nothing.
  Status Truncate(Lsn keep_from);
  WalStatistics statistics() const;

 private:
  // Records that follow each other in one segment.
  struct Block {
    std::unique_ptr<uint8_t[]> data;
    size_t capacity = 0;
    size_t size = 0;
    Lsn lsn = 0;                 // of the first
    uint64_t segment_bytes = 0;  // not 0: a segment of so many bytes begins in front of them
    Lsn segment_end = 0;         // of the file
  };

  Wal(const WalOptions& options, bool read_only) : options_(options), read_only_(read_only) {}

  // The following are called with mutex_ held.
  uint8_t* Reserve(uint64_t bytes);
  Block TakeBlock(uint64_t bytes);
  bool Eager() const;
  bool Unfinished() const;
  // Takes the writer's role, writes what is queued, and syncs. Releases the lock meanwhile.
  void WriteOut(std::unique_lock<std::mutex>& lock, bool sync);
  void Fail(const Status& status);

  // By the writer, without the lock. `durable` advances as far as was synced.
  Status WriteBlocks(std::vector<Block>& blocks, bool sync, Lsn end, Lsn* durable);
  void Run();

  const WalOptions options_;
  const bool read_only_;
  std::unique_ptr<WalFiles> files_;  // null if read_only_
  uint32_t epoch_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable work_;  // for the log's thread
  std::condition_variable done_;  // the writer's role is free; something became durable, or failed
  std::vector<Block> queue_;
  std::vector<Block> free_blocks_;
  uint64_t queued_ = 0;     // bytes in queue_
  uint64_t in_flight_ = 0;  // bytes that the writer has taken
  bool writing_ = false;    // the writer's role is taken
  bool stopping_ = false;
  bool thread_idle_ = false;  // it waits to be told of the next record
  Status failure_;
  Lsn end_ = 0;
  Lsn durable_ = 0;
  Lsn next_ = 0;         // where the next record or segment begins
  Lsn segment_end_ = 0;  // of the file that holds next_
  uint64_t records_ = 0;
  std::thread thread_;
};

}  // namespace petalite::store
