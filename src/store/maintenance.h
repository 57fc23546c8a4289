// What goes on behind the writers' backs: flushes when memory fills, compactions when keys have to consult too many
// rowsets, checkpoints; and what holds writers back while it cannot keep up. Thread-safe.

#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/status.h"

namespace petalite::store {

class Database;
class Table;
class Tablet;

class Maintenance {
 public:
  explicit Maintenance(Database& database);
  ~Maintenance();

  void Start();
  void Stop();

  // For writers, before they take a latch: waits while memory is full. An error if flushes fail. Without threads it
  // flushes itself.
  Status WaitForRoom();
  // After a write: is it time to flush?
  void NoteWrite();
  void RequestCheckpoint();
  // One run of what the policy wants most; false if it wants nothing.
  Result<bool> CompactOnce(Tablet& tablet, const Table& table);
  // Waits until nothing is left to flush for want of memory, or to compact. An error if a job failed.
  Status WaitUntilIdle();
  // Why writers wait; empty if they do not.
  std::string throttle_reason() const;

 private:
  void RunFlushes();
  void RunCompactions();
  Status FlushLargest();
  Status CompactAll(bool* any);
  bool IsTimeToFlush() const;
  bool IsLogLong() const;
  bool IsFull() const;
  size_t Room() const;

  Database& database_;
  mutable std::mutex mutex_;
  std::condition_variable work_;  // for the threads
  std::condition_variable done_;  // for those who wait for them
  bool running_ = false;
  bool stopping_ = false;
  bool checkpoint_wanted_ = false;
  bool compaction_wanted_ = false;
  bool flushing_ = false;
  bool compacting_ = false;
  Status flush_error_;  // of the last flush
  Status compaction_error_;
  std::string throttle_reason_;
  std::thread flush_thread_;
  std::thread compaction_thread_;
};

}  // namespace petalite::store
