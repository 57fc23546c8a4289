// Compaction: rowsets of a tablet are merged into others that take their place.

#pragma once

#include <memory>
#include <vector>

#include "store/compaction_policy.h"
#include "store/tablet.h"

namespace petalite::store {

// What the policy may see of a tablet's rowsets. `mixed`: rowsets of different schemas may be merged, because nobody
// reads an older version of the table any more; else those of the table's own schema alone are up for it.
std::vector<CompactionCandidate> CandidatesOf(const TabletState& state, const Schema& schema, bool mixed,
                                              uint64_t horizon);

// Merges the given rowsets of the tablet's state. Readers and writers go on meanwhile; deaths that come are carried
// over when the outputs take the inputs' place. The inputs have one schema, unless nobody reads an older version of the
// table any more: outputs of several have the table's, and lose what other columns had. Thread-safe; waits for another
// compaction of the tablet. kBusy if one of the inputs is gone by then. Errors leave everything as it was.
Status CompactRowsets(Tablet& tablet, const Table& table, const std::vector<std::shared_ptr<Rowset>>& inputs);

}  // namespace petalite::store
