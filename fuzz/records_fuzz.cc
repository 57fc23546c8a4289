// Reads foreign bytes as the body of a record of the log; the first byte says as which. What is accepted must survive a
// round trip: written again it is read as the same.

#include <cstdint>

#include "store/records.h"

namespace petalite::store {
namespace {

// A type whose values have this width; none if there is none.
std::optional<Type> TypeOfWidth(uint8_t width) {
  for (const TypeId id :
       {TypeId::kBinary, TypeId::kUInt8, TypeId::kInt16, TypeId::kInt32, TypeId::kInt64, TypeId::kUuid}) {
    const Type type = Type::Of(id);
    if (width == (type.IsString() ? 0 : type.Width())) return type;
  }
  return std::nullopt;
}

// None if a column is of a width that no type has: recovery refuses it.
std::optional<ByteBuffer> Serialize(const CommitRecord& record) {
  ByteBuffer out;
  AppendLe<uint64_t>(out, record.commit);
  AppendLe<int64_t>(out, record.time);
  AppendBytes(out, SerializeCommitMeta(record.meta));
  for (const DecodedChange& each : record.changes) {
    Schema schema;
    for (const uint8_t width : each.widths()) {
      const auto type = TypeOfWidth(width);
      if (!type.has_value()) return std::nullopt;
      schema.fields.push_back({.name = "c", .type = *type});
    }
    AppendTabletChange(each.change, schema, &out);
  }
  return out;
}

void ReadCommit(Bytes payload) {
  const auto record = ParseCommitRecord(payload);
  if (!record.ok()) return;
  const auto written = Serialize(*record);
  if (!written.has_value()) return;
  const auto again = ParseCommitRecord(*written);
  CHECK(again.ok());
  CHECK(Serialize(*again) == written);
}

void ReadStorage(Bytes payload) {
  const auto record = ParseStorageRecord(payload);
  if (!record.ok()) return;
  const ByteBuffer written = SerializeStorageRecord(*record);
  const auto again = ParseStorageRecord(written);
  CHECK(again.ok());
  CHECK(SerializeStorageRecord(*again) == written);
}

void ReadChanges(Bytes bytes) {
  const auto changes = ParseCatalogChanges(bytes);
  if (!changes.ok()) return;
  const ByteBuffer written = SerializeCatalogChanges(*changes);
  const auto again = ParseCatalogChanges(written);
  CHECK(again.ok());
  CHECK(SerializeCatalogChanges(*again) == written);
}

}  // namespace
}  // namespace petalite::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const petalite::Bytes rest(data + 1, size - 1);
  if (data[0] % 3 == 0) petalite::store::ReadCommit(rest);
  if (data[0] % 3 == 1) petalite::store::ReadStorage(rest);
  if (data[0] % 3 == 2) petalite::store::ReadChanges(rest);
  return 0;
}
