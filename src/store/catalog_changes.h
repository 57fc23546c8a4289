// The difference between two versions as a list of changes, for the log.

#pragma once

#include <functional>
#include <vector>

#include "store/records.h"
#include "store/version.h"

namespace petalite::store {

// Null if there is none.
const View* FindView(const Version& version, const TableName& name);

std::vector<CatalogChange> DifferenceBetween(const Version& before, const Version& after);

// Makes the tablets of a table that is new.
using MakeTablets = std::function<std::vector<std::shared_ptr<Tablet>>(TableId, uint32_t count)>;

// Carries changes out on `version`. An error where they do not fit it.
Status ApplyChanges(const std::vector<CatalogChange>& changes, const MakeTablets& make_tablets, Version* version);

}  // namespace petalite::store
