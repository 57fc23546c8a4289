#include "store/metrics.h"

#include "store/commit_log.h"
#include "store/maintenance.h"

namespace petalite::store {

std::vector<Metric> ListMetrics(const StoreContext& context) {
  const Metrics& metrics = context.metrics;
  const WalStatistics wal = context.log->wal().statistics();
  std::vector<Metric> list = {
      {"keys_resolved", metrics.keys_resolved, {}},
      {"filter_probes", metrics.filter_probes, {}},
      {"false_positives", metrics.false_positives, {}},
      {"key_pages_read", metrics.key_pages_read, {}},
      {"user_bytes", metrics.user_bytes, {}},
      {"flushed_bytes", metrics.flushed_bytes, {}},
      {"compacted_bytes", metrics.compacted_bytes, {}},
      {"puffin_bytes", metrics.puffin_bytes, {}},
      {"flushes", metrics.flushes, {}},
      {"compactions", metrics.compactions, {}},
      {"throttled_micros", metrics.throttled_micros, {}},
      {"memory_limit", context.memory.shares().limit, {}},
      {"memory_used", context.memory.used(), {}},
      {"memory_peak", context.memory.peak(), {}},
      {"memory_reserved", context.memory.reserved(), {}},
      {"wal_records", wal.records, {}},
      {"wal_bytes", wal.bytes_written, {}},
      {"wal_syncs", wal.syncs, {}},
      {"wal_segments_created", wal.segments_created, {}},
      {"wal_segments_recycled", wal.segments_recycled, {}},
  };
  for (size_t use = 0; use < kMemoryUses; ++use) {
    list.push_back({kMemoryUseNames[use], context.memory.used(static_cast<MemoryUse>(use)), {}});
  }
  const std::string reason = context.maintenance->throttle_reason();
  list.push_back({"throttled", reason.empty() ? uint64_t{0} : 1, reason});
  return list;
}

}  // namespace petalite::store
