// The types of columns, and how their values lie in memory:
//
//   bool                    one byte, 0 or 1
//   int8…int64              1, 2, 4, 8 bytes, two's complement
//   uint8…uint64            1, 2, 4, 8 bytes
//   float, double           IEEE 754
//   decimal(p, s)           the unscaled integer: p ≤ 4: 2 bytes, ≤ 9: 4, ≤ 18: 8, ≤ 38: Int128
//   date                    int32, days since 1970-01-01
//   time                    int64, microseconds since midnight
//   timestamp, timestamptz  int64 in the unit (s, ms, µs, ns) since 1970-01-01 00:00:00 (UTC for tz)
//   string, binary, json    StringRef; string and json hold valid UTF-8
//   uuid                    Int128: the 16 big-endian bytes as an unsigned number, top bit flipped
//   interval                Interval: months, days, microseconds
//
// All layouts are little-endian and match DuckDB's vectors.
//
// Numbers of persistent enums are never reused.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "petalite/status.h"

namespace petalite {

enum class TypeId : uint8_t {
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUInt8 = 6,
  kUInt16 = 7,
  kUInt32 = 8,
  kUInt64 = 9,
  kFloat = 10,
  kDouble = 11,
  kDecimal = 12,
  kDate = 13,
  kTime = 14,
  kTimestamp = 15,
  kTimestampTz = 16,
  kString = 17,
  kBinary = 18,
  kJson = 19,
  kUuid = 20,
  kInterval = 21,
};

enum class TimeUnit : uint8_t { kSecond = 1, kMilli = 2, kMicro = 3, kNano = 4 };

struct Int128 {
  uint64_t low;
  int64_t high;
  bool operator==(const Int128&) const = default;
};
__extension__ typedef __int128 int128_t;
inline int128_t ToNative(Int128 v) { return static_cast<int128_t>(v.high) << 64 | v.low; }
inline Int128 FromNative(int128_t v) { return {static_cast<uint64_t>(v), static_cast<int64_t>(v >> 64)}; }

struct Interval {
  int32_t months;
  int32_t days;
  int64_t micros;
  bool operator==(const Interval&) const = default;
};

// A string of at most 4 GiB. Up to 12 bytes lie inside, zero-padded; longer ones keep their first
// four bytes here and point to bytes that somebody else owns (Neumann and Freitag, "Umbra", CIDR
// 2020).
class StringRef {
 public:
  static constexpr size_t kInlineSize = 12;

  StringRef() : size_(0), inline_{} {}
  StringRef(const void* data, size_t size) : size_(static_cast<uint32_t>(size)), inline_{} {
    if (size <= kInlineSize) {
      if (size != 0) std::memcpy(inline_, data, size);
    } else {
      std::memcpy(inline_, data, 4);
      std::memcpy(inline_ + 4, &data, sizeof data);
    }
  }
  explicit StringRef(std::string_view text) : StringRef(text.data(), text.size()) {}

  uint32_t size() const { return size_; }
  bool is_inline() const { return size_ <= kInlineSize; }
  const char* data() const {
    if (is_inline()) return inline_;
    const char* pointer;
    std::memcpy(&pointer, inline_ + 4, sizeof pointer);
    return pointer;
  }
  std::string_view view() const { return {data(), size_}; }

 private:
  uint32_t size_;
  char inline_[kInlineSize];
};
static_assert(sizeof(StringRef) == 16 && sizeof(Int128) == 16 && sizeof(Interval) == 16);

struct Type {
  TypeId id = TypeId::kInt64;
  uint8_t precision = 0;             // decimal: 1…38
  uint8_t scale = 0;                 // decimal: 0…precision
  TimeUnit unit = TimeUnit::kMicro;  // timestamp and timestamptz

  static Type Of(TypeId id) { return {.id = id}; }
  static Type Decimal(int precision, int scale) {
    return {.id = TypeId::kDecimal, .precision = static_cast<uint8_t>(precision), .scale = static_cast<uint8_t>(scale)};
  }
  static Type Timestamp(TimeUnit unit) { return {.id = TypeId::kTimestamp, .unit = unit}; }

  bool operator==(const Type&) const = default;

  // Whether it is one of the types above: decimals within their ranges, units that the type has (timestamptz: not
  // seconds).
  bool IsValid() const;
  size_t Width() const;    // bytes of one value in memory
  bool IsString() const {  // StringRef layout
    return id == TypeId::kString || id == TypeId::kBinary || id == TypeId::kJson;
  }
  bool IsUtf8() const { return id == TypeId::kString || id == TypeId::kJson; }
  bool IsFloating() const { return id == TypeId::kFloat || id == TypeId::kDouble; }
  bool IsOrdered() const { return id != TypeId::kInterval; }  // min and max are kept
  bool CanBeKey() const { return id != TypeId::kBool && !IsFloating() && id != TypeId::kInterval; }

  // "int32", "decimal(12,2)", "timestamp(us)": the form that the catalog stores and Parse reads.
  std::string ToString() const;
  static Result<Type> Parse(std::string_view text);
};

}  // namespace petalite
