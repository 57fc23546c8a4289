// The segment files of a log that is being written: begins segments, writes to the newest, recycles the oldest.
//
// Invariants:
//  1. A segment is begun when everything in front of it is synced. So only the newest can lack something at a crash.
//  2. A file is called a segment when its header is durable, and the name is durable before a record is written.
//  3. The newest segment is never removed: it carries the log's position and epoch.
//  4. A file becomes a spare when it has durably ceased to be a segment.
//
// Thread-safety: Truncate and the counters may be called at any time; the rest by one thread at a time.

#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/wal_segment.h"

namespace petalite::store {

class WalFiles {
 public:
  struct Counters {
    uint64_t bytes_written = 0;  // of records
    uint64_t syncs = 0;          // of files
    uint64_t segments_created = 0;
    uint64_t segments_recycled = 0;
  };
  // The end of the newest segment as it was found: a mark at `end` - kWalRecordHeader, which perhaps never became
  // durable. It is written again before a segment that begins at `end` is made.
  struct Tail {
    WalFile segment;
    uint32_t epoch = 0;
    Lsn end = 0;
  };

  // `segment_bytes` and `spare_segments` as in WalOptions.
  WalFiles(FileSystem& fs, std::string directory, uint64_t segment_bytes, size_t spare_segments, uint32_t epoch,
           WalListing listing, std::optional<Tail> tail);

  // Makes the folder, and removes spares that are too many.
  Status Prepare();
  // Makes the segment that holds the positions from `first` on, in a file of `bytes`. The current one is synced.
  Status Begin(Lsn first, uint64_t bytes);
  bool begun() const { return file_ != nullptr; }
  // Writes to the segment that was begun last.
  Status Write(Lsn at, Bytes data);
  Status Sync();
  // Ends the newest segment with a mark at `at`, where everything written ends, and cuts the file behind it.
  Status Seal(Lsn at);

  // Recycles or removes the segments wholly in front of `keep_from`.
  Status Truncate(Lsn keep_from);
  Counters counters() const;

 private:
  Result<std::unique_ptr<RandomFile>> OpenSpare(uint64_t bytes, std::string* path);
  // Makes the end of the newest segment durable that the log found when it was opened.
  Status SecureTail();
  void Count(uint64_t Counters::* counter, uint64_t n = 1);

  FileSystem& fs_;
  const std::string directory_;
  const uint64_t segment_bytes_;
  const size_t spare_segments_;
  const uint32_t epoch_;
  std::optional<Tail> tail_;
  std::unique_ptr<RandomFile> file_;
  Lsn first_ = 0;

  mutable std::mutex mutex_;  // held while files are renamed and removed, but not over a write or sync of records
  std::vector<WalFile> segments_;
  std::vector<std::string> spares_;  // of segment_bytes_ each
  Counters counters_;
};

// Makes the records of a segment durable up to `end`, of which perhaps only those in front of `synced` are, cuts what
// stands behind, and marks the end, so that from then on damage to them is known as such.
Status SealWalSegment(FileSystem& fs, const WalFile& segment, uint32_t epoch, Lsn synced, Lsn end);

}  // namespace petalite::store
