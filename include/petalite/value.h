// One value of a column's type: a bound of statistics, a constant of a predicate, a key given by a
// user.

#pragma once

#include <compare>
#include <concepts>
#include <string>
#include <string_view>
#include <variant>

#include "petalite/type.h"

namespace petalite {

// Null, or a value in the canonical form of its type: signed integers of any width, dates, times,
// timestamps and decimals of up to 18 digits as int64_t; unsigned ones and bool as uint64_t; float
// and double as double; decimals over 18 digits and uuid as Int128 (of which uuid compares as
// type.h lays it out: signed, so that order is the bytes' order); string, json and binary as
// std::string. Interval values exist, and do not compare.
class Value {
 public:
  using Storage = std::variant<std::monostate, int64_t, uint64_t, double, Int128, Interval, std::string>;

  Value() = default;
  explicit Value(Storage storage) : storage_(std::move(storage)) {}
  // NOLINTBEGIN: implicit on purpose, so that a key reads {4711, "abc"}
  template <std::signed_integral T>
  Value(T number) : storage_(static_cast<int64_t>(number)) {}
  template <std::unsigned_integral T>
  Value(T number) : storage_(static_cast<uint64_t>(number)) {}
  template <std::floating_point T>
  Value(T number) : storage_(static_cast<double>(number)) {}
  Value(Int128 number) : storage_(number) {}
  Value(Interval interval) : storage_(interval) {}
  Value(std::string text) : storage_(std::move(text)) {}
  Value(std::string_view text) : storage_(std::string(text)) {}
  Value(const char* text) : storage_(std::string(text)) {}
  // NOLINTEND

  // Reads the value of `type` that lies at `slot` in the type's layout.
  static Value FromSlot(const Type& type, const void* slot);
  // Writes it there. A string slot points into this Value, which must outlive it.
  void ToSlot(const Type& type, void* slot) const;
  // Reads a user's text: numbers, decimals of at most the type's scale, ISO dates and timestamps,
  // true/false, UUIDs, strings as they stand, binary as \xHEX or as it stands.
  static Result<Value> Parse(const Type& type, std::string_view text);
  // The text that Parse reads back.
  std::string ToString(const Type& type) const;

  // Whether this is null, or a value of the type: of the canonical form, in the type's range; text is UTF-8.
  bool Fits(const Type& type) const;
  bool is_null() const { return std::holds_alternative<std::monostate>(storage_); }
  bool is_nan() const { return std::holds_alternative<double>(storage_) && as<double>() != as<double>(); }
  template <typename T>
  const T& as() const {
    return std::get<T>(storage_);
  }

  // Total among values of one ordered type, nulls excluded: NaN equals itself and is greater than
  // every number (as DuckDB has it), −0 equals +0, strings compare bytewise unsigned.
  static std::weak_ordering Compare(const Value& a, const Value& b);
  const Storage& storage() const { return storage_; }
  bool operator==(const Value&) const = default;  // representation, not order: −0 and +0 differ

 private:
  Storage storage_;
};

}  // namespace petalite
