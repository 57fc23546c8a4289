#include "sql/database_options.h"

#include <charconv>
#include <optional>
#include <span>
#include <string_view>

namespace petalite::sql {
namespace {

struct Unit {
  std::string_view name;
  uint64_t size;
};

constexpr Unit kByteUnits[] = {
    {"", 1},
    {"KB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"KiB", uint64_t{1} << 10},
    {"MiB", uint64_t{1} << 20},
    {"GiB", uint64_t{1} << 30},
    {"TiB", uint64_t{1} << 40},
};
constexpr Unit kTimeUnits[] = {
    {"ms", 1'000}, {"s", 1'000'000}, {"min", 60'000'000}, {"h", 3'600'000'000}, {"d", 86'400'000'000},
};
constexpr Unit kNoUnit[] = {{"", 1}};

// A whole number and a unit, perhaps with a space between; none if it is anything else, or too large.
std::optional<uint64_t> ParseQuantity(std::string_view text, std::span<const Unit> units) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  uint64_t product = 0;
  for (const Unit& unit : units) {
    if (SameName(unit.name, text) && !__builtin_mul_overflow(number, unit.size, &product)) return product;
  }
  return std::nullopt;
}

Status SetSize(const std::string& name, const std::string& value, size_t* size) {
  const auto bytes = ParseQuantity(value, kByteUnits);
  if (!bytes.has_value()) {
    return InvalidArgument("option '{}': '{}' is not a whole number of bytes, such as 1073741824 or 1GiB", name, value);
  }
  *size = *bytes;
  return Status::Ok();
}

Status SetRetention(const std::string& name, const std::string& value, int64_t* micros) {
  const auto time = value == "0" ? 0 : ParseQuantity(value, kTimeUnits);
  if (!time.has_value() || *time > uint64_t{INT64_MAX} / 2) {
    return InvalidArgument(
        "option '{}': '{}' is not a duration; it is 0, or a whole number with ms, s, min, h or d, such "
        "as 15min",
        name, value);
  }
  *micros = static_cast<int64_t>(*time);
  return Status::Ok();
}

Status SetDurability(const std::string& name, const std::string& value, store::DatabaseOptions* options) {
  constexpr std::string_view kInterval = "async:";
  constexpr uint64_t kLongest = 3'600'000;
  if (SameName(value, "sync")) {
    options->durability = Durability::kSync;
  } else if (SameName(value, "none")) {
    options->durability = Durability::kNone;
  } else if (SameName(value, "async")) {
    options->durability = Durability::kAsync;
  } else {
    std::optional<uint64_t> interval;
    if (value.size() > kInterval.size() && SameName(value.substr(0, kInterval.size()), kInterval)) {
      interval = ParseQuantity(std::string_view(value).substr(kInterval.size()), kNoUnit);
    }
    if (!interval.has_value() || *interval == 0 || *interval > kLongest) {
      return InvalidArgument("option '{}': '{}' is none of sync, async, async:<milliseconds, 1 to {}>, none", name,
                             value, kLongest);
    }
    options->durability = Durability::kAsync;
    options->async_interval_ms = static_cast<uint32_t>(*interval);
  }
  return Status::Ok();
}

Status SetThreads(const std::string& name, const std::string& value, size_t* threads) {
  constexpr uint64_t kMost = 1024;
  const auto number = ParseQuantity(value, kNoUnit);
  if (!number.has_value() || *number > kMost) {
    return InvalidArgument("option '{}': '{}' is not a whole number from 1 to {}, or 0 for all", name, value, kMost);
  }
  *threads = *number;
  return Status::Ok();
}

}  // namespace

Status SetDatabaseOption(const std::string& name, const std::string& value, store::DatabaseOptions* options) {
  if (name == "cache_bytes") return SetSize(name, value, &options->cache_bytes);
  if (name == "memory_limit") return SetSize(name, value, &options->memory_limit);
  if (name == "threads") return SetThreads(name, value, &options->threads);
  if (name == "durability") return SetDurability(name, value, options);
  if (name == "history_retention") return SetRetention(name, value, &options->history_retention_micros);
  return InvalidArgument(
      "unknown option '{}'; a database has cache_bytes, durability, history_retention, memory_limit, threads", name);
}

}  // namespace petalite::sql
