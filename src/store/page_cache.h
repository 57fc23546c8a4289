// What was decoded from rowset files, kept while there is room: pages, dictionaries, page indexes, filters. Shared by
// scans and lookups; thread-safe.
//
// Eviction is segmented LRU: a first use puts an object on probation, a second one protects it; so one pass over a
// large table does not push out what is used again and again. What a scan holds right now stays alive through its
// shared_ptr, cached or not. Its room is the budget's share for it, less what filters take.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/status.h"
#include "store/memory_budget.h"

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
  explicit PageCache(MemoryBudget& budget);
  ~PageCache();

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
  // Takes room for a filter that stays in memory elsewhere, as long as an eighth is left; false: there is none for it.
  // Unpin gives it back.
  bool Pin(size_t bytes);
  void Unpin(size_t bytes) { budget_.Remove(MemoryUse::kFilters, bytes); }
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
  // Evicts what was not used for longest until the shard holds no more than `bytes`.
  void ShrinkTo(size_t bytes, Shard& shard, Entries* evicted);
  // The same for all shards, until so many bytes are free.
  void GiveBack(size_t bytes);
  Shard& ShardOf(const CacheKey& key);

  size_t shard_budget() const {
    const size_t filters = budget_.used(MemoryUse::kFilters);
    return (budget_.shares().cache - std::min(filters, budget_.shares().cache)) / kShards;
  }

  MemoryBudget& budget_;
  std::array<Shard, kShards> shards_;
};

}  // namespace petalite::store
