#include "parquet/thrift_reader.h"

namespace petalite::parquet {

Status ThriftReader::status() const {
  if (ok()) return Status::Ok();
  return Corruption("thrift: the structure {} (byte {})", failure_, failure_position_);
}

void ThriftReader::Fail(const char* why) {
  if (failure_ != nullptr) return;
  failure_ = why;
  failure_position_ = position();
  at_ = end_;
}

uint64_t ThriftReader::LongVarint() {
  uint64_t result = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = Byte();
    if (shift == 63 && byte > 1) break;
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return ok() ? result : 0;
  }
  Fail("holds a number of more than 64 bits");
  return 0;
}

std::string_view ThriftReader::Binary() {
  const uint64_t size = Varint();
  if (size > remaining()) [[unlikely]] {
    Fail("holds a string longer than itself");
    return {};
  }
  const std::string_view text(reinterpret_cast<const char*>(at_), size);
  at_ += size;
  return text;
}

size_t ThriftReader::ListHeader(Wire* element) {
  const uint8_t header = Byte();
  *element = static_cast<Wire>(header & 0x0f);
  if (*element == Wire::kFalse) *element = Wire::kTrue;
  const uint64_t size = header >> 4 == 15 ? Varint() : header >> 4;
  if (size > remaining()) [[unlikely]] {
    Fail("holds a list longer than itself");
    return 0;
  }
  return size;
}

size_t ThriftReader::ListOf(Wire element) {
  Wire actual;
  const size_t size = ListHeader(&actual);
  // Some writers put an element type of 0 on empty lists.
  if (size != 0 && actual != element) [[unlikely]] {
    Fail("has a list of an unexpected type");
    return 0;
  }
  return size;
}

void ThriftReader::SkipMap(int depth) {
  const uint64_t size = Varint();
  if (size == 0) return;
  const uint8_t types = Byte();
  if (size > remaining()) Fail("holds a map longer than itself");
  for (uint64_t i = 0; i < size && ok(); ++i) {
    SkipNested(static_cast<Wire>(types >> 4), depth);
    SkipNested(static_cast<Wire>(types & 0x0f), depth);
  }
}

void ThriftReader::SkipNested(Wire wire, int depth) {
  if (depth > kMaxDepth) return Fail("is nested too deeply");
  const auto skip_bytes = [this](size_t count) {
    if (count > remaining()) return Fail("ends too early");
    at_ += count;
  };
  switch (wire) {
    case Wire::kTrue:
    case Wire::kFalse:
      return;  // the value of a field is its type
    case Wire::kByte:
      return skip_bytes(1);
    case Wire::kI16:
    case Wire::kI32:
    case Wire::kI64:
      (void)Varint();
      return;
    case Wire::kDouble:
      return skip_bytes(8);
    case Wire::kUuid:
      return skip_bytes(16);
    case Wire::kBinary:
      (void)Binary();
      return;
    case Wire::kList:
    case Wire::kSet: {
      Wire element;
      const size_t size = ListHeader(&element);
      if (element == Wire::kTrue) return skip_bytes(size);
      for (size_t i = 0; i < size && ok(); ++i) SkipNested(element, depth + 1);
      return;
    }
    case Wire::kMap:
      return SkipMap(depth + 1);
    case Wire::kStruct:
      while (ok()) {
        const uint8_t header = Byte();
        if (header == 0) return;
        if (header >> 4 == 0) (void)Varint();  // the field's id
        SkipNested(static_cast<Wire>(header & 0x0f), depth + 1);
      }
      return;
    case Wire::kStop:
      break;
  }
  Fail("has a field of an unknown type");
}

bool ThriftStruct::Next() {
  if (!taken_) in_.Skip(wire_);
  const uint8_t header = in_.Byte();
  if (header == 0) return false;  // the stop byte, or a failure
  const int delta = header >> 4;
  id_ = delta != 0 ? id_ + delta : in_.I32();
  wire_ = static_cast<Wire>(header & 0x0f);
  taken_ = false;
  return in_.ok();
}

}  // namespace petalite::parquet
