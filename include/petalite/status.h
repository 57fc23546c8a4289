// Status and Result: how Petalite reports what went wrong; it throws nothing. A function that can fail returns one of
// them, and the compiler warns a caller that ignores it. Messages are for people: they name the file, table, column or
// row, and say what to do. Not thread-safe, as values are.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

// The outcome of an operation without a value.
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
    return ok() ? *this : Status(code_, std::string(context) + ": " + message_);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// Ends the program: a Result was asked for a value that it has not, or made from a Status that is no error.
[[noreturn]] void ResultMisused(const Status& status);

// A value, or the Status that says why there is none. Asking an error for its value ends the program with the error's
// message: look at ok() first.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT
    if (status_.ok()) [[unlikely]]
      ResultMisused(status_);
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& operator*() & { return Checked(); }
  const T& operator*() const& { return const_cast<Result*>(this)->Checked(); }
  T&& operator*() && { return std::move(Checked()); }
  T* operator->() { return &Checked(); }
  const T* operator->() const { return &const_cast<Result*>(this)->Checked(); }

 private:
  T& Checked() {
    if (!ok()) [[unlikely]]
      ResultMisused(status_);
    return *value_;
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace petalite
