// Byte spans, little-endian loads and stores, and a cursor that cannot run past its end.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace petalite {

using Bytes = std::span<const uint8_t>;
using MutableBytes = std::span<uint8_t>;
using ByteBuffer = std::vector<uint8_t>;

static_assert(std::endian::native == std::endian::little, "on-disk values are copied as they stand in memory");

inline Bytes AsBytes(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
inline std::string_view AsText(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Reads or writes a trivially copyable value at any alignment, little-endian.
template <typename T>
T LoadLe(const void* from) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T>
void StoreLe(void* to, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(to, &value, sizeof(T));
}
template <typename T>
void AppendLe(ByteBuffer& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof(T));
  StoreLe(out.data() + at, value);
}
inline void AppendBytes(ByteBuffer& out, Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

// A forward cursor over foreign bytes. Every read reports whether the bytes were there; nothing is
// read beyond them.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  Bytes rest() const { return bytes_.subspan(position_); }

  template <typename T>
  [[nodiscard]] bool Read(T* value) {
    if (remaining() < sizeof(T)) return false;
    *value = LoadLe<T>(bytes_.data() + position_);
    position_ += sizeof(T);
    return true;
  }
  [[nodiscard]] bool Take(size_t count, Bytes* out) {
    if (remaining() < count) return false;
    *out = bytes_.subspan(position_, count);
    position_ += count;
    return true;
  }
  [[nodiscard]] bool Skip(size_t count) {
    Bytes ignored;
    return Take(count, &ignored);
  }
  // Unsigned LEB128, at most ten bytes, as Thrift's compact protocol and Parquet's run headers have
  // it.
  [[nodiscard]] bool ReadVarint(uint64_t* value) {
    uint64_t result = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      uint8_t byte;
      if (!Read(&byte)) return false;
      if (shift == 63 && byte > 1) return false;
      result |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) {
        *value = result;
        return true;
      }
    }
    return false;
  }

 private:
  Bytes bytes_;
  size_t position_ = 0;
};

inline void AppendVarint(ByteBuffer& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<uint8_t>(value) | 0x80);
    value >>= 7;
  }
  out.push_back(static_cast<uint8_t>(value));
}

}  // namespace petalite
