// The hash that Parquet's Bloom filters hold for a value: XXH64 over the PLAIN bytes of the physical
// value, in the file's own unit, without a length prefix.

#include <limits>

#include "base/hash.h"
#include "parquet/schema_mapping.h"

namespace petalite::parquet {
namespace {

template <typename T>
uint64_t HashOf(T value) {
  return Xxh64(&value, sizeof value);
}

// A whole number as the file has it: in the file's unit, where ours is another.
int64_t Whole(const LeafColumn& leaf, const Value& value) {
  const auto& storage = value.storage();
  if (const auto* number = std::get_if<uint64_t>(&storage)) return static_cast<int64_t>(*number);
  if (const auto* wide = std::get_if<Int128>(&storage)) return static_cast<int64_t>(wide->low);
  const int64_t number = value.as<int64_t>();
  const bool times_in_millis = leaf.field.type.id == TypeId::kTime && leaf.logical.unit == 1;
  if (times_in_millis) return number / 1000;
  const bool seconds = leaf.field.type.id == TypeId::kTimestamp && leaf.field.type.unit == TimeUnit::kSecond;
  // A product that wraps is a moment that the file cannot hold, whose hash may be anything.
  if (seconds) return static_cast<int64_t>(static_cast<uint64_t>(number) * 1000);
  return number;
}

// The last `length` bytes of the number, big-endian, sign-extended beyond sixteen.
uint64_t HashBigEndian(Int128 value, size_t length) {
  ByteBuffer bytes(std::max<size_t>(length, 16), value.high < 0 ? 0xff : 0);
  StoreLe(bytes.data() + bytes.size() - 16, __builtin_bswap64(static_cast<uint64_t>(value.high)));
  StoreLe(bytes.data() + bytes.size() - 8, __builtin_bswap64(value.low));
  return Xxh64(Bytes(bytes).last(length));
}

uint64_t HashFixed(const LeafColumn& leaf, const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.storage())) return Xxh64(*text);
  Int128 number;
  if (const auto* wide = std::get_if<Int128>(&value.storage())) {
    number = *wide;
  } else {
    number = FromNative(value.as<int64_t>());
  }
  if (leaf.field.type.id == TypeId::kUuid) number.high ^= std::numeric_limits<int64_t>::min();
  return HashBigEndian(number, static_cast<size_t>(leaf.type_length));
}

}  // namespace

uint64_t FilterHash(const LeafColumn& leaf, const Value& value) {
  switch (leaf.physical) {
    case PhysicalType::kInt32:
      return HashOf(static_cast<int32_t>(Whole(leaf, value)));
    case PhysicalType::kInt64:
      return HashOf(Whole(leaf, value));
    case PhysicalType::kFloat:
      return HashOf(static_cast<float>(value.as<double>()));
    case PhysicalType::kDouble:
      return HashOf(value.as<double>());
    case PhysicalType::kByteArray:
      return Xxh64(value.as<std::string>());
    case PhysicalType::kFixedLenByteArray:
      return HashFixed(leaf, value);
    case PhysicalType::kBoolean:
    case PhysicalType::kInt96:
      break;
  }
  CHECK(leaf.can_filter && "hash of a type without filters");
  return 0;
}

}  // namespace petalite::parquet
