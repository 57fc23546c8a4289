// A commit, from the changes that were decided to their being visible: the one road for batches and transactions.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "store/records.h"
#include "store/store_context.h"
#include "store/table_writer.h"

namespace petalite::store {

// What becomes visible together.
struct CommitSet {
  struct Adopted {  // a rowset that a bulk load wrote, complete and synced
    std::shared_ptr<const Table> table;
    std::shared_ptr<Rowset> rowset;
  };

  std::optional<uint64_t> snapshot;  // what it was decided on; none: nothing older than the newest state
  std::vector<TableWriter*> writers;
  std::vector<Adopted> adopted;
  std::vector<CatalogChange> changes;  // from `before` to `after`; the caller lets no others happen meanwhile
  std::shared_ptr<const Version> before, after;
  std::function<void(uint64_t commit)> publish;  // of `after`; called when the commit becomes visible

  bool logged = false;  // out: the log may have it, whatever the result
};

// Takes the latches, resolves, logs, applies, waits until it is durable and visible; the commit's number, or 0 if there
// was nothing to change. Errors of resolving have changed nothing. After one of the log the database takes no more
// writes until it is opened again.
Result<uint64_t> CommitChanges(StoreContext& context, CommitSet& set);

}  // namespace petalite::store
