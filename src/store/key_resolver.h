// Finds the rows that have given keys in a tablet: memrowsets by their index, rowsets by key range, key filter, key
// index and key page. Keys come encoded, each with its hash (XXH64 over the encoding), which serves every structure.
// Sources of the road: DESIGN.md, "Write path" (2) to (4).

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/store_context.h"
#include "store/tablet_state.h"

namespace petalite::store {

class KeyResolver {
 public:
  // `commit`: as of which to look; kNewestCommit only under the tablet's latch. The state must outlive the resolver.
  KeyResolver(StoreContext& context, const TabletState& state, uint64_t commit)
      : context_(context), state_(state), commit_(commit) {}

  // Where each key's live row is; no row if there is none.
  Status Find(std::span<const std::string_view> keys, std::span<const uint64_t> hashes,
              std::span<RowLocation> locations) const;

  // The first of the keys, in their order, that a commit after `snapshot` has touched: a row with it was born or died.
  Result<std::optional<size_t>> FirstTouchedSince(uint64_t snapshot, std::span<const std::string_view> keys,
                                                  std::span<const uint64_t> hashes) const;

  // Calls found(number, position) for every row of a rowset, dead or alive, that has one of the keys; it says whether
  // to go on.
  using Found = std::function<bool(uint32_t number, uint32_t position)>;
  Status VisitRows(const Rowset& rowset, std::span<const std::string_view> keys, std::span<const uint64_t> hashes,
                   const Found& found) const;

 private:
  // Keys of a batch by number.
  using Numbers = std::vector<uint32_t>;

  // Whether the rowset has any of the keys.
  Result<bool> SearchRowset(uint32_t source, std::span<const std::string_view> keys, std::span<const uint64_t> hashes,
                            const Numbers& wanted, std::span<RowLocation> locations) const;
  Result<Numbers> PassFilter(const Rowset& rowset, std::span<const uint64_t> hashes, const Numbers& wanted) const;
  Status SearchPages(const Rowset& rowset, std::span<const std::string_view> keys, const Numbers& maybe,
                     const Found& found) const;

  StoreContext& context_;
  const TabletState& state_;
  const uint64_t commit_;
};

// The same for a transaction: keys that are not in its own state are looked for in the committed one, as of `commit`,
// where is_dead(location) says which rows are dead to the transaction. Locations are those of `both`, which has the
// parts of both states.
Status FindInBoth(StoreContext& context, const TabletState& own, const TabletState& committed, const TabletState& both,
                  uint64_t commit, std::span<const std::string_view> keys, std::span<const uint64_t> hashes,
                  const std::function<bool(const RowLocation&)>& is_dead, std::span<RowLocation> locations);

}  // namespace petalite::store
