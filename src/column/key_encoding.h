// Order-preserving encoding of composite keys: comparing two encoded keys bytewise (memcmp, a
// shorter prefix first) orders them as their columns do from first to last. Equality of bytes is
// equality of keys.
//
// signed integers, date, time, timestamp, decimal up to 18 digits: big-endian in the width of their
// layout, sign bit flipped. unsigned integers: big-endian. decimal over 18 digits: 16 bytes,
// big-endian, sign bit flipped. uuid: its 16 bytes. string, json, binary: as the last column of the
// key, its bytes as they stand; elsewhere each 00 byte becomes 00 FF, and 00 00 ends it.
// (docs/format.md has a worked example.)

#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "petalite/column_view.h"
#include "petalite/schema.h"
#include "petalite/value.h"

namespace petalite {

inline constexpr size_t kMaxKeySize = 16 * 1024;  // bytes of an encoded key

// Encoded keys of a batch, one after another in a buffer of their own.
class EncodedKeys {
 public:
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  // Of keys in rising order: the first that is not below `key`.
  size_t LowerBound(std::string_view key) const;
  size_t memory_bytes() const { return sizeof(*this) + bytes_.capacity() + ends_.capacity() * sizeof(size_t); }

 private:
  friend Status EncodeKeys(const std::vector<Type>&, std::span<const ColumnView>, EncodedKeys*);
  std::string bytes_;
  std::vector<size_t> ends_;
};

// Encodes one key per row; `types` and `columns` are the key's columns in key order. Fails with the
// row's number where a key column is null or a key exceeds kMaxKeySize. Replaces what `out` held.
Status EncodeKeys(const std::vector<Type>& types, std::span<const ColumnView> columns, EncodedKeys* out);

// Encodes one value of a key column of fixed width: `width` bytes in its layout at `value`, that many at `to`. Layouts
// of 16 bytes are signed.
inline void EncodeKeyNumber(const void* value, size_t width, bool is_signed, char* to) {
  const auto* const from = static_cast<const char*>(value);
  const auto store = [&](auto number, size_t at, bool flip) {
    std::memcpy(&number, from + at, sizeof number);
    if (flip) number = static_cast<decltype(number)>(number ^ decltype(number){1} << (8 * sizeof number - 1));
    if constexpr (sizeof number == 2) number = __builtin_bswap16(number);
    if constexpr (sizeof number == 4) number = __builtin_bswap32(number);
    if constexpr (sizeof number == 8) number = __builtin_bswap64(number);
    std::memcpy(to + (width - sizeof number - at), &number, sizeof number);
  };
  switch (width) {
    case 1:
      return store(uint8_t{}, 0, is_signed);
    case 2:
      return store(uint16_t{}, 0, is_signed);
    case 4:
      return store(uint32_t{}, 0, is_signed);
    case 8:
      return store(uint64_t{}, 0, is_signed);
    default:
      store(uint64_t{}, 0, false);
      return store(uint64_t{}, 8, is_signed);
  }
}

// Encodes a key given by values; fails on a null.
Result<std::string> EncodeKey(const std::vector<Type>& types, std::span<const Value> values);

// The inverse; kCorruption if the bytes are no encoding of such a key.
Result<std::vector<Value>> DecodeKey(const std::vector<Type>& types, std::string_view key);

// "(1, 'abc')", for messages.
std::string FormatKey(const std::vector<Type>& types, std::span<const Value> values);

}  // namespace petalite
