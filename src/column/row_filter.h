// Which rows satisfy a predicate: the exact counterpart of MayMatch.

#pragma once

#include <cstdint>
#include <vector>

#include "column/predicate.h"
#include "petalite/column_view.h"

namespace petalite {

// Removes from `rows`, ascending row numbers of `view`, those that do not satisfy the predicate. Its constants fit
// `type` (Value::Fits) and are not null; of an interval only nulls can be asked for.
void KeepMatching(const Predicate& predicate, const Type& type, const ColumnView& view, std::vector<uint32_t>* rows);

// Whether KeepMatching can say it: as many constants and children as its kinds need, constants that fit.
Status CheckPredicate(const Predicate& predicate, const Type& type);

}  // namespace petalite
