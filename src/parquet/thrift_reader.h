// Reads the Thrift compact protocol, as far as Parquet's metadata uses it, from bytes that may be
// anything.
//
// A reader fails once and for good: from then on every number is 0, every string empty, and every
// structure and list at its end. So parsers have no error paths of their own, and ask ok() when
// they are done. Nothing is read beyond the end, nothing recurses deeper than kMaxDepth, and a
// list's size never exceeds the bytes that are left.

#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace petalite::parquet {

class ThriftReader {
 public:
  // The protocol's type numbers. As an element of a list a boolean is kTrue, whatever its value.
  enum class Wire : uint8_t {
    kStop = 0,
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kI16 = 4,
    kI32 = 5,
    kI64 = 6,
    kDouble = 7,
    kBinary = 8,
    kList = 9,
    kSet = 10,
    kMap = 11,
    kStruct = 12,
    kUuid = 13,
  };

  explicit ThriftReader(Bytes bytes) : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  bool ok() const { return failure_ == nullptr; }
  // kCorruption, with what was wrong first and where.
  Status status() const;
  size_t position() const { return static_cast<size_t>(at_ - begin_); }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  void Fail(const char* why);

  // Values as elements of lists; those of fields are read through ThriftStruct, which knows their
  // wire type.
  uint8_t Byte() {
    if (at_ == end_) [[unlikely]] {
      Fail("ends too early");
      return 0;
    }
    return *at_++;
  }
  bool Bool() { return Byte() == 1; }
  uint64_t Varint() {
    if (at_ != end_ && *at_ < 0x80) [[likely]]
      return *at_++;
    return LongVarint();
  }
  int64_t I64() {
    const uint64_t zigzag = Varint();
    return static_cast<int64_t>(zigzag >> 1 ^ (~(zigzag & 1) + 1));
  }
  int32_t I32() {
    const int64_t value = I64();
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) [[unlikely]] {
      Fail("holds a number beyond 32 bits");
      return 0;
    }
    return static_cast<int32_t>(value);
  }
  std::string_view Binary();
  // The header of a list; returns how many elements follow. Fails on elements of another type.
  size_t ListOf(Wire element);
  void Skip(Wire wire) { SkipNested(wire, 0); }

 private:
  static constexpr int kMaxDepth = 32;

  uint64_t LongVarint();
  size_t ListHeader(Wire* element);
  void SkipNested(Wire wire, int depth);
  void SkipMap(int depth);

  const uint8_t* begin_;
  const uint8_t* at_;
  const uint8_t* end_;
  const char* failure_ = nullptr;
  size_t failure_position_ = 0;
};

// The fields of one structure:
//
//   for (ThriftStruct fields(in); fields.Next();) {
//     switch (fields.id()) {
//       case 1: number = fields.I64(); break;
//     }
//   }
//
// Fields that nobody reads are skipped; one read as another type than the file has is a failure.
class ThriftStruct {
 public:
  using Wire = ThriftReader::Wire;

  explicit ThriftStruct(ThriftReader& in) : in_(in) {}

  bool Next();
  int id() const { return id_; }

  bool Bool() {
    Take(wire_ == Wire::kTrue || wire_ == Wire::kFalse);
    return wire_ == Wire::kTrue;
  }
  int8_t I8() { return Take(wire_ == Wire::kByte) ? static_cast<int8_t>(in_.Byte()) : int8_t{0}; }
  int32_t I32() { return Take(wire_ == Wire::kI32) ? in_.I32() : 0; }
  int64_t I64() { return Take(wire_ == Wire::kI64) ? in_.I64() : 0; }
  std::string_view Binary() { return Take(wire_ == Wire::kBinary) ? in_.Binary() : std::string_view(); }
  size_t ListOf(Wire element) { return Take(wire_ == Wire::kList) ? in_.ListOf(element) : 0; }
  // The reader, standing at the first field of the nested structure.
  ThriftReader& Struct() {
    Take(wire_ == Wire::kStruct);
    return in_;
  }

 private:
  bool Take(bool type_matches) {
    if (!type_matches) [[unlikely]]
      in_.Fail("has a field of an unexpected type");
    taken_ = true;
    return type_matches;
  }

  ThriftReader& in_;
  Wire wire_ = Wire::kStop;
  bool taken_ = true;
  int id_ = 0;
};

}  // namespace petalite::parquet
