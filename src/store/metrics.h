// The counts of a database, its log and its memory as one list.

#pragma once

#include <vector>

#include "petalite/metric.h"
#include "store/store_context.h"

namespace petalite::store {

// Thread-safe; each count is of its own moment.
std::vector<Metric> ListMetrics(const StoreContext& context);

}  // namespace petalite::store
