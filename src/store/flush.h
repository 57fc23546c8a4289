// Flush: the rows of a memrowset, sorted by key, become a rowset.

#pragma once

#include <memory>
#include <vector>

#include "store/rowset_writer.h"
#include "store/tablet.h"

namespace petalite::store {

// Flushes all that the tablet has in memory. Writers go on meanwhile; their rows go to another memrowset, and deaths
// among those being written are carried over when the rowset takes their place. Thread-safe; waits for another flush of
// the tablet. Errors leave the memrowset where it is.
Status FlushTablet(Tablet& tablet, const Table& table);

// The order in which rows of a memrowset stand in a rowset: by key, of one key the newest first; unkeyed as they came.
// Without rows that died at or before `horizon`, if keyed.
std::vector<uint32_t> SortedRows(const MemRowset& mem, uint64_t horizon);

// Writes the given rows of a memrowset; `writer` is for its schema. With the rows' commits if the writer wants them.
Status WriteRows(const MemRowset& mem, std::span<const uint32_t> rows, bool with_commits, RowsetWriter* writer);

}  // namespace petalite::store
