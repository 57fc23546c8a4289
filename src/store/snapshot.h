// "All commits up to n", held by somebody: it names a number and definitions, never a memrowset, so that holding one
// stops no flush and no writer. Thread-safe.

#pragma once

#include <memory>

#include "store/snapshots.h"
#include "store/table_view.h"
#include "store/version.h"

namespace petalite::store {

class Snapshot {
 public:
  // `commit` is held by the registry on behalf of this.
  Snapshot(Snapshots& registry, uint64_t commit, std::shared_ptr<const Version> version)
      : registry_(registry), commit_(commit), version_(std::move(version)) {}
  ~Snapshot() { registry_.Release(commit_); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  uint64_t commit() const { return commit_; }
  const Version& version() const { return *version_; }
  const std::shared_ptr<const Version>& version_pointer() const { return version_; }
  // The rows of one of the version's tables.
  std::shared_ptr<const TableView> View(std::shared_ptr<const Table> table) const {
    return TableView::Open(std::move(table), commit_);
  }

 private:
  Snapshots& registry_;
  const uint64_t commit_;
  const std::shared_ptr<const Version> version_;
};

}  // namespace petalite::store
