#include "column/key_encoding.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/bytes.h"
#include "column/types.h"

namespace petalite {
namespace {

// Within a string that is not the key's last column, 00 is written 00 FF, and 00 00 ends it: so the
// end sorts below every byte that could follow.
constexpr char kEscape = '\0';
constexpr char kEscapedZero = '\xFF';
constexpr std::string_view kEnd("\0\0", 2);

template <typename T>
T SwapBytes(T value) {
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

// What turns two's complement into the same order of unsigned numbers.
template <typename T>
constexpr std::make_unsigned_t<T> kSignFlip =
    std::is_signed_v<T> ? std::make_unsigned_t<T>{1} << (8 * sizeof(T) - 1) : std::make_unsigned_t<T>{0};

template <typename T>
void StoreKey(char* to, T value) {
  using Unsigned = std::make_unsigned_t<T>;
  StoreLe(to, SwapBytes<Unsigned>(static_cast<Unsigned>(value) ^ kSignFlip<T>));
}
inline void StoreKey(char* to, Int128 value) {
  StoreKey(to, value.high);
  StoreKey(to + 8, value.low);
}

template <typename T>
T LoadKey(const char* from) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<T>(SwapBytes(LoadLe<Unsigned>(from)) ^ kSignFlip<T>);
}
template <>
inline Int128 LoadKey(const char* from) {
  return {.low = LoadKey<uint64_t>(from + 8), .high = LoadKey<int64_t>(from)};
}

// The layouts that a key column of fixed width can have.
template <typename T>
constexpr bool kFixedWidth = std::is_integral_v<T> || std::is_same_v<T, Int128>;

char* WriteBytes(char* to, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

// Without the end.
char* WriteEscaped(char* to, std::string_view text) {
  for (size_t zero; (zero = text.find(kEscape)) != std::string_view::npos; text.remove_prefix(zero + 1)) {
    to = WriteBytes(to, text.substr(0, zero + 1));
    *to++ = kEscapedZero;
  }
  return WriteBytes(to, text);
}

std::optional<size_t> FirstNull(const ColumnView& column) {
  if (column.validity == nullptr) return std::nullopt;
  size_t row = 0;
  if (column.selection == nullptr) {  // 64 at a time, as far as all of them are valid
    while (row + 64 <= column.size && column.validity[row / 64] == ~uint64_t{0}) row += 64;
  }
  for (; row < column.size; row++) {
    if (!column.IsValid(row)) return row;
  }
  return std::nullopt;
}

Status NullInKey(size_t column) { return InvalidArgument("column {} of the key is null", column + 1); }

Status TooLong(size_t size) {
  return InvalidArgument("the key takes {} bytes encoded; at most {} are allowed", size, kMaxKeySize);
}

// Keys of columns of fixed width, which all lie at multiples of one stride.
void EncodeFixed(const std::vector<Type>& types, std::span<const ColumnView> columns, size_t stride, char* out) {
  for (size_t c = 0; c < types.size(); c++) {
    const ColumnView& column = columns[c];
    VisitLayout(types[c], [&]<typename T>(T) {
      if constexpr (kFixedWidth<T>) {
        if (column.selection == nullptr && stride == sizeof(T)) {  // the only column: the loop becomes vector code
          const T* const values = static_cast<const T*>(column.values);
          for (size_t i = 0; i < column.size; i++) StoreKey(out + i * sizeof(T), values[i]);
        } else {
          for (size_t i = 0; i < column.size; i++) StoreKey(out + i * stride, column.Value<T>(i));
        }
        out += sizeof(T);
      }
    });
  }
}

// How the strings of a column stand in the keys.
enum class StringForm {
  kBare,        // the key's last column
  kTerminated,  // no string of the batch has a 00: all but always so, and then copying is all there is to do
  kEscaped,
};

// Adds what each row's value takes in the key.
StringForm AddSizes(const Type& type, const ColumnView& column, bool last, std::vector<size_t>* sizes) {
  if (!type.IsString()) {
    for (size_t& size : *sizes) size += type.Width();
    return StringForm::kBare;
  }
  size_t zeroes = 0;
  for (size_t i = 0; i < column.size; i++) {
    const std::string_view text = column.Value<StringRef>(i).view();
    (*sizes)[i] += text.size() + (last ? 0 : kEnd.size());
    if (last || text.find(kEscape) == std::string_view::npos) continue;
    const auto found = static_cast<size_t>(std::count(text.begin(), text.end(), kEscape));
    (*sizes)[i] += found;
    zeroes += found;
  }
  if (last) return StringForm::kBare;
  return zeroes == 0 ? StringForm::kTerminated : StringForm::kEscaped;
}

// Writes each row's value at its position, and moves the position behind it.
void WriteColumn(const Type& type, const ColumnView& column, StringForm form, char* out,
                 std::vector<size_t>* positions) {
  VisitLayout(type, [&]<typename T>(T) {
    for (size_t i = 0; i < column.size; i++) {
      size_t& at = (*positions)[i];
      if constexpr (kFixedWidth<T>) {
        StoreKey(out + at, column.Value<T>(i));
        at += sizeof(T);
      } else if constexpr (std::is_same_v<T, StringRef>) {
        const std::string_view text = column.Value<StringRef>(i).view();
        char* end = form == StringForm::kEscaped ? WriteEscaped(out + at, text) : WriteBytes(out + at, text);
        if (form != StringForm::kBare) end = WriteBytes(end, kEnd);
        at = static_cast<size_t>(end - out);
      }
    }
  });
}

// Keys with strings, in two passes: sizes, then bytes. `ends` holds the sizes, then where the next
// column of each key goes, and in the end each key's end.
Status EncodeVariable(const std::vector<Type>& types, std::span<const ColumnView> columns, std::string* bytes,
                      std::vector<size_t>* ends, size_t* bad_row) {
  std::fill(ends->begin(), ends->end(), size_t{0});
  std::vector<StringForm> forms(types.size());
  for (size_t c = 0; c < types.size(); c++) forms[c] = AddSizes(types[c], columns[c], c + 1 == types.size(), ends);
  size_t total = 0;
  for (size_t i = 0; i < ends->size(); i++) {
    const size_t size = (*ends)[i];
    if (size > kMaxKeySize) {
      *bad_row = i;
      return TooLong(size);
    }
    (*ends)[i] = total;
    total += size;
  }
  bytes->resize(total);
  for (size_t c = 0; c < types.size(); c++) WriteColumn(types[c], columns[c], forms[c], bytes->data(), ends);
  return Status::Ok();
}

// EncodeKeys without the row's number in the message, which goes to `bad_row`.
Status EncodeRows(const std::vector<Type>& types, std::span<const ColumnView> columns, std::string* bytes,
                  std::vector<size_t>* ends, size_t* bad_row) {
  CHECK(!types.empty() && types.size() == columns.size());
  const size_t rows = columns[0].size;
  size_t stride = 0;
  bool fixed = true;
  for (size_t c = 0; c < types.size(); c++) {
    CHECK(types[c].CanBeKey() && columns[c].size == rows);
    if (const std::optional<size_t> row = FirstNull(columns[c])) {
      *bad_row = *row;
      return NullInKey(c);
    }
    fixed = fixed && !types[c].IsString();
    stride += types[c].Width();
  }
  ends->resize(rows);
  if (!fixed) return EncodeVariable(types, columns, bytes, ends, bad_row);
  bytes->resize(rows * stride);
  for (size_t i = 0; i < rows; i++) (*ends)[i] = (i + 1) * stride;
  EncodeFixed(types, columns, stride, bytes->data());
  return Status::Ok();
}

Status BadKey(std::string_view key) { return Corruption("{} bytes are no key of this table", key.size()); }

// Takes an escaped string and its end off the front of `rest`.
bool TakeEscaped(std::string_view* rest, std::string* text) {
  for (;;) {
    const size_t zero = rest->find(kEscape);
    if (zero == std::string_view::npos || zero + 1 == rest->size()) return false;
    const char next = (*rest)[zero + 1];
    text->append(rest->substr(0, zero));
    rest->remove_prefix(zero + 2);
    if (next == kEnd[1]) return true;
    if (next != kEscapedZero) return false;
    text->push_back(kEscape);
  }
}

bool TakeValue(const Type& type, bool last, std::string_view* rest, Value* value) {
  if (type.IsString()) {
    std::string text;
    if (last) {
      text = *rest;
      *rest = {};
    } else if (!TakeEscaped(rest, &text)) {
      return false;
    }
    *value = Value(std::move(text));
    return true;
  }
  if (rest->size() < type.Width()) return false;
  VisitLayout(type, [&]<typename T>(T) {
    if constexpr (kFixedWidth<T>) {
      const T slot = LoadKey<T>(rest->data());
      *value = Value::FromSlot(type, &slot);
    }
  });
  rest->remove_prefix(type.Width());
  return true;
}

bool IsNumber(const Type& type) {
  return (type.id >= TypeId::kInt8 && type.id <= TypeId::kUInt64) || type.id == TypeId::kDecimal;
}

}  // namespace

size_t EncodedKeys::LowerBound(std::string_view key) const {
  size_t low = 0;
  size_t high = size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if ((*this)[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Status EncodeKeys(const std::vector<Type>& types, std::span<const ColumnView> columns, EncodedKeys* out) {
  size_t bad_row = 0;
  const Status status = EncodeRows(types, columns, &out->bytes_, &out->ends_, &bad_row);
  return status.ok() ? status : status.WithContext(fmt::format("row {}", bad_row));
}

Result<std::string> EncodeKey(const std::vector<Type>& types, std::span<const Value> values) {
  CHECK(types.size() == values.size());
  struct alignas(16) Slot {
    std::byte bytes[16];  // the widest layout
  };
  std::vector<Slot> slots(types.size());
  std::vector<ColumnView> columns(types.size());
  for (size_t c = 0; c < types.size(); c++) {
    if (values[c].is_null()) return NullInKey(c);
    values[c].ToSlot(types[c], &slots[c]);
    columns[c] = {.values = &slots[c], .size = 1};
  }
  std::string key;
  std::vector<size_t> ends;
  size_t bad_row = 0;
  RETURN_IF_ERROR(EncodeRows(types, columns, &key, &ends, &bad_row));
  return key;
}

Result<std::vector<Value>> DecodeKey(const std::vector<Type>& types, std::string_view key) {
  if (key.size() > kMaxKeySize) return BadKey(key);
  std::vector<Value> values(types.size());
  std::string_view rest = key;
  for (size_t c = 0; c < types.size(); c++) {
    if (!TakeValue(types[c], c + 1 == types.size(), &rest, &values[c])) return BadKey(key);
  }
  if (!rest.empty()) return BadKey(key);
  return values;
}

std::string FormatKey(const std::vector<Type>& types, std::span<const Value> values) {
  CHECK(types.size() == values.size());
  std::string text = "(";
  for (size_t c = 0; c < types.size(); c++) {
    if (c != 0) text += ", ";
    if (values[c].is_null()) {
      text += "NULL";
    } else if (IsNumber(types[c])) {
      text += values[c].ToString(types[c]);
    } else {
      text += '\'';
      for (const char character : values[c].ToString(types[c])) {
        if (character == '\'') text += '\'';
        text += character;
      }
      text += '\'';
    }
  }
  return text + ")";
}

}  // namespace petalite
