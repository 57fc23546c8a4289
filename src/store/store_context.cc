#include "store/store_context.h"

#include <utility>

#include "store/rowset.h"

namespace petalite::store {

void RetiredRowsets::Add(const std::vector<std::shared_ptr<Rowset>>& rowsets) {
  const std::lock_guard lock(mutex_);
  rowsets_.insert(rowsets_.end(), rowsets.begin(), rowsets.end());
}

std::vector<std::shared_ptr<Rowset>> RetiredRowsets::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(rowsets_, {});
}

}  // namespace petalite::store
