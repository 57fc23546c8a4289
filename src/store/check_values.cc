#include "store/check_values.h"

#include "base/utf8.h"

namespace petalite::store {
namespace {

Status CheckDecimals(const Field& field, const ColumnView& view, uint64_t first) {
  int128_t limit = 1;
  for (int i = 0; i < field.type.precision; ++i) limit *= 10;
  return VisitLayout(field.type, [&]<typename T>(T) -> Status {
    if constexpr (std::is_same_v<T, StringRef> || std::is_same_v<T, Interval> || std::is_floating_point_v<T>) {
      return Status::Ok();
    } else {
      for (size_t i = 0; i < view.size; ++i) {
        int128_t value = 0;
        if constexpr (std::is_same_v<T, Int128>) {
          value = ToNative(view.Value<T>(i));
        } else {
          value = view.Value<T>(i);
        }
        if (value > -limit && value < limit) continue;
        if (!view.IsValid(i)) continue;
        return InvalidArgument("row {}, column '{}': the value does not fit {}", first + i, field.name,
                               field.type.ToString());
      }
      return Status::Ok();
    }
  });
}

Status CheckUtf8(const Field& field, const ColumnView& view, uint64_t first) {
  for (size_t i = 0; i < view.size; ++i) {
    if (!view.IsValid(i)) continue;
    const std::string_view text = view.Value<StringRef>(i).view();
    const size_t prefix = Utf8ValidPrefix(text);
    if (prefix == text.size()) continue;
    return InvalidArgument("row {}, column '{}': not valid UTF-8 at byte {} of the value", first + i, field.name,
                           prefix);
  }
  return Status::Ok();
}

}  // namespace

Status CheckValues(const Field& field, const ColumnView& view, uint64_t first) {
  if (!field.nullable && view.validity != nullptr) {
    for (size_t i = 0; i < view.size; ++i) {
      if (!view.IsValid(i)) return InvalidArgument("row {}: column '{}' must not be null", first + i, field.name);
    }
  }
  if (field.type.id == TypeId::kDecimal) return CheckDecimals(field, view, first);
  return field.type.IsUtf8() ? CheckUtf8(field, view, first) : Status::Ok();
}

}  // namespace petalite::store
