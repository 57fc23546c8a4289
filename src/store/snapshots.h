// Which commits may still be read: those that somebody holds, and those within the retention; and when each was.
// Thread-safe.

#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <vector>

#include "base/status.h"

namespace petalite::store {

struct CommitTime {
  uint64_t commit;
  int64_t time;  // microseconds since 1970
};

class Snapshots;

// Keeps the horizon where it is while a job relies on it.
class HorizonHold {
 public:
  explicit HorizonHold(Snapshots& snapshots);
  ~HorizonHold();
  HorizonHold(const HorizonHold&) = delete;
  HorizonHold& operator=(const HorizonHold&) = delete;
  uint64_t commit() const { return commit_; }

 private:
  Snapshots& snapshots_;
  const uint64_t commit_;
};

class Snapshots {
 public:
  explicit Snapshots(int64_t retention_micros) : retention_(retention_micros) {}

  // In any order, as writers of different tablets come; a later commit never has an earlier time.
  void Note(const CommitTime& commit);
  // The last commit at or before `time`. An error if that is before what is kept; it says from when on there is
  // history.
  Result<uint64_t> CommitAt(int64_t time) const;
  // Whether a commit may still be read; else an error that says from which on.
  Status CheckReadable(uint64_t commit) const;

  // Keeps a commit readable until Release. The caller knows that it is readable now.
  void Hold(uint64_t commit);
  void Release(uint64_t commit);
  // Holds the horizon itself, and returns it.
  uint64_t HoldHorizon();
  // Holds it unless it is too old.
  Status TryHold(uint64_t commit);

  // Moves the horizon forward and returns it: nobody reads below it any more, nor ever will. `now` as in CommitTime;
  // `visible` is the newest commit that can be read.
  uint64_t Advance(int64_t now, uint64_t visible);
  uint64_t horizon() const;
  void RestoreHorizon(uint64_t horizon);

  // What a checkpoint keeps of commits and times.
  std::vector<CommitTime> Times() const;

 private:
  Status TooOld() const;

  const int64_t retention_;
  mutable std::mutex mutex_;
  std::multiset<uint64_t> held_;
  std::deque<CommitTime> times_;  // the last commit of each kResolution; the first is at or below the horizon
  uint64_t horizon_ = 0;
};

}  // namespace petalite::store
