// The order of commits: one sequence of numbers for the database, the log that makes them durable, and the number up to
// which they are visible.
//
// A commit is appended (number and place in the log are given together, so that they have one order), applied to the
// tablets, invisibly because above visible(), and becomes visible when it and all commits before it are applied and, as
// the durability has it, durable. A writer appends and applies under its tablets' latches and waits without them.
// Thread-safe.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "store/wal.h"

namespace petalite::store {

// Types of log records; never renumbered.
enum class RecordType : uint8_t {
  kCommit = 1,   // a transaction: rows, deaths, changes of the catalog, adopted rowsets
  kStorage = 2,  // a flush or compaction: which rowsets stand in the place of which
};

class CommitLog {
 public:
  struct Ticket {
    uint64_t commit = 0;
    Lsn lsn = 0;
    Lsn end = 0;
    int64_t time = 0;  // microseconds since 1970
  };

  // `visible`: the last commit of what was recovered.
  CommitLog(std::unique_ptr<Wal> wal, uint64_t visible);

  // Gives a commit its number and logs it: `body` behind the number and the time (microseconds since 1970).
  // `on_visible` runs, with the number, when the commit becomes visible, before anybody is told. On an error nothing
  // was logged, and nothing will be any more.
  using OnVisible = std::function<void(uint64_t commit)>;
  Result<Ticket> Append(std::span<const Bytes> body, OnVisible on_visible = nullptr);
  // The commit's changes are in memory.
  void Applied(const Ticket& ticket);
  // Returns when the commit is visible; an error if it never will be.
  Status WaitVisible(const Ticket& ticket);
  // The same for a commit that was applied.
  Status WaitVisible(uint64_t commit);

  // Logs a change of storage that is no commit. `under_lock` runs before any later record can be logged.
  Status AppendStorage(std::span<const Bytes> body, const std::function<void(Lsn end)>& under_lock);
  // Calls f(end of the log) while nothing can be logged: what is logged below it has been done, commits in part.
  void WithLogStill(const std::function<void(Lsn end)>& f);

  uint64_t visible() const { return visible_.load(std::memory_order_acquire); }
  // The newest number given.
  uint64_t last() const { return last_.load(std::memory_order_acquire); }
  // Microseconds since 1970 of the newest commit; never falls.
  int64_t last_time() const { return last_time_.load(std::memory_order_relaxed); }
  void SetLastTime(int64_t time) { last_time_ = time; }
  Wal& wal() { return *wal_; }

 private:
  struct Pending {
    Ticket ticket;
    bool applied = false;
    OnVisible on_visible;
  };
  Pending& FindPending(uint64_t commit);
  void Publish();

  std::unique_ptr<Wal> wal_;
  std::mutex append_mutex_;  // orders appends; the commits' order of arrival in pending_ too
  std::mutex mutex_;         // guards the next two
  std::deque<Pending> pending_;
  Lsn durable_ = 0;  // as far as the durability asks for
  std::condition_variable published_;
  std::atomic<uint64_t> visible_;
  std::atomic<uint64_t> last_;
  std::atomic<int64_t> last_time_{0};
};

}  // namespace petalite::store
