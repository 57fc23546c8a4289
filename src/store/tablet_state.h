// What a tablet consists of at one moment: rowsets and memrowsets. Immutable as a list; memrowsets grow and delete logs
// grow, but whoever reads as of a commit sees neither. Thread-safe.

#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "store/key_bounds.h"
#include "store/mem_rowset.h"
#include "store/rowset.h"

namespace petalite::store {

// Of all commits, pending ones included.
inline constexpr uint64_t kNewestCommit = UINT64_MAX - 1;

// A row of a tablet's state: sources are its memrowsets, then its rowsets, in the state's order.
struct RowLocation {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t source = kNone;
  uint32_t row = 0;  // its number in the memrowset, its position in the rowset

  bool found() const { return source != kNone; }
};
struct RowPosition {
  uint32_t tablet = 0;
  RowLocation location;
};

class TabletState {
 public:
  // Rowsets whose key ranges lie behind one another: a key is in one of them at most.
  struct Run {
    std::vector<uint32_t> rowsets;  // positions in rowsets(), by rising keys
    KeyBounds min_keys, max_keys;

    // The one of `rowsets` whose range holds the key, whose prefix is given; SIZE_MAX if none does.
    size_t Find(std::string_view key, uint64_t prefix) const {
      const size_t begun = min_keys.CountUpTo(key, prefix);
      return begun != 0 && max_keys.IsUpTo(begun - 1, key, prefix) ? begun - 1 : SIZE_MAX;
    }
  };

  TabletState(std::vector<std::shared_ptr<Rowset>> rowsets, std::vector<std::shared_ptr<MemRowset>> mem_rowsets);

  // In their order (RowsetInfo).
  const std::vector<std::shared_ptr<Rowset>>& rowsets() const { return rowsets_; }
  // Oldest first; only the last one grows.
  const std::vector<std::shared_ptr<MemRowset>>& mem_rowsets() const { return mem_rowsets_; }
  // All rowsets of a keyed table, in as few runs as can be: so many rowsets does a key have to consult.
  const std::vector<Run>& runs() const;

 private:
  std::vector<std::shared_ptr<Rowset>> rowsets_;
  std::vector<std::shared_ptr<MemRowset>> mem_rowsets_;
  mutable std::once_flag runs_made_;
  mutable std::vector<Run> runs_;
};

}  // namespace petalite::store
