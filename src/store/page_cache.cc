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

PageCache::PageCache(MemoryBudget& budget) : budget_(budget) {
  budget_.SetShrink([this](size_t bytes) { GiveBack(bytes); });
}

PageCache::~PageCache() { budget_.Remove(MemoryUse::kPages, statistics().bytes); }

PageCache::Shard& PageCache::ShardOf(const CacheKey& key) { return shards_[KeyHash()(key) >> 60]; }

bool PageCache::Pin(size_t bytes) {
  const size_t room = budget_.shares().cache / 8 * 7;
  const size_t filters = budget_.used(MemoryUse::kFilters);
  if (bytes > room || filters > room - bytes) return false;
  budget_.Add(MemoryUse::kFilters, bytes);  // two threads at once may pass the mark by a filter
  // Pages make room now: the next one that is cached may be long in coming.
  for (Shard& shard : shards_) {
    Entries evicted;
    const std::lock_guard lock(shard.mutex);
    ShrinkTo(shard_budget(), shard, &evicted);
  }
  return true;
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
  const size_t room = shard_budget();
  if (bytes > room) return;
  {
    Shard& shard = ShardOf(key);
    Entries evicted;  // destroyed after the lock is released
    const std::lock_guard lock(shard.mutex);
    if (shard.index.contains(key)) return;  // another thread was faster
    ShrinkTo(room - bytes, shard, &evicted);
    shard.probation.push_front({key, std::move(object), bytes, false});
    shard.index.emplace(key, shard.probation.begin());
    shard.probation_bytes += bytes;
    budget_.Add(MemoryUse::kPages, bytes);
  }
  budget_.Settle();
}

void PageCache::ShrinkTo(size_t bytes, Shard& shard, Entries* evicted) {
  while (shard.probation_bytes + shard.protected_bytes > bytes) {
    Entries& from = shard.probation.empty() ? shard.protect : shard.probation;
    const Entries::iterator last = std::prev(from.end());
    (last->is_protected ? shard.protected_bytes : shard.probation_bytes) -= last->bytes;
    budget_.Remove(MemoryUse::kPages, last->bytes);
    shard.index.erase(last->key);
    ++shard.evictions;
    evicted->splice(evicted->end(), from, last);
  }
}

void PageCache::GiveBack(size_t bytes) {
  for (Shard& shard : shards_) {
    Entries evicted;
    const std::lock_guard lock(shard.mutex);
    const size_t held = shard.probation_bytes + shard.protected_bytes;
    ShrinkTo(held - std::min(held, (bytes + kShards - 1) / kShards), shard, &evicted);
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
          budget_.Remove(MemoryUse::kPages, entry->bytes);
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
  sum.budget = budget_.shares().cache;
  return sum;
}

}  // namespace petalite::store
