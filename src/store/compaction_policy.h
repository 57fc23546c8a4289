// Which rowsets of a tablet to merge next. The policy sees sizes, key ranges and counts, and nothing else.
//
// It keeps down, in this order: the number of rowsets that a random key must consult (each asks for a filter's probe
// and, where the filter errs, a page), the dead rows and the small files that scans pay for. Merging costs a rewriting
// of what is merged, so the policy waits until a limit is passed and then merges what brings the most for its bytes.
// Applied to its own results it comes to an end. Each call stands alone: it keeps no state.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace petalite::store {

struct CompactionCandidate {
  uint64_t id = 0;
  std::string min_key, max_key;  // encoded; empty in all rowsets of an unkeyed table
  uint64_t bytes = 0;
  uint64_t rows = 0;
  uint64_t dead_rows = 0;  // those that a rewriting would drop
  bool busy = false;       // input of a running job: counts as it stands, and is not chosen
};

struct CompactionPolicyOptions {
  // At rest a random key of any rowset need not consult more rowsets than this on average. At least 1.
  size_t max_depth = 6;
  // Of the inputs of one run. A pair, where nothing less brings the depth down, and a rowset of dead rows may exceed
  // it. Merges that would are done in slices of the key space, which rewrites more in the end. Equal flushes to a
  // tablet of four to five times the budget are rewritten 1.4 to 1.7 times as much as without one; at fifteen times the
  // budget it is about three times as much.
  uint64_t budget_bytes = uint64_t{16} << 30;
  // Below this, rowsets are merged with their neighbours once there are many. Half of rowset_bytes is the
  // most that counts.
  uint64_t small_bytes = uint64_t{32} << 20;
  // A rowset of which more than this part would be dropped is rewritten.
  double dead_ratio = 0.3;
  size_t max_inputs = 255;  // of one run; at least 2
  // Of one run, with the same exceptions as for bytes.
  uint64_t max_rows = UINT64_MAX;
  // An output that would exceed this is split by key into disjoint rowsets of about the same size.
  uint64_t rowset_bytes = uint64_t{1} << 30;
};

struct CompactionChoice {
  std::vector<size_t> inputs;  // positions in the candidates, ascending
  std::string reason;          // for people
};

// The mean number of rowsets whose key range holds a key that is drawn from all rows; 1 if they are disjoint, 0 if
// there are none or the table has no key. Rows are taken to be spread evenly over their rowset's key range, keys
// compared by the eight bytes after the prefix that all bounds share.
double RowsetsToConsult(std::span<const CompactionCandidate> candidates);

// What to merge next, if anything is worth it.
std::optional<CompactionChoice> ChooseCompaction(std::span<const CompactionCandidate> candidates,
                                                 const CompactionPolicyOptions& options);

}  // namespace petalite::store
