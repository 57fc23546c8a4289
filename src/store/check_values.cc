#include "store/check_values.h"

#include <numeric>

#include "base/utf8.h"
#include "column/types.h"
#include "parquet/column_buffer.h"

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

// Calls fits(value) for each value, all of which must.
template <typename T, typename Fits>
Status CheckEach(const Field& field, const ColumnView& view, uint64_t first, std::string_view unfit, Fits&& fits) {
  for (size_t i = 0; i < view.size; ++i) {
    if (!view.IsValid(i) || fits(view.Value<T>(i))) continue;
    return InvalidArgument("row {}, column '{}': {}", first + i, field.name, unfit);
  }
  return Status::Ok();
}

}  // namespace

// Everything that the writer of files refuses is among this: a row in memory that no file takes could never be flushed.
Status CheckValues(const Field& field, const ColumnView& view, uint64_t first) {
  if (!field.nullable && view.validity != nullptr) {
    for (size_t i = 0; i < view.size; ++i) {
      if (!view.IsValid(i)) return InvalidArgument("row {}: column '{}' must not be null", first + i, field.name);
    }
  }
  if (field.type.id == TypeId::kBool) {
    return CheckEach<uint8_t>(field, view, first, "a bool is 0 or 1", [](uint8_t value) { return value <= 1; });
  }
  if (field.type.id == TypeId::kDecimal) return CheckDecimals(field, view, first);
  if (field.type.id == TypeId::kInterval) {
    return CheckEach<Interval>(field, view, first, parquet::kIntervalUnfit, parquet::IntervalFits);
  }
  const bool is_timestamp = field.type.id == TypeId::kTimestamp || field.type.id == TypeId::kTimestampTz;
  if (is_timestamp && field.type.unit == TimeUnit::kSecond) {
    return CheckEach<int64_t>(field, view, first, parquet::kSecondsUnfit, parquet::SecondsFit);
  }
  if (field.type.IsString()) {
    RETURN_IF_ERROR(CheckEach<StringRef>(field, view, first, "the value is longer than 1 GiB", [](StringRef value) {
      return value.size() <= parquet::ColumnBuffer::kMaxValueBytes;
    }));
  }
  return field.type.IsUtf8() ? CheckUtf8(field, view, first) : Status::Ok();
}

Result<std::vector<size_t>> GivenFields(const Schema& schema, const WriteBatch& batch) {
  std::vector<size_t> fields = batch.fields;
  for (const std::string& name : batch.names) {
    const auto found = schema.Find(name);
    if (!found.has_value()) return NotFound("there is no column '{}'", name);
    fields.push_back(*found);
  }
  if (fields.empty()) {
    fields.resize(schema.size());
    std::iota(fields.begin(), fields.end(), 0);
  }
  if (fields.size() != batch.columns.size()) {
    return InvalidArgument("{} columns given where {} are expected", batch.columns.size(), fields.size());
  }
  if (!batch.types.empty() && batch.types.size() != fields.size()) {
    return InvalidArgument("{} types given for {} columns", batch.types.size(), fields.size());
  }
  std::vector<bool> given(schema.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] >= schema.size()) return InvalidArgument("there is no column {}", fields[i]);
    const Field& field = schema[fields[i]];
    if (given[fields[i]]) return InvalidArgument("column '{}' is given twice", field.name);
    given[fields[i]] = true;
    if (!batch.types.empty() && batch.types[i] != field.type) {
      return InvalidArgument("column '{}' is {}, and the values given are {}", field.name, field.type.ToString(),
                             batch.types[i].ToString());
    }
    if (batch.columns[i].size != batch.rows) {
      return InvalidArgument("column '{}' has {} rows, the batch {}", field.name, batch.columns[i].size, batch.rows);
    }
  }
  return fields;
}

}  // namespace petalite::store
