// Carries what one transaction changed of the definitions over to what others have made of them since.

#pragma once

#include <memory>

#include "base/status.h"
#include "store/version.h"

namespace petalite::store {

// `current` with the difference between `base` and `mine`. kBusy, naming it, where both changed one definition.
Result<std::shared_ptr<Version>> RebaseVersion(const Version& base, const Version& mine, const Version& current);

}  // namespace petalite::store
