#include "store/page_cache.h"

#include <algorithm>

#include "base/hash.h"

namespace petalite::store {
namespace {

// A null answer costs its entry.
constexpr size_t kEntryOverhead = 128;
// How much of a shard's budget protected entries may take.
constexpr size_t ProtectedBudget(size_t budget) { return budget / 5 * 4; }

}  // namespace

size_t PageCache::KeyHash::operator()(const CacheKey& key) const {
  const uint64_t place = uint64_t{key.row_group} << 32 | uint64_t{key.column} << 16 | uint64_t{key.page} << 3;
  return Remix(Remix(key.rowset) ^ place ^ static_cast<uint64_t>(key.kind));
}

PageCache::PageCache(size_t budget_bytes) : budget_(budget_bytes) {}

PageCache::Shard& PageCache::ShardOf(const CacheKey& key) { return shards_[KeyHash()(key) >> 60]; }

bool PageCache::Pin(size_t bytes) {
  const size_t before = pinned_.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= budget_ / 2) return true;
  pinned_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

bool PageCache::Contains(const CacheKey& key) {
  Shard& shard = ShardOf(key);
  const std::lock_guard lock(shard.mutex);
  return shard.index.contains(key);
}

bool PageCache::Lookup(const CacheKey& key, std::shared_ptr<const void>* object) {
  Shard& shard = ShardOf(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.index.find(key);
  if (found == shard.index.end()) {
    ++shard.misses;
    return false;
  }
  ++shard.hits;
  const Entries::iterator entry = found->second;
  if (entry->is_protected) {
    shard.protect.splice(shard.protect.begin(), shard.protect, entry);
  } else {
    shard.protect.splice(shard.protect.begin(), shard.probation, entry);
    entry->is_protected = true;
    shard.probation_bytes -= entry->bytes;
    shard.protected_bytes += entry->bytes;
    // What no longer fits among the protected is on probation again, most recent first.
    while (shard.protected_bytes > ProtectedBudget(shard_budget())) {
      const Entries::iterator last = std::prev(shard.protect.end());
      last->is_protected = false;
      shard.protected_bytes -= last->bytes;
      shard.probation_bytes += last->bytes;
      shard.probation.splice(shard.probation.begin(), shard.protect, last);
    }
  }
  *object = entry->object;
  return true;
}

void PageCache::Insert(const CacheKey& key, std::shared_ptr<const void> object, size_t bytes) {
  bytes += kEntryOverhead;
  if (bytes > shard_budget()) return;
  Shard& shard = ShardOf(key);
  Entries evicted;  // destroyed after the lock is released
  const std::lock_guard lock(shard.mutex);
  if (shard.index.contains(key)) return;  // another thread was faster
  shard.probation.push_front({key, std::move(object), bytes, false});
  shard.index.emplace(key, shard.probation.begin());
  shard.probation_bytes += bytes;
  Shrink(shard, &evicted);
}

void PageCache::Shrink(Shard& shard, Entries* evicted) {
  while (shard.probation_bytes + shard.protected_bytes > shard_budget()) {
    Entries& from = shard.probation.empty() ? shard.protect : shard.probation;
    const Entries::iterator last = std::prev(from.end());
    (last->is_protected ? shard.protected_bytes : shard.probation_bytes) -= last->bytes;
    shard.index.erase(last->key);
    ++shard.evictions;
    evicted->splice(evicted->end(), from, last);
  }
}

void PageCache::Forget(uint64_t rowset) {
  for (Shard& shard : shards_) {
    Entries dropped;
    const std::lock_guard lock(shard.mutex);
    for (Entries* entries : {&shard.probation, &shard.protect}) {
      for (auto entry = entries->begin(); entry != entries->end();) {
        const auto next = std::next(entry);
        if (entry->key.rowset == rowset) {
          (entry->is_protected ? shard.protected_bytes : shard.probation_bytes) -= entry->bytes;
          shard.index.erase(entry->key);
          dropped.splice(dropped.end(), *entries, entry);
        }
        entry = next;
      }
    }
  }
}

CacheStatistics PageCache::statistics() const {
  CacheStatistics sum;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    sum.hits += shard.hits;
    sum.misses += shard.misses;
    sum.evictions += shard.evictions;
    sum.bytes += shard.probation_bytes + shard.protected_bytes;
    sum.objects += shard.index.size();
  }
  sum.budget = budget_;
  return sum;
}

}  // namespace petalite::store
