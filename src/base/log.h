// What the core logs with; the sink and the level are its user's (petalite/log.h). Thread-safe.

#pragma once

#include <string_view>

#include <fmt/core.h>

#include "petalite/log.h"

namespace petalite {

LogLevel CurrentLogLevel();
void LogMessage(LogLevel level, std::string_view message);

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= CurrentLogLevel()) LogMessage(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace petalite
