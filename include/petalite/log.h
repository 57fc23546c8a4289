// The library says what happens to a sink that its user sets. Thread-safe.

#pragma once

#include <functional>
#include <string_view>

namespace petalite {

enum class LogLevel { kDebug = 0, kInfo = 1, kWarn = 2, kError = 3, kOff = 4 };

// Called from any thread of the library, one call at a time, with one line without its end.
using LogSink = std::function<void(LogLevel, std::string_view message)>;

// Null restores the default, which writes to standard error.
void SetLogSink(LogSink sink);
// What is below it is dropped; kWarn until it is set.
void SetLogLevel(LogLevel level);

}  // namespace petalite
