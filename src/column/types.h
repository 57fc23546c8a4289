// The types of columns (petalite/type.h), and code by the C++ type that holds a value.

#pragma once

#include "base/status.h"
#include "petalite/type.h"

namespace petalite {

// Calls f with a value of the C++ type that holds `type` in memory (unsigned and signed integers,
// float, double, Int128, Interval, StringRef; bool is uint8_t), and returns what f returns.
template <typename F>
auto VisitLayout(const Type& type, F&& f) {
  switch (type.id) {
    case TypeId::kBool:
    case TypeId::kUInt8:
      return f(uint8_t{});
    case TypeId::kInt8:
      return f(int8_t{});
    case TypeId::kInt16:
      return f(int16_t{});
    case TypeId::kUInt16:
      return f(uint16_t{});
    case TypeId::kUInt32:
      return f(uint32_t{});
    case TypeId::kUInt64:
      return f(uint64_t{});
    case TypeId::kFloat:
      return f(float{});
    case TypeId::kDouble:
      return f(double{});
    case TypeId::kInt32:
    case TypeId::kDate:
      return f(int32_t{});
    case TypeId::kInt64:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      return f(int64_t{});
    case TypeId::kDecimal:
      if (type.precision <= 4) return f(int16_t{});
      if (type.precision <= 9) return f(int32_t{});
      if (type.precision <= 18) return f(int64_t{});
      return f(Int128{});
    case TypeId::kUuid:
      return f(Int128{});
    case TypeId::kInterval:
      return f(Interval{});
    case TypeId::kString:
    case TypeId::kBinary:
    case TypeId::kJson:
      return f(StringRef{});
  }
  __builtin_unreachable();
}

}  // namespace petalite
