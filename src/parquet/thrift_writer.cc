#include "parquet/thrift_writer.h"

namespace petalite::parquet {
namespace {

enum CompactType : uint8_t { kI8 = 3, kI16 = 4, kI32 = 5, kI64 = 6, kBinary = 8, kList = 9, kStruct = 12 };

}  // namespace

void ThriftWriter::FieldHeader(int16_t id, uint8_t type) {
  int16_t& last = last_id_[depth_];
  const int delta = id - last;
  if (delta >= 1 && delta <= 15) {
    out_->push_back(static_cast<uint8_t>(delta << 4 | type));
  } else {
    out_->push_back(type);
    ZigZag(id);
  }
  last = id;
}

void ThriftWriter::ZigZag(int64_t value) {
  AppendVarint(*out_, static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
}

void ThriftWriter::I8(int16_t id, int8_t value) {
  FieldHeader(id, kI8);
  out_->push_back(static_cast<uint8_t>(value));
}

void ThriftWriter::I16(int16_t id, int16_t value) {
  FieldHeader(id, kI16);
  ZigZag(value);
}

void ThriftWriter::I32(int16_t id, int32_t value) {
  FieldHeader(id, kI32);
  ZigZag(value);
}

void ThriftWriter::I64(int16_t id, int64_t value) {
  FieldHeader(id, kI64);
  ZigZag(value);
}

void ThriftWriter::Binary(int16_t id, std::string_view value) {
  FieldHeader(id, kBinary);
  ElementBinary(value);
}

void ThriftWriter::ElementBinary(std::string_view value) {
  AppendVarint(*out_, value.size());
  AppendBytes(*out_, AsBytes(value));
}

void ThriftWriter::Push() {
  CHECK(depth_ + 1 < kMaxDepth);
  last_id_[++depth_] = 0;
}

void ThriftWriter::BeginStruct(int16_t id) {
  FieldHeader(id, kStruct);
  Push();
}

void ThriftWriter::EndStruct() {
  out_->push_back(0);
  if (depth_ > 0) --depth_;
}

void ThriftWriter::EmptyStruct(int16_t id) {
  BeginStruct(id);
  EndStruct();
}

void ThriftWriter::BeginList(int16_t id, ElementType type, size_t count) {
  FieldHeader(id, kList);
  const auto element = static_cast<uint8_t>(type);
  if (count < 15) {
    out_->push_back(static_cast<uint8_t>(count << 4 | element));
  } else {
    out_->push_back(static_cast<uint8_t>(0xf0 | element));
    AppendVarint(*out_, count);
  }
}

}  // namespace petalite::parquet
