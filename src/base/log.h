// The log. The library says what happened to a sink that its user sets; the default sink drops
// everything below kWarn and writes the rest to standard error. Thread-safe.

#pragma once

#include <functional>
#include <string_view>

#include <fmt/core.h>

namespace petalite {

enum class LogLevel { kDebug = 0, kInfo = 1, kWarn = 2, kError = 3, kOff = 4 };

using LogSink = std::function<void(LogLevel, std::string_view message)>;

void SetLogSink(LogSink sink);  // null restores the default sink
void SetLogLevel(LogLevel level);
LogLevel CurrentLogLevel();
void LogMessage(LogLevel level, std::string_view message);

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= CurrentLogLevel()) LogMessage(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace petalite
