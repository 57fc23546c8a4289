// What was decoded from rowset files, kept while there is room: pages, dictionaries, page indexes, filters. Shared by
// scans and lookups; thread-safe.
//
// Eviction is segmented LRU: a first use puts an object on probation, a second one protects it; so one pass over a
// large table does not push out what is used again and again. What a scan holds right now stays alive through its
// shared_ptr, cached or not.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/status.h"

namespace petalite::store {

enum class CachedKind : uint8_t { kPage, kDictionary, kChunkPages, kFilter, kKeyFilter, kKeyIndex, kKeys };

struct CacheKey {
  uint64_t rowset = 0;  // process-wide number of the open rowset, not its id in the catalog
  uint32_t row_group = 0;
  uint16_t column = 0;
  CachedKind kind = CachedKind::kPage;
  uint32_t page = 0;

  bool operator==(const CacheKey&) const = default;
};

struct CacheStatistics {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t evictions = 0;
  uint64_t bytes = 0;
  uint64_t objects = 0;
  uint64_t budget = 0;
};

class PageCache {
 public:
  explicit PageCache(size_t budget_bytes);

  // The cached object, or what `load` makes, which is cached if it fits. T has memory_bytes(). A null pointer from
  // `load` is an answer too ("no such filter") and is cached. Two threads that miss at once may both load.
  template <typename T, typename Load>
  Result<std::shared_ptr<const T>> GetOrLoad(const CacheKey& key, Load&& load) {
    std::shared_ptr<const void> found;
    if (Lookup(key, &found)) return std::static_pointer_cast<const T>(std::move(found));
    auto loaded = load();
    if (!loaded.ok()) return loaded.status();
    std::shared_ptr<const T> object = *std::move(loaded);
    Insert(key, object, object == nullptr ? 0 : object->memory_bytes());
    return object;
  }

  // Whether GetOrLoad would find it; changes nothing.
  bool Contains(const CacheKey& key);
  // Takes bytes off the budget for something that stays in memory elsewhere, as long as half of the budget is left;
  // false: there is no room for it. Unpin gives them back.
  bool Pin(size_t bytes);
  void Unpin(size_t bytes) { pinned_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t pinned() const { return pinned_.load(std::memory_order_relaxed); }
  // Drops everything of a rowset that is gone.
  void Forget(uint64_t rowset);
  CacheStatistics statistics() const;

 private:
  struct Entry {
    CacheKey key;
    std::shared_ptr<const void> object;
    size_t bytes;
    bool is_protected;
  };
  using Entries = std::list<Entry>;
  struct KeyHash {
    size_t operator()(const CacheKey& key) const;
  };
  // Each shard has its own lock and an equal part of the budget.
  struct Shard {
    mutable std::mutex mutex;
    boost::unordered_flat_map<CacheKey, Entries::iterator, KeyHash> index;
    Entries probation;  // most recently used first
    Entries protect;
    size_t probation_bytes = 0;
    size_t protected_bytes = 0;
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t evictions = 0;
  };
  static constexpr size_t kShards = 16;

  bool Lookup(const CacheKey& key, std::shared_ptr<const void>* object);
  void Insert(const CacheKey& key, std::shared_ptr<const void> object, size_t bytes);
  void Shrink(Shard& shard, Entries* evicted);
  Shard& ShardOf(const CacheKey& key);

  size_t shard_budget() const { return (budget_ - pinned()) / kShards; }

  const size_t budget_;
  std::atomic<size_t> pinned_{0};
  std::array<Shard, kShards> shards_;
};

}  // namespace petalite::store
