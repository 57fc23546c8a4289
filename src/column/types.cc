#include "column/types.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace petalite {
namespace {

struct NamedType {
  std::string_view name;
  Type type;
};

// Every type but decimals, under the name that the catalog stores.
const std::array kNamedTypes = {
    NamedType{"bool", Type::Of(TypeId::kBool)},
    NamedType{"int8", Type::Of(TypeId::kInt8)},
    NamedType{"int16", Type::Of(TypeId::kInt16)},
    NamedType{"int32", Type::Of(TypeId::kInt32)},
    NamedType{"int64", Type::Of(TypeId::kInt64)},
    NamedType{"uint8", Type::Of(TypeId::kUInt8)},
    NamedType{"uint16", Type::Of(TypeId::kUInt16)},
    NamedType{"uint32", Type::Of(TypeId::kUInt32)},
    NamedType{"uint64", Type::Of(TypeId::kUInt64)},
    NamedType{"float", Type::Of(TypeId::kFloat)},
    NamedType{"double", Type::Of(TypeId::kDouble)},
    NamedType{"date", Type::Of(TypeId::kDate)},
    NamedType{"time", Type::Of(TypeId::kTime)},
    NamedType{"timestamp(s)", Type::Timestamp(TimeUnit::kSecond)},
    NamedType{"timestamp(ms)", Type::Timestamp(TimeUnit::kMilli)},
    NamedType{"timestamp(us)", Type::Timestamp(TimeUnit::kMicro)},
    NamedType{"timestamp(ns)", Type::Timestamp(TimeUnit::kNano)},
    NamedType{"timestamptz(ms)", Type{.id = TypeId::kTimestampTz, .unit = TimeUnit::kMilli}},
    NamedType{"timestamptz(us)", Type{.id = TypeId::kTimestampTz, .unit = TimeUnit::kMicro}},
    NamedType{"timestamptz(ns)", Type{.id = TypeId::kTimestampTz, .unit = TimeUnit::kNano}},
    NamedType{"string", Type::Of(TypeId::kString)},
    NamedType{"binary", Type::Of(TypeId::kBinary)},
    NamedType{"json", Type::Of(TypeId::kJson)},
    NamedType{"uuid", Type::Of(TypeId::kUuid)},
    NamedType{"interval", Type::Of(TypeId::kInterval)},
};

bool ParseNumber(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

size_t Type::Width() const {
  return VisitLayout(*this, [](auto value) { return sizeof(value); });
}

std::string Type::ToString() const {
  if (id == TypeId::kDecimal) return fmt::format("decimal({},{})", precision, scale);
  for (const NamedType& named : kNamedTypes) {
    if (named.type == *this) return std::string(named.name);
  }
  return "no type";
}

bool Type::IsValid() const {
  if (id == TypeId::kDecimal) {
    return precision >= 1 && precision <= 38 && scale <= precision && unit == TimeUnit::kMicro;
  }
  return std::any_of(kNamedTypes.begin(), kNamedTypes.end(),
                     [&](const NamedType& named) { return named.type == *this; });
}

Result<Type> Type::Parse(std::string_view text) {
  for (const NamedType& named : kNamedTypes) {
    if (named.name == text) return named.type;
  }
  constexpr std::string_view kPrefix = "decimal(";
  const size_t comma = text.find(',');
  int precision = 0;
  int scale = 0;
  if (text.starts_with(kPrefix) && text.ends_with(')') && comma != text.npos &&
      ParseNumber(text.substr(kPrefix.size(), comma - kPrefix.size()), &precision) &&
      ParseNumber(text.substr(comma + 1, text.size() - comma - 2), &scale) && precision >= 1 && precision <= 38 &&
      scale >= 0 && scale <= precision) {
    return Type::Decimal(precision, scale);
  }
  return InvalidArgument("unknown type '{}'", text);
}

}  // namespace petalite
