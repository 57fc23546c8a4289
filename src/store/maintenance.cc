#include "store/maintenance.h"

#include <algorithm>
#include <chrono>

#include <malloc.h>

#include "base/log.h"
#include "base/thread_name.h"
#include "store/compaction.h"
#include "store/database.h"
#include "store/flush.h"
#include "store/rowset_merge.h"
#include "store/snapshots.h"

namespace petalite::store {
namespace {

// After a failure the next attempt waits so long: a full disk does not empty itself faster.
constexpr auto kRetryAfter = std::chrono::seconds(1);

constexpr uint64_t kLongLog = uint64_t{256} << 20;

}  // namespace

Maintenance::Maintenance(Database& database) : database_(database) {}

Maintenance::~Maintenance() { Stop(); }

void Maintenance::Start() {
  const std::lock_guard lock(mutex_);
  running_ = true;
  compaction_wanted_ = true;
  flush_thread_ = std::thread([this] { RunFlushes(); });
  compaction_thread_ = std::thread([this] { RunCompactions(); });
}

void Maintenance::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!running_) return;
    stopping_ = true;
  }
  work_.notify_all();
  flush_thread_.join();
  compaction_thread_.join();
  const std::lock_guard lock(mutex_);
  running_ = false;
  done_.notify_all();
}

// A log that grows while memory does not, because rows only die or are written one by one, is cut too.
bool Maintenance::IsLogLong() const {
  const StoreContext& context = database_.context();
  const uint64_t limit = std::max<uint64_t>(uint64_t{2} * database_.options().write_bytes, kLongLog);
  return context.log->wal().end() - context.replay_lsn.load(std::memory_order_relaxed) > limit;
}

// What memrowsets may take. Staged rows have the other half of the share at most, but no flush makes them fewer, so
// that nobody may wait for that. A quarter where the process is short of memory.
size_t Maintenance::Room() const {
  const MemoryBudget& memory = database_.context().memory;
  const size_t writes = memory.shares().writes;
  const size_t room = writes - std::min(memory.used(MemoryUse::kStaged), writes / 2);
  return memory.is_tight() ? room / 4 : room;
}

// Half of the room is for the rows that come while the other half is flushed.
bool Maintenance::IsTimeToFlush() const {
  return IsLogLong() || database_.context().memory.used(MemoryUse::kMemRowsets) >= Room() / 2;
}

bool Maintenance::IsFull() const { return database_.context().memory.used(MemoryUse::kMemRowsets) >= Room(); }

void Maintenance::NoteWrite() {
  if (!IsTimeToFlush()) return;
  work_.notify_all();
}

void Maintenance::RequestCheckpoint() {
  const std::lock_guard lock(mutex_);
  checkpoint_wanted_ = true;
  work_.notify_all();
}

Status Maintenance::WaitForRoom() {
  RETURN_IF_ERROR(database_.context().log->wal().WaitForRoom());
  database_.context().memory.Settle();
  if (!IsFull()) return Status::Ok();
  std::unique_lock lock(mutex_);
  if (!running_) {
    lock.unlock();
    RETURN_IF_ERROR(FlushLargest());
    return database_.Checkpoint();
  }
  const auto begin = std::chrono::steady_clock::now();
  throttle_reason_ = "memory is full: waiting for a flush";
  work_.notify_all();
  done_.wait(lock, [this] { return !IsFull() || stopping_ || !flush_error_.ok(); });
  throttle_reason_.clear();
  const auto waited = std::chrono::steady_clock::now() - begin;
  database_.context().metrics.throttled_micros.fetch_add(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(waited).count()),
      std::memory_order_relaxed);
  return IsFull() && !flush_error_.ok() ? flush_error_.WithContext("memory is full, and flushing it fails")
                                        : Status::Ok();
}

std::string Maintenance::throttle_reason() const {
  const std::lock_guard lock(mutex_);
  return throttle_reason_;
}

Status Maintenance::FlushLargest() {
  std::shared_ptr<const Table> largest_table;
  Tablet* largest = nullptr;
  size_t most = 0;
  for (const auto& [_, table] : database_.ReadableTables()) {
    for (const auto& tablet : table->tablets()) {
      size_t bytes = 0;
      for (const auto& mem : std::vector(tablet->state()->mem_rowsets()))
        bytes += mem->rows() == 0 ? 0 : mem->memory_bytes();
      if (bytes <= most) continue;
      most = bytes;
      largest = tablet.get();
      largest_table = table;
    }
  }
  return largest == nullptr ? Status::Ok() : FlushTablet(*largest, *largest_table);
}

void Maintenance::RunFlushes() {
  NameThread("petalite-flush");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!IsTimeToFlush() && !checkpoint_wanted_) {
      // Memory may have become free by others: by a flush that somebody asked for, or with a table that was dropped.
      done_.notify_all();
      database_.context().memory.Settle();
      // A writer that fills the memory tells without the lock, so the wait ends by itself too.
      work_.wait_for(lock, std::chrono::milliseconds(50));
      continue;
    }
    flushing_ = true;
    checkpoint_wanted_ = false;
    lock.unlock();
    Status status;
    if (IsLogLong()) {
      status = database_.Flush();
    } else if (IsTimeToFlush()) {
      status = FlushLargest();
    }
    if (status.ok()) {
      // The memrowset's blocks are many and small, and the allocator would keep them.
      malloc_trim(0);
      // Writers need not wait for the catalog too.
      lock.lock();
      flush_error_ = Status::Ok();
      done_.notify_all();
      lock.unlock();
      status = database_.Checkpoint();
    }
    lock.lock();
    flushing_ = false;
    flush_error_ = status;
    compaction_wanted_ = true;
    work_.notify_all();
    done_.notify_all();
    if (status.ok()) continue;
    Log(LogLevel::kWarn, "{}: a flush failed: {}", database_.path(), status.message());
    work_.wait_for(lock, kRetryAfter, [this] { return stopping_; });
  }
}

void Maintenance::RunCompactions() {
  NameThread("petalite-merge");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    work_.wait(lock, [this] { return compaction_wanted_ || stopping_; });
    if (stopping_) return;
    compaction_wanted_ = false;
    compacting_ = true;
    lock.unlock();
    bool any = false;
    Status status = CompactAll(&any);
    if (status.ok() && any) {
      malloc_trim(0);
      status = database_.Checkpoint();
    }
    lock.lock();
    compacting_ = false;
    compaction_error_ = status;
    done_.notify_all();
    if (status.ok()) continue;
    Log(LogLevel::kWarn, "{}: a compaction failed: {}", database_.path(), status.message());
    work_.wait_for(lock, kRetryAfter, [this] { return stopping_; });
  }
}

Status Maintenance::CompactAll(bool* any) {
  for (const auto& [_, table] : database_.Current()->TablesById()) {
    for (const auto& tablet : table->tablets()) {
      for (;;) {
        {
          const std::lock_guard lock(mutex_);
          if (stopping_) return Status::Ok();
        }
        ASSIGN_OR_RETURN(const bool more, CompactOnce(*tablet, *table));
        if (!more) break;
        *any = true;
      }
    }
  }
  return Status::Ok();
}

Result<bool> Maintenance::CompactOnce(Tablet& tablet, const Table& table) {
  const auto state = tablet.state();
  const HorizonHold hold(*database_.context().snapshots);
  const bool mixed = database_.OldestDefinition(table.id()) == table.schema();
  const auto candidates = CandidatesOf(*state, table.schema(), mixed, hold.commit());
  CompactionPolicyOptions options;
  options.rowset_bytes = table.options().rowset_bytes();
  RowsetMerge::LimitTo(database_.context().memory.shares().jobs / 2, table, &options);
  const auto choice = ChooseCompaction(candidates, options);
  if (!choice.has_value()) return false;
  std::vector<std::shared_ptr<Rowset>> inputs;
  for (const size_t input : choice->inputs) inputs.push_back(state->rowsets()[input]);
  Log(LogLevel::kInfo, "table '{}': compacting {} rowsets: {}", table.name().ToString(), inputs.size(), choice->reason);
  const auto begin = std::chrono::steady_clock::now();
  const Status compacted = CompactRowsets(tablet, table, inputs);
  // Somebody else was faster: there may be something else to do.
  if (compacted.code() == StatusCode::kBusy) return true;
  RETURN_IF_ERROR(compacted);
  Log(LogLevel::kInfo, "table '{}': compacted in {:.1f} s", table.name().ToString(),
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return true;
}

Status Maintenance::WaitUntilIdle() {
  std::unique_lock lock(mutex_);
  if (!running_) return Status::Ok();
  done_.wait(lock, [this] {
    const bool busy = flushing_ || compacting_ || compaction_wanted_ || checkpoint_wanted_ || IsTimeToFlush();
    // While a job runs, the error is that of the one before.
    const bool failed = (!flushing_ && !flush_error_.ok()) || (!compacting_ && !compaction_error_.ok());
    return stopping_ || failed || !busy;
  });
  return flush_error_.ok() ? compaction_error_ : flush_error_;
}

}  // namespace petalite::store
