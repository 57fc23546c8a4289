#include "base/log.h"

#include <atomic>
#include <mutex>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace petalite {
namespace {

std::atomic<LogLevel> level{LogLevel::kWarn};
std::mutex mutex;

LogSink& Sink() {
  static LogSink* sink = new LogSink;
  return *sink;
}

spdlog::logger& DefaultLogger() {
  static spdlog::logger* logger = [] {
    auto* made = new spdlog::logger("petalite", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::trace);
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l petalite: %v");
    return made;
  }();
  return *logger;
}

}  // namespace

void SetLogSink(LogSink sink) {
  const std::lock_guard lock(mutex);
  Sink() = std::move(sink);
}
void SetLogLevel(LogLevel to) { level = to; }
LogLevel CurrentLogLevel() { return level; }

void LogMessage(LogLevel at, std::string_view message) {
  const std::lock_guard lock(mutex);
  if (Sink()) return Sink()(at, message);
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err};
  if (at < LogLevel::kOff)
    DefaultLogger().log(kLevels[static_cast<int>(at)], spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace petalite
