// Who died when: the record of the deaths of one rowset. A row dies once, at a commit; the rowset's file never changes.
//
// A death is young while somebody may still read at a commit before it: its commit is kept, 12 bytes in order of death
// and 5 to 9 in an index by position. Settle gives up the commits that nobody can tell apart any more; what remains of
// such a death is its bit in a Roaring bitmap.
//
// Deaths are counted as they come and never go, so a count names a state of the log: the first `CountAt(c)` deaths are
// those of the commits up to `c`.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "store/delete_vector.h"

namespace petalite::store {

inline constexpr uint64_t kNeverDied = UINT64_MAX;

// The row at `position` died at `commit`, which is neither 0 nor kNeverDied.
struct Death {
  uint32_t position;
  uint64_t commit;
  bool operator==(const Death&) const = default;
};

// What a log holds as of one commit, for writing it down.
struct DeleteLogContents {
  std::shared_ptr<const DeleteVector> dead;  // settled and young; null if none
  std::vector<Death> young;                  // in order
  uint64_t settled_at = 0;
};

// Thread-safe: one writer at a time (it holds the tablet's latch) calls Append and Settle; any number of readers call
// the rest meanwhile. Readers and the writer wait for each other only while a few words of memory are read, a batch is
// entered or the index grows; bitmaps are built outside. `at` is never below settled_at() (CHECK): who reads at a
// commit holds the horizon below it.
class DeleteLog {
 public:
  DeleteLog();
  // As restored: `settled` may be null.
  DeleteLog(std::shared_ptr<const DeleteVector> settled, uint64_t settled_at);
  ~DeleteLog();
  DeleteLog(const DeleteLog&) = delete;
  DeleteLog& operator=(const DeleteLog&) = delete;

  // In order: no commit is below one before it, or at or below settled_at(). A position dies once (CHECK). All appear
  // at once.
  void Append(std::span<const Death> deaths);

  // Settled deaths answer 0: at some commit up to settled_at().
  uint64_t DeathOf(uint32_t position) const;
  // At a commit ≤ `at`.
  bool IsDead(uint32_t position, uint64_t at) const;

  // The dead as of `at`; null if there are none. Kept: asked again with no further deaths it costs nothing, with a few,
  // a copy of the bitmap.
  std::shared_ptr<const DeleteVector> At(uint64_t at) const;
  uint64_t CountAt(uint64_t at) const;
  DeleteLogContents ContentsAt(uint64_t at) const;

  uint64_t count() const { return count_.load(std::memory_order_acquire); }  // all deaths so far
  size_t young() const;

  // The deaths after the first `count`, in order. None of them may be settled (CHECK), which holds if the caller reads
  // at some commit c and count ≥ CountAt(c): so does a merge that asks who died while it ran.
  std::vector<Death> Since(uint64_t count) const;

  // Deaths at or below `horizon` lose their commits: nobody reads below it any more. A horizon below settled_at() does
  // nothing. Costs a copy of what stays young and of the bitmap.
  void Settle(uint64_t horizon);
  uint64_t settled_at() const { return settled_at_.load(std::memory_order_acquire); }

  size_t memory_bytes() const;

 private:
  class Young;
  // The first `count` deaths as a bitmap; null if count is 0.
  struct State {
    uint64_t count = 0;
    std::shared_ptr<const DeleteVector> dead;
  };

  // A view of the first deaths up to `at`, good outside the mutex.
  struct View {
    std::shared_ptr<const Young> young;
    uint64_t settled_at;
    uint64_t settled;  // the number of deaths before young's first
    uint64_t count;    // as of `at`
    State base;        // the nearest state known, at most `count`
  };
  View ViewAt(uint64_t at) const;
  static State Extend(const View& view);
  void Remember(State state) const;

  mutable std::mutex mutex_;
  State settled_;                 // guarded by mutex_, as are the next two
  std::shared_ptr<Young> young_;  // deaths settled_.count and on
  mutable State newest_, other_;  // built before: the one with the most deaths, and the last of the rest
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> settled_at_{0};
  uint64_t last_commit_ = 0;  // the writer's
};

}  // namespace petalite::store
