// What the core makes of Status and Result (petalite/status.h): one function for each kind of error, CHECK, and the
// macros that hand errors on.

#pragma once

#include <utility>

#include <fmt/core.h>

#include "petalite/status.h"

namespace petalite {

#define PETALITE_DEFINE_ERROR(name)                                                       \
  template <typename... Args>                                                             \
  Status name(fmt::format_string<Args...> format, Args&&... args) {                       \
    return Status(StatusCode::k##name, fmt::format(format, std::forward<Args>(args)...)); \
  }
PETALITE_DEFINE_ERROR(InvalidArgument)
PETALITE_DEFINE_ERROR(NotFound)
PETALITE_DEFINE_ERROR(AlreadyExists)
PETALITE_DEFINE_ERROR(Corruption)
PETALITE_DEFINE_ERROR(IoError)
PETALITE_DEFINE_ERROR(Unsupported)
PETALITE_DEFINE_ERROR(Busy)
PETALITE_DEFINE_ERROR(Interrupted)
PETALITE_DEFINE_ERROR(ReadOnly)
#undef PETALITE_DEFINE_ERROR

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

#define CHECK(condition)                                       \
  do {                                                         \
    if (!(condition)) [[unlikely]]                             \
      ::petalite::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition) \
  do {                    \
  } while (false && (condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif

#define PETALITE_CONCAT_(a, b) a##b
#define PETALITE_CONCAT(a, b) PETALITE_CONCAT_(a, b)

// Returns from the enclosing function when `expression`, a Status, is an error.
#define RETURN_IF_ERROR(expression)                                            \
  do {                                                                         \
    if (::petalite::Status status_ = (expression); !status_.ok()) [[unlikely]] \
      return status_;                                                          \
  } while (false)

// `ASSIGN_OR_RETURN(auto x, F())`: declares or assigns x from a Result, or returns its error.
#define ASSIGN_OR_RETURN(target, expression) ASSIGN_OR_RETURN_(PETALITE_CONCAT(result_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_(result, target, expression) \
  auto result = (expression);                         \
  if (!result.ok()) [[unlikely]]                      \
    return result.status();                           \
  target = *std::move(result)

}  // namespace petalite
