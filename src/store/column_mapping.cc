#include "store/column_mapping.h"

#include <cstring>

#include "column/types.h"

namespace petalite::store {
namespace {

bool IsSigned(TypeId id) { return id >= TypeId::kInt8 && id <= TypeId::kInt64; }
bool IsUnsigned(TypeId id) { return id >= TypeId::kUInt8 && id <= TypeId::kUInt64; }

template <typename From, typename To>
void Widen(const void* values, size_t count, void* out) {
  if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To>) {
    for (size_t i = 0; i < count; ++i) {
      static_cast<To*>(out)[i] = static_cast<To>(static_cast<const From*>(values)[i]);
    }
  } else if constexpr (std::is_integral_v<From> && std::is_same_v<To, Int128>) {
    for (size_t i = 0; i < count; ++i) static_cast<To*>(out)[i] = FromNative(static_cast<const From*>(values)[i]);
  } else if constexpr (std::is_same_v<From, To>) {
    std::memcpy(out, values, count * sizeof(To));
  } else {
    CHECK(false);
  }
}

}  // namespace

size_t PositionOf(const Schema& source, const Field& field) {
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i].field_id == field.field_id) return i;
  }
  return ColumnSource::kAbsent;
}

ColumnMapping::ColumnMapping(const Schema& table, const Schema& source) {
  for (size_t i = 0; i < table.size(); ++i) {
    ColumnSource& column = sources_.emplace_back();
    column.position = PositionOf(source, table[i]);
    if (!column.absent()) {
      column.type = source[column.position].type;
      column.converted = column.type != table[i].type;
    }
    identity_ = identity_ && column.position == i && !column.converted;
  }
}

bool CanWiden(const Type& from, const Type& to) {
  if (from == to) return true;
  if (IsSigned(from.id) && IsSigned(to.id)) return from.Width() < to.Width();
  if (IsUnsigned(from.id) && (IsUnsigned(to.id) || IsSigned(to.id))) return from.Width() < to.Width();
  if (from.id == TypeId::kFloat) return to.id == TypeId::kDouble;
  if (from.id == TypeId::kDecimal && to.id == TypeId::kDecimal) {
    return from.scale == to.scale && from.precision < to.precision;
  }
  return false;
}

void WidenValues(const Type& from, const Type& to, const void* values, size_t count, void* out) {
  VisitLayout(from, [&]<typename From>(From) {
    VisitLayout(to, [&]<typename To>(To) { Widen<From, To>(values, count, out); });
  });
}

Value WidenValue(const Type& from, const Type& to, const Value& value) {
  if (value.is_null() || from == to) return value;
  alignas(16) uint8_t old_slot[16] = {};
  alignas(16) uint8_t new_slot[16] = {};
  value.ToSlot(from, old_slot);
  WidenValues(from, to, old_slot, 1, new_slot);
  return Value::FromSlot(to, new_slot);
}

void FillDefault(const Field& field, size_t count, void* out) {
  const size_t width = field.type.Width();
  if (field.initial_default.is_null()) {
    std::memset(out, 0, count * width);
    return;
  }
  alignas(16) uint8_t slot[16] = {};
  field.initial_default.ToSlot(field.type, slot);
  for (size_t i = 0; i < count; ++i) std::memcpy(static_cast<uint8_t*>(out) + i * width, slot, width);
}

}  // namespace petalite::store
