// The store's errors as DuckDB's exceptions.

#pragma once

#include <utility>

#include "base/status.h"

namespace petalite::sql {

// Throws the DuckDB exception that fits, with the status' message.
[[noreturn]] void Throw(const Status& status);

inline void ThrowIfError(const Status& status) {
  if (!status.ok()) Throw(status);
}

template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) Throw(result.status());
  return *std::move(result);
}

}  // namespace petalite::sql
