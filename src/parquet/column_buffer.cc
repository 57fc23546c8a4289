#include "parquet/column_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "parquet/schema_mapping.h"

namespace petalite::parquet {
namespace {

size_t BufferWidth(const SchemaElement& element) {
  switch (*element.type) {
    case PhysicalType::kBoolean:
      return 1;
    case PhysicalType::kInt32:
    case PhysicalType::kFloat:
      return 4;
    case PhysicalType::kInt64:
    case PhysicalType::kDouble:
      return 8;
    case PhysicalType::kInt96:
      return 12;
    case PhysicalType::kByteArray:
      return 0;
    case PhysicalType::kFixedLenByteArray:
      return static_cast<size_t>(element.type_length);
  }
  __builtin_unreachable();
}

void StoreBigEndian128(uint64_t high, uint64_t low, uint8_t* out) {
  StoreLe(out, __builtin_bswap64(high));
  StoreLe(out + 8, __builtin_bswap64(low));
}

bool StoreInterval(const Interval& value, uint8_t* out) {
  const int64_t millis = value.micros / 1000;
  StoreLe(out, value.months);
  StoreLe(out + 4, value.days);
  StoreLe(out + 8, static_cast<uint32_t>(millis));
  return IntervalFits(value);
}

bool StoreSecondsAsMillis(int64_t seconds, uint8_t* out) {
  StoreLe(out, static_cast<int64_t>(static_cast<uint64_t>(seconds) * 1000));
  return SecondsFit(seconds);
}

int128_t PowerOfTen(int exponent) {
  int128_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// Whether any byte is outside ASCII.
bool HasHighBit(Bytes bytes) {
  uint8_t all = 0;
  for (const uint8_t byte : bytes) all |= byte;
  return (all & 0x80) != 0;
}

}  // namespace

bool IntervalFits(const Interval& value) {
  return value.months >= 0 && value.days >= 0 && value.micros >= 0 && value.micros % 1000 == 0 &&
         value.micros / 1000 <= int64_t{UINT32_MAX};
}

bool SecondsFit(int64_t seconds) { return seconds >= INT64_MIN / 1000 && seconds <= INT64_MAX / 1000; }

size_t PlainStringBytes(const ColumnView& view, size_t begin, size_t count) {
  size_t bytes = 0;
  if (view.validity == nullptr) {
    for (size_t i = begin; i < begin + count; ++i) bytes += view.Value<StringRef>(i).size();
    return bytes + 4 * count;
  }
  for (size_t i = begin; i < begin + count; ++i) bytes += view.IsValid(i) ? 4 + view.Value<StringRef>(i).size() : 0;
  return bytes;
}

void RawBuffer::Reserve(size_t capacity) {
  if (capacity <= capacity_) return;
  capacity = std::max(capacity, capacity_ + capacity_ / 2);
  auto grown = std::make_unique_for_overwrite<uint8_t[]>(capacity + kSlack);
  if (size_ != 0) std::memcpy(grown.get(), data_.get(), size_);
  // What is read there never matters, but it must have been written for that to be defined.
  std::memset(grown.get() + capacity, 0, kSlack);
  data_ = std::move(grown);
  capacity_ = capacity;
}

ColumnBuffer::ColumnBuffer(Field field, size_t row_capacity)
    : field_(std::move(field)),
      element_(ToSchemaElement(field_)),
      width_(BufferWidth(element_)),
      row_capacity_(row_capacity) {
  Clear();
}

void ColumnBuffer::Clear() {
  rows_ = 0;
  values_ = 0;
  validity_.clear();
  data_.Clear();
  offsets_.clear();
  if (is_byte_array()) offsets_.push_back(0);
}

Status ColumnBuffer::RowError(uint64_t file_row, std::string_view what) const {
  return InvalidArgument("column '{}', row {}: {}", field_.name, file_row, what);
}

// Appends the rows' bits and returns how many are valid.
size_t ColumnBuffer::AppendValidity(const ColumnView& view, size_t begin, size_t count) {
  size_t valid = count;
  if (view.validity != nullptr) {
    valid = 0;
    for (size_t i = begin; i < begin + count; ++i) valid += view.IsValid(i) ? 1 : 0;
  }
  if (valid == count && validity_.empty()) return count;
  if (validity_.empty()) validity_.assign((row_capacity_ + 63) / 64, ~uint64_t{0});
  for (size_t i = 0; i < count && valid != count; ++i) {
    if (!view.IsValid(begin + i)) validity_[(rows_ + i) / 64] &= ~(uint64_t{1} << ((rows_ + i) % 64));
  }
  return valid;
}

// Converts each valid row by `convert(in, out)`, which writes width_ bytes (and may write up to
// kSlack) and tells whether the value fits; it is called for nulls too, and then ignored.
template <typename In, typename Convert>
Status ColumnBuffer::AppendFixed(const ColumnView& view, size_t begin, size_t count, uint64_t file_row,
                                 std::string_view misfit, Convert convert) {
  data_.Reserve(row_capacity_ * width_);
  const size_t valid = AppendValidity(view, begin, count);
  uint8_t* out = data_.data() + values_ * width_;
  bool fits = true;
  if (valid == count && view.selection == nullptr) {
    const In* in = static_cast<const In*>(view.values) + begin;
    for (size_t i = 0; i < count; ++i) fits &= convert(in[i], out + i * width_);
  } else if (valid == count) {
    for (size_t i = 0; i < count; ++i) fits &= convert(view.Value<In>(begin + i), out + i * width_);
  } else {
    for (size_t i = begin; i < begin + count; ++i) {
      const bool is_valid = view.IsValid(i);
      fits &= convert(view.Value<In>(i), out) | !is_valid;
      out += is_valid ? width_ : 0;
    }
  }
  if (!fits) {
    uint8_t scratch[2 * RawBuffer::kSlack];
    size_t i = begin;
    while (!view.IsValid(i) || convert(view.Value<In>(i), scratch)) ++i;
    return RowError(file_row + (i - begin), misfit);
  }
  rows_ += count;
  values_ += valid;
  data_.set_size(values_ * width_);
  return Status::Ok();
}

template <typename In>
Status ColumnBuffer::AppendAsIs(const ColumnView& view, size_t begin, size_t count, uint64_t file_row) {
  return AppendFixed<In>(view, begin, count, file_row, "", [](In value, uint8_t* out) {
    StoreLe(out, value);
    return true;
  });
}

Status ColumnBuffer::AppendDecimal(const ColumnView& view, size_t begin, size_t count, uint64_t file_row) {
  const Type& type = field_.type;
  const std::string misfit = fmt::format("the number has more digits than {}", type.ToString());
  const int128_t limit = PowerOfTen(type.precision);
  const auto append_narrow = [&]<typename In, typename Out>(In, Out) {
    return AppendFixed<In>(view, begin, count, file_row, misfit,
                           [limit = static_cast<Out>(limit)](In value, uint8_t* out) {
                             StoreLe<Out>(out, value);
                             return (value < limit) & (value > -limit);  // no branch: this loop is vectorized
                           });
  };
  if (type.precision <= 4) return append_narrow(int16_t{}, int32_t{});
  if (type.precision <= 9) return append_narrow(int32_t{}, int32_t{});
  if (type.precision <= 18) return append_narrow(int64_t{}, int64_t{});
  return AppendFixed<Int128>(view, begin, count, file_row, misfit,
                             [limit, width = width_](const Int128& value, uint8_t* out) {
                               uint8_t bytes[16];
                               StoreBigEndian128(static_cast<uint64_t>(value.high), value.low, bytes);
                               std::memcpy(out, bytes + 16 - width, width);
                               return ToNative(value) < limit && ToNative(value) > -limit;
                             });
}

Status ColumnBuffer::CheckUtf8(const ColumnView& view, size_t begin, size_t count, size_t first_value,
                               uint64_t file_row) const {
  // Length prefixes of short strings are ASCII bytes too, so that one look at the whole piece
  // settles most of them.
  if (!HasHighBit(Plain(first_value, values_))) return Status::Ok();
  size_t at = first_value;
  for (size_t i = begin; i < begin + count; ++i) {
    if (!view.IsValid(i)) continue;
    const std::string_view text = value(at++);
    const size_t prefix = Utf8ValidPrefix(text);
    if (prefix != text.size()) {
      return RowError(file_row + (i - begin), fmt::format("the text is not valid UTF-8 at byte {}", prefix));
    }
  }
  return Status::Ok();
}

// Copies `count` strings behind one another, with their length prefixes; the room is there.
template <bool kAllValid>
void ColumnBuffer::CopyStrings(const ColumnView& view, size_t begin, size_t count) {
  uint8_t* const data = data_.data();
  size_t at = data_.size();
  uint32_t* next = offsets_.data() + values_ + 1;
  for (size_t i = begin; i < begin + count; ++i) {
    if (!kAllValid && !view.IsValid(i)) continue;
    const StringRef& text = view.Value<StringRef>(i);
    const uint32_t size = text.size();
    StoreLe(data + at, size);
    at += sizeof size;
    if (text.is_inline()) {
      std::memcpy(data + at, text.data(), StringRef::kInlineSize);  // a constant size: no call
    } else {
      std::memcpy(data + at, text.data(), size);
    }
    at += size;
    *next++ = static_cast<uint32_t>(at);
  }
  data_.set_size(at);
}

Status ColumnBuffer::AppendStrings(const ColumnView& view, size_t begin, size_t count, uint64_t file_row) {
  const size_t bytes = PlainStringBytes(view, begin, count);
  for (size_t i = begin; bytes > kMaxValueBytes && i < begin + count; ++i) {
    if (!view.IsValid(i) || view.Value<StringRef>(i).size() <= kMaxValueBytes) continue;
    return RowError(file_row + (i - begin),
                    fmt::format("a value of {} bytes is too long for a Parquet page", view.Value<StringRef>(i).size()));
  }
  CHECK(data_.size() + bytes <= UINT32_MAX);  // RowGroupBuffer cuts the row group before
  const size_t first_value = values_;
  const size_t valid = AppendValidity(view, begin, count);
  data_.Reserve(data_.size() + bytes);
  offsets_.resize(first_value + valid + 1);
  if (valid == count) {
    CopyStrings<true>(view, begin, count);
  } else {
    CopyStrings<false>(view, begin, count);
  }
  rows_ += count;
  values_ += valid;
  return field_.type.IsUtf8() ? CheckUtf8(view, begin, count, first_value, file_row) : Status::Ok();
}

Status ColumnBuffer::Append(const ColumnView& view, size_t begin, size_t count, uint64_t file_row) {
  DCHECK(rows_ + count <= row_capacity_);
  if (!field_.nullable && view.validity != nullptr) {
    for (size_t i = begin; i < begin + count; ++i) {
      if (!view.IsValid(i)) return RowError(file_row + (i - begin), "null, in a column that is not nullable");
    }
  }
  const auto widen = [&]<typename In>(In) {
    return AppendFixed<In>(view, begin, count, file_row, "", [](In value, uint8_t* out) {
      StoreLe(out, static_cast<int32_t>(value));
      return true;
    });
  };
  switch (field_.type.id) {
    case TypeId::kBool:
      return AppendFixed<uint8_t>(view, begin, count, file_row, "", [](uint8_t value, uint8_t* out) {
        *out = value != 0 ? 1 : 0;
        return true;
      });
    case TypeId::kInt8:
      return widen(int8_t{});
    case TypeId::kInt16:
      return widen(int16_t{});
    case TypeId::kUInt8:
      return widen(uint8_t{});
    case TypeId::kUInt16:
      return widen(uint16_t{});
    case TypeId::kInt32:
    case TypeId::kUInt32:
    case TypeId::kDate:
      return AppendAsIs<int32_t>(view, begin, count, file_row);
    case TypeId::kFloat:
      return AppendAsIs<float>(view, begin, count, file_row);
    case TypeId::kDouble:
      return AppendAsIs<double>(view, begin, count, file_row);
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      if (field_.type.unit == TimeUnit::kSecond) {
        return AppendFixed<int64_t>(view, begin, count, file_row, kSecondsUnfit, StoreSecondsAsMillis);
      }
      [[fallthrough]];
    case TypeId::kInt64:
    case TypeId::kUInt64:
    case TypeId::kTime:
      return AppendAsIs<int64_t>(view, begin, count, file_row);
    case TypeId::kDecimal:
      return AppendDecimal(view, begin, count, file_row);
    case TypeId::kUuid:
      return AppendFixed<Int128>(view, begin, count, file_row, "", [](const Int128& value, uint8_t* out) {
        StoreBigEndian128(static_cast<uint64_t>(value.high) ^ uint64_t{1} << 63, value.low, out);
        return true;
      });
    case TypeId::kInterval:
      return AppendFixed<Interval>(view, begin, count, file_row, kIntervalUnfit, StoreInterval);
    case TypeId::kString:
    case TypeId::kBinary:
    case TypeId::kJson:
      return AppendStrings(view, begin, count, file_row);
  }
  __builtin_unreachable();
}

}  // namespace petalite::parquet
