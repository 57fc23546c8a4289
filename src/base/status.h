// Status and Result: how Petalite reports what went wrong. A function that can fail returns one of
// them; the compiler refuses a caller that ignores it. Messages are for people: they name the file,
// table, column or row, and say what to do.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace petalite {

enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument = 1,  // the caller's input is wrong
  kNotFound = 2,         // a file, table, column or key is not there
  kAlreadyExists = 3,    // a table, schema or key is there already
  kCorruption = 4,       // stored bytes are not what was written: file, offset and structure are named
  kIoError = 5,          // the operating system refused
  kUnsupported = 6,      // well-formed, but outside what Petalite does
  kBusy = 7,             // another process or transaction holds it
  kInterrupted = 8,      // the user asked to stop
  kReadOnly = 9,         // a write to something opened for reading
};

// The outcome of an operation without a value. Ok is a null pointer's cost; an error owns its
// message.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same error with "<context>: " before the message; Ok stays Ok.
  Status WithContext(std::string_view context) const {
    return ok() ? *this : Status(code_, fmt::format("{}: {}", context, message_));
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

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

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                 // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) { CHECK(!status_.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& operator*() & {
    CHECK(ok());
    return *value_;
  }
  const T& operator*() const& {
    CHECK(ok());
    return *value_;
  }
  T&& operator*() && {
    CHECK(ok());
    return *std::move(value_);
  }
  T* operator->() {
    CHECK(ok());
    return &*value_;
  }
  const T* operator->() const {
    CHECK(ok());
    return &*value_;
  }

 private:
  std::optional<T> value_;
  Status status_;
};

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
