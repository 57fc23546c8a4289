// What an open database uses memory for, counted by use, and the shares in which it must stay (invariant 7). Counting
// neither waits nor fails: whoever wants memory looks at its share first, and counts what it has.
//
// Where the process has another owner of memory (DuckDB's buffer manager), the budget holds a reservation there for
// what is used, in granules. Settle brings it up to date; it may take long and is called where nobody waits for a
// latch. Where the source refuses, the page cache gives memory back, and while that does not help, memory is tight: the
// cache stays as small as it got, and what writers fill is flushed sooner.
//
// Thread-safe. Sources are asked by one thread at a time.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace petalite::store {

enum class MemoryUse : uint8_t {
  kPages,       // and whatever else the page cache holds
  kFilters,     // key filters, which stay while their rowset does
  kMemRowsets,  // rows that are committed, and not flushed
  kStaged,      // rows of transactions and loads
  kFlushes,     // what flushes take beside the rows
  kMerges,      // what compactions take
};
inline constexpr size_t kMemoryUses = 6;
inline constexpr std::array<const char*, kMemoryUses> kMemoryUseNames = {
    "memory_pages", "memory_filters", "memory_memrowsets", "memory_staged", "memory_flushes", "memory_merges"};

// Parts of a database's memory limit; together with the log's buffers at most that.
struct MemoryShares {
  size_t limit = 0;
  size_t cache = 0;   // pages and filters
  size_t writes = 0;  // memrowsets and staged rows
  size_t jobs = 0;    // flushes and merges
};

// Who hands out the process's memory.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // False: there is none now.
  virtual bool Reserve(size_t bytes) = 0;
  virtual void Release(size_t bytes) = 0;
};

class MemoryBudget {
 public:
  explicit MemoryBudget(const MemoryShares& shares, std::shared_ptr<MemorySource> source = nullptr);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  const MemoryShares& shares() const { return shares_; }
  void Add(MemoryUse use, size_t bytes);
  void Remove(MemoryUse use, size_t bytes);
  size_t used(MemoryUse use) const { return used_[static_cast<size_t>(use)].load(std::memory_order_relaxed); }
  size_t used() const { return total_.load(std::memory_order_relaxed); }
  size_t peak() const { return peak_.load(std::memory_order_relaxed); }

  // Called with the bytes that the cache ought to give back. Before the first Settle.
  void SetShrink(std::function<void(size_t bytes)> shrink) { shrink_ = std::move(shrink); }
  void Settle();
  size_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
  bool is_tight() const { return tight_.load(std::memory_order_relaxed); }

  // Whether one who holds `bytes` of staged rows should write them to a file before its own limit: all together have
  // half of the share for writes, and a few rows make no file.
  bool IsCrowded(size_t bytes) const {
    return used(MemoryUse::kStaged) > shares_.writes / 2 && bytes > shares_.writes / 64;
  }

 private:
  friend class MergeCharge;

  const MemoryShares shares_;
  const std::shared_ptr<MemorySource> source_;
  std::function<void(size_t)> shrink_;
  std::array<std::atomic<size_t>, kMemoryUses> used_{};
  std::atomic<size_t> total_{0};
  std::atomic<size_t> peak_{0};
  std::atomic<size_t> reserved_{0};
  std::atomic<bool> tight_{false};
  std::mutex settle_mutex_;  // guards the next
  std::chrono::steady_clock::time_point ask_again_;
  std::mutex merge_mutex_;
  std::condition_variable merge_ended_;
};

// Bytes counted for one use until it is destroyed.
class MemoryCharge {
 public:
  MemoryCharge(MemoryBudget& budget, MemoryUse use, size_t bytes = 0) : budget_(budget), use_(use) { Set(bytes); }
  MemoryCharge(MemoryCharge&& other) noexcept
      : budget_(other.budget_), use_(other.use_), bytes_(std::exchange(other.bytes_, 0)) {}
  ~MemoryCharge() { Set(0); }

  void Set(size_t bytes) {
    if (bytes > bytes_) budget_.Add(use_, bytes - bytes_);
    if (bytes < bytes_) budget_.Remove(use_, bytes_ - bytes);
    bytes_ = bytes;
  }

 private:
  MemoryBudget& budget_;
  const MemoryUse use_;
  size_t bytes_ = 0;
};

// What a merge takes, counted until it is destroyed. The constructor waits until that fits in half of the jobs' share
// beside the merges that run, or none runs; flushes do not wait for it.
class MergeCharge {
 public:
  MergeCharge(MemoryBudget& budget, size_t bytes);
  ~MergeCharge();
  MergeCharge(const MergeCharge&) = delete;
  MergeCharge& operator=(const MergeCharge&) = delete;

 private:
  MemoryBudget& budget_;
  const size_t bytes_;
};

}  // namespace petalite::store
