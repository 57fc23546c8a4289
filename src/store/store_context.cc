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

std::vector<std::string> RetiredRowsets::Paths() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& rowset : rowsets_) paths.push_back(rowset->path());
  return paths;
}

}  // namespace petalite::store
