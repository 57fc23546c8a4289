// Values as JSON, for comparison with what other readers made of the same file: whole numbers and
// unscaled decimals as numbers, text as text, binary and UUIDs hexadecimal, floating-point numbers
// as the hexadecimal bits of a double (NaN as "nan"), intervals as [months, days, microseconds].

#pragma once

#include <bit>
#include <string>

#include <nlohmann/json.hpp>

#include "base/status.h"
#include "petalite/value.h"

namespace petalite::parquet {

inline std::string HexText(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

inline std::string ToJson(const Type& type, const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_nan()) return "\"nan\"";
  if (type.id == TypeId::kUuid) {
    std::string text = value.ToString(type);
    std::erase(text, '-');
    return fmt::format("\"{}\"", text);
  }
  const auto& storage = value.storage();
  if (const auto* number = std::get_if<int64_t>(&storage)) return std::to_string(*number);
  if (const auto* number = std::get_if<uint64_t>(&storage)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&storage)) {
    return fmt::format("\"{:016x}\"", std::bit_cast<uint64_t>(*number));
  }
  if (std::holds_alternative<Int128>(storage)) return value.ToString(Type::Decimal(38, 0));
  if (const auto* interval = std::get_if<Interval>(&storage)) {
    return fmt::format("[{},{},{}]", interval->months, interval->days, interval->micros);
  }
  const auto& text = value.as<std::string>();
  return type.id == TypeId::kBinary ? fmt::format("\"{}\"", HexText(text)) : nlohmann::json(text).dump();
}

}  // namespace petalite::parquet
