// Reading a whole log: for opening it, and for checking and salvaging one that is damaged.
//
// Where whole records stop, either the log was torn by a crash or somebody has damaged it. What tells them apart is
// what was known to be durable: the caller's `from`, the first LSN of a later segment (a segment is begun when the one
// before it is synced), and the synced position that later whole records carry. If any of them lies behind the place
// where records stop, that place is damage; otherwise nobody was promised what stood there, and it is a torn tail. So
// only the last segment can have a torn tail.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/wal_segment.h"

namespace petalite::store {

using WalReplay = std::function<Status(const WalRecord&)>;

// What was read of a segment.
struct WalSegmentScan {
  Lsn start = 0;         // where reading began
  Lsn end = 0;           // behind the last whole record, marks included
  Lsn data_end = 0;      // behind the last whole record that is no mark
  Lsn synced = 0;        // known to be durable up to here
  uint32_t epoch = 0;    // 0 if the header is damaged
  uint64_t records = 0;  // marks excluded
  uint64_t bytes = 0;    // of the file
  bool marked = false;   // it ends in a mark that covers all of it
  bool torn = false;     // behind `end` are remains of what was never known to be durable
};

// The log behind `from`, read to its end. `last` is absent when there are no segments.
struct WalScan {
  WalListing listing;
  size_t first_read = 0;  // the index among listing.segments of the one that holds `from`
  std::optional<WalSegmentScan> last;
};

// Hands every whole record with lsn >= from to `replay`, in order. `from` is 0, or the lsn or end of a record, and
// known to be durable. kCorruption names segment and offset of damage; an error of `replay` is passed on.
Result<WalScan> ScanWal(FileSystem& fs, const std::string& directory, Lsn from, const WalReplay& replay);

// What `petalite verify` says of a segment.
struct WalSegmentCheck {
  std::string path;
  Lsn first = 0;
  WalSegmentScan scan;
  Status damage;  // behind scan.end; also kIoError for what cannot be read
};
struct WalCheck {
  std::vector<WalSegmentCheck> segments;  // from the one that holds `from` on
  Status damage;                          // of the log as a whole: what `from` promises is missing

  bool sound() const {
    bool sound = damage.ok();
    for (const WalSegmentCheck& segment : segments) sound = sound && segment.damage.ok();
    return sound;
  }
};

// Reads everything behind `from`, also behind damage. Changes nothing.
Result<WalCheck> CheckWal(FileSystem& fs, const std::string& directory, Lsn from);

// On damage keeps what is whole in front of it, and moves what lies behind it to "<segment>.damaged" (the damaged
// segment itself is copied there whole), so that the log can be opened again. Records behind the damage are lost to the
// log: those in front of it are a state that once was. A crash in between leaves a log that is still damaged, or
// salvaged. No other process or Wal may use the folder.
Status SalvageWal(FileSystem& fs, const std::string& directory, Lsn from);

}  // namespace petalite::store
