// Writes structures in Thrift's compact protocol, as far as Parquet's metadata uses it
// (thrift/doc/specs/thrift-compact-protocol.md).
//
// Fields of a struct are written in ascending order of their ids. A struct that is a field or a
// list's element opens with Begin… and ends with EndStruct; the outermost struct has only its
// EndStruct.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace petalite::parquet {

class ThriftWriter {
 public:
  enum class ElementType : uint8_t { kBool = 1, kI32 = 5, kI64 = 6, kBinary = 8, kStruct = 12 };

  // Appends to `out`, which must outlive this.
  explicit ThriftWriter(ByteBuffer* out) : out_(out) {}

  void Bool(int16_t id, bool value) { FieldHeader(id, value ? 1 : 2); }
  void I8(int16_t id, int8_t value);
  void I16(int16_t id, int16_t value);
  void I32(int16_t id, int32_t value);
  void I64(int16_t id, int64_t value);
  void Binary(int16_t id, std::string_view value);
  void BeginStruct(int16_t id);
  void EndStruct();
  // A struct without fields, which is how unions name a choice that has no parameters.
  void EmptyStruct(int16_t id);

  // Followed by `count` elements of that type.
  void BeginList(int16_t id, ElementType type, size_t count);
  void ElementBool(bool value) { out_->push_back(value ? 1 : 2); }
  void ElementI32(int32_t value) { ZigZag(value); }
  void ElementI64(int64_t value) { ZigZag(value); }
  void ElementBinary(std::string_view value);
  void BeginElementStruct() { Push(); }

 private:
  static constexpr size_t kMaxDepth = 16;  // of nested structs; Parquet's footer has 7

  void FieldHeader(int16_t id, uint8_t type);
  void ZigZag(int64_t value);
  void Push();

  ByteBuffer* out_;
  std::array<int16_t, kMaxDepth> last_id_{};  // of each open struct
  size_t depth_ = 0;
};

}  // namespace petalite::parquet
