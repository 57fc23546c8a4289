#include "store/files_in_use.h"

#include <utility>

namespace petalite::store {

FilesInUse::Use::Use(FilesInUse& files, std::string path) : files_(files), path_(std::move(path)) {
  const std::lock_guard lock(files_.mutex_);
  ++files_.uses_[path_];
}

FilesInUse::Use::~Use() {
  const std::lock_guard lock(files_.mutex_);
  const auto found = files_.uses_.find(path_);
  if (--found->second == 0) files_.uses_.erase(found);
}

bool FilesInUse::Contains(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return uses_.contains(path);
}

}  // namespace petalite::store
