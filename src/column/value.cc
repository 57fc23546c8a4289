#include "petalite/value.h"

#include <charconv>
#include <limits>

#include "base/bytes.h"
#include "base/utf8.h"
#include "column/calendar.h"
#include "column/types.h"

namespace petalite {
namespace {

// Whether the type's canonical form is uint64_t (value.h).
bool IsUnsigned(const Type& type) {
  return type.id == TypeId::kBool || (type.id >= TypeId::kUInt8 && type.id <= TypeId::kUInt64);
}

constexpr Int128 kUuidFlip = {0, std::numeric_limits<int64_t>::min()};

template <typename T>
Result<Value> ParseNumber(const Type& type, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument("'{}' is not a value of type {}", text, type.ToString());
  }
  if constexpr (std::is_floating_point_v<T>) return Value(static_cast<double>(value));
  if constexpr (std::is_unsigned_v<T>) return Value(static_cast<uint64_t>(value));
  return Value(static_cast<int64_t>(value));
}

Result<Value> ParseDecimal(const Type& type, std::string_view text) {
  const Status bad = InvalidArgument("'{}' is not a value of type {}", text, type.ToString());
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  int128_t unscaled = 0;
  int digits = 0;
  int fraction = -1;  // digits after the point; -1 before it
  for (const char c : rest) {
    if (c == '.' && fraction < 0) {
      fraction = 0;
      continue;
    }
    if (c < '0' || c > '9' || (fraction >= 0 && ++fraction > type.scale)) return bad;
    unscaled = unscaled * 10 + (c - '0');
    if (unscaled != 0 && ++digits > type.precision) return bad;
  }
  if (rest.empty() || rest == ".") return bad;
  for (int i = std::max(fraction, 0); i < type.scale; ++i) {
    unscaled *= 10;
    if (unscaled != 0 && ++digits > type.precision) return bad;
  }
  if (negative) unscaled = -unscaled;
  if (type.precision <= 18) return Value(static_cast<int64_t>(unscaled));
  return Value(FromNative(unscaled));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<Value> ParseUuid(std::string_view text) {
  unsigned __int128 bits = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const int digit = HexDigit(c);
    if (digit < 0 || ++digits > 32) return InvalidArgument("'{}' is not a UUID", text);
    bits = bits << 4 | static_cast<unsigned>(digit);
  }
  if (digits != 32) return InvalidArgument("'{}' is not a UUID", text);
  Int128 value = FromNative(static_cast<int128_t>(bits));
  value.high ^= kUuidFlip.high;
  return Value(value);
}

Result<Value> ParseBinary(std::string_view text) {
  if (!text.starts_with("\\x")) return Value(std::string(text));
  text.remove_prefix(2);
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return InvalidArgument("'\\x{}' is not hexadecimal", text);
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  if (text.size() % 2 != 0) return InvalidArgument("'\\x{}' has an odd number of digits", text);
  return Value(std::move(bytes));
}

std::string FormatDecimal(const Type& type, int128_t unscaled) {
  const bool negative = unscaled < 0;
  auto magnitude = static_cast<unsigned __int128>(unscaled);
  if (negative) magnitude = -magnitude;  // unsigned, because the smallest number has no counterpart
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(magnitude % 10)));
    magnitude /= 10;
  } while (magnitude != 0 || digits.size() <= type.scale);
  std::string text = negative ? "-" : "";
  for (size_t i = digits.size(); i-- > 0;) {
    text.push_back(digits[i]);
    if (i == type.scale && i != 0) text.push_back('.');
  }
  return text;
}

std::string FormatUuid(Int128 value) {
  const auto high = static_cast<uint64_t>(value.high ^ kUuidFlip.high);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff, high & 0xffff,
                     value.low >> 48, value.low & 0xffffffffffffull);
}

std::string FormatBinary(std::string_view bytes) {
  std::string text = "\\x";
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

// Bit for bit what a slot holds, widened to the canonical form.
struct SlotReader {
  const Type& type;
  const void* slot;

  Value operator()(float) const { return Value(static_cast<double>(LoadLe<float>(slot))); }
  Value operator()(double) const { return Value(LoadLe<double>(slot)); }
  Value operator()(Int128) const { return Value(LoadLe<Int128>(slot)); }
  Value operator()(Interval) const { return Value(LoadLe<Interval>(slot)); }
  Value operator()(StringRef) const { return Value(std::string(static_cast<const StringRef*>(slot)->view())); }
  template <typename T>
  Value operator()(T) const {
    if (IsUnsigned(type)) return Value(static_cast<uint64_t>(LoadLe<T>(slot)));
    return Value(static_cast<int64_t>(LoadLe<T>(slot)));
  }
};

struct SlotWriter {
  const Value& value;
  void* slot;

  void operator()(float) const { StoreLe(slot, static_cast<float>(value.as<double>())); }
  void operator()(double) const { StoreLe(slot, value.as<double>()); }
  void operator()(Int128) const { StoreLe(slot, value.as<Int128>()); }
  void operator()(Interval) const { StoreLe(slot, value.as<Interval>()); }
  void operator()(StringRef) const { *static_cast<StringRef*>(slot) = StringRef(value.as<std::string>()); }
  template <typename T>
  void operator()(T) const {
    if (const auto* number = std::get_if<uint64_t>(&value.storage())) return StoreLe(slot, static_cast<T>(*number));
    StoreLe(slot, static_cast<T>(value.as<int64_t>()));
  }
};

bool FitsDecimal(const Type& type, int128_t unscaled) {
  int128_t limit = 1;
  for (int i = 0; i < type.precision; ++i) limit *= 10;
  return unscaled > -limit && unscaled < limit;
}

struct FitsLayout {
  const Type& type;
  const Value::Storage& storage;

  bool operator()(float) const { return std::holds_alternative<double>(storage); }
  bool operator()(double) const { return std::holds_alternative<double>(storage); }
  bool operator()(Interval) const { return std::holds_alternative<Interval>(storage); }
  bool operator()(Int128) const {
    const auto* number = std::get_if<Int128>(&storage);
    return number != nullptr && (type.id != TypeId::kDecimal || FitsDecimal(type, ToNative(*number)));
  }
  bool operator()(StringRef) const {
    const auto* text = std::get_if<std::string>(&storage);
    return text != nullptr && (!type.IsUtf8() || Utf8ValidPrefix(*text) == text->size());
  }
  template <typename T>
  bool operator()(T) const {
    if (IsUnsigned(type)) {
      const auto* number = std::get_if<uint64_t>(&storage);
      return number != nullptr && *number <= (type.id == TypeId::kBool ? 1 : uint64_t{std::numeric_limits<T>::max()});
    }
    const auto* number = std::get_if<int64_t>(&storage);
    if (number == nullptr) return false;
    if (type.id == TypeId::kDecimal) return FitsDecimal(type, *number);
    return *number >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
           *number <= static_cast<int64_t>(std::numeric_limits<T>::max());
  }
};

}  // namespace

bool Value::Fits(const Type& type) const { return is_null() || VisitLayout(type, FitsLayout{type, storage_}); }

Value Value::FromSlot(const Type& type, const void* slot) { return VisitLayout(type, SlotReader{type, slot}); }

void Value::ToSlot(const Type& type, void* slot) const { VisitLayout(type, SlotWriter{*this, slot}); }

Result<Value> Value::Parse(const Type& type, std::string_view text) {
  switch (type.id) {
    case TypeId::kBool:
      if (text == "true" || text == "false") return Value(uint64_t{text == "true"});
      return InvalidArgument("'{}' is not true or false", text);
    case TypeId::kInt8:
      return ParseNumber<int8_t>(type, text);
    case TypeId::kInt16:
      return ParseNumber<int16_t>(type, text);
    case TypeId::kInt32:
      return ParseNumber<int32_t>(type, text);
    case TypeId::kInt64:
      return ParseNumber<int64_t>(type, text);
    case TypeId::kUInt8:
      return ParseNumber<uint8_t>(type, text);
    case TypeId::kUInt16:
      return ParseNumber<uint16_t>(type, text);
    case TypeId::kUInt32:
      return ParseNumber<uint32_t>(type, text);
    case TypeId::kUInt64:
      return ParseNumber<uint64_t>(type, text);
    case TypeId::kFloat:
      return ParseNumber<float>(type, text);
    case TypeId::kDouble:
      return ParseNumber<double>(type, text);
    case TypeId::kDecimal:
      return ParseDecimal(type, text);
    case TypeId::kDate:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz: {
      ASSIGN_OR_RETURN(const int64_t moment, ParseMoment(type, text));
      return Value(moment);
    }
    case TypeId::kString:
    case TypeId::kJson:
      return Value(std::string(text));
    case TypeId::kBinary:
      return ParseBinary(text);
    case TypeId::kUuid:
      return ParseUuid(text);
    case TypeId::kInterval:
      return Unsupported("a value of type interval cannot be given as text");
  }
  __builtin_unreachable();
}

std::string Value::ToString(const Type& type) const {
  if (is_null()) return "NULL";
  switch (type.id) {
    case TypeId::kBool:
      return as<uint64_t>() != 0 ? "true" : "false";
    case TypeId::kDecimal:
      return FormatDecimal(type, type.precision <= 18 ? int128_t{as<int64_t>()} : ToNative(as<Int128>()));
    case TypeId::kDate:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      return FormatMoment(type, as<int64_t>());
    case TypeId::kString:
    case TypeId::kJson:
      return as<std::string>();
    case TypeId::kBinary:
      return FormatBinary(as<std::string>());
    case TypeId::kUuid:
      return FormatUuid(as<Int128>());
    case TypeId::kInterval: {
      const auto& interval = as<Interval>();
      return fmt::format("{} months {} days {} us", interval.months, interval.days, interval.micros);
    }
    case TypeId::kFloat:
      return fmt::format("{}", static_cast<float>(as<double>()));
    case TypeId::kDouble:
      return fmt::format("{}", as<double>());
    default:
      return IsUnsigned(type) ? std::to_string(as<uint64_t>()) : std::to_string(as<int64_t>());
  }
}

std::weak_ordering Value::Compare(const Value& a, const Value& b) {
  CHECK(a.storage_.index() == b.storage_.index() && !a.is_null());
  if (const auto* text = std::get_if<std::string>(&a.storage_)) {
    return text->compare(b.as<std::string>()) <=> 0;  // char_traits<char> compares bytes unsigned
  }
  if (const auto* number = std::get_if<double>(&a.storage_)) {
    if (a.is_nan() || b.is_nan()) return a.is_nan() <=> b.is_nan();
    const double other = b.as<double>();
    return *number < other   ? std::weak_ordering::less
           : *number > other ? std::weak_ordering::greater
                             : std::weak_ordering::equivalent;
  }
  if (const auto* number = std::get_if<int64_t>(&a.storage_)) return *number <=> b.as<int64_t>();
  if (const auto* number = std::get_if<uint64_t>(&a.storage_)) return *number <=> b.as<uint64_t>();
  const auto* wide = std::get_if<Int128>(&a.storage_);
  CHECK(wide != nullptr && "intervals have no order");
  const int128_t left = ToNative(*wide);
  const int128_t right = ToNative(b.as<Int128>());
  return left < right   ? std::weak_ordering::less
         : left > right ? std::weak_ordering::greater
                        : std::weak_ordering::equivalent;
}

}  // namespace petalite
