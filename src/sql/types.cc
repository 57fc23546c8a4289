#include "sql/types.h"

#include "duckdb/common/types/vector.hpp"

#include "sql/errors.h"

namespace petalite::sql {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;

LogicalType ToDuck(const Type& type) {
  switch (type.id) {
    case TypeId::kBool:
      return LogicalType::BOOLEAN;
    case TypeId::kInt8:
      return LogicalType::TINYINT;
    case TypeId::kInt16:
      return LogicalType::SMALLINT;
    case TypeId::kInt32:
      return LogicalType::INTEGER;
    case TypeId::kInt64:
      return LogicalType::BIGINT;
    case TypeId::kUInt8:
      return LogicalType::UTINYINT;
    case TypeId::kUInt16:
      return LogicalType::USMALLINT;
    case TypeId::kUInt32:
      return LogicalType::UINTEGER;
    case TypeId::kUInt64:
      return LogicalType::UBIGINT;
    case TypeId::kFloat:
      return LogicalType::FLOAT;
    case TypeId::kDouble:
      return LogicalType::DOUBLE;
    case TypeId::kDecimal:
      return LogicalType::DECIMAL(type.precision, type.scale);
    case TypeId::kDate:
      return LogicalType::DATE;
    case TypeId::kTime:
      return LogicalType::TIME;
    case TypeId::kTimestamp:
      switch (type.unit) {
        case TimeUnit::kSecond:
          return LogicalType::TIMESTAMP_S;
        case TimeUnit::kMilli:
          return LogicalType::TIMESTAMP_MS;
        case TimeUnit::kMicro:
          return LogicalType::TIMESTAMP;
        case TimeUnit::kNano:
          return LogicalType::TIMESTAMP_NS;
      }
      break;
    case TypeId::kTimestampTz:
      return LogicalType::TIMESTAMP_TZ;
    case TypeId::kString:
      return LogicalType::VARCHAR;
    case TypeId::kJson:
      return LogicalType::JSON();
    case TypeId::kBinary:
      return LogicalType::BLOB;
    case TypeId::kUuid:
      return LogicalType::UUID;
    case TypeId::kInterval:
      return LogicalType::INTERVAL;
  }
  __builtin_unreachable();
}

Result<Type> FromDuck(const LogicalType& type, const std::string& column) {
  if (type.IsJSONType()) return Type::Of(TypeId::kJson);
  switch (type.id()) {
    case LogicalTypeId::BOOLEAN:
      return Type::Of(TypeId::kBool);
    case LogicalTypeId::TINYINT:
      return Type::Of(TypeId::kInt8);
    case LogicalTypeId::SMALLINT:
      return Type::Of(TypeId::kInt16);
    case LogicalTypeId::INTEGER:
      return Type::Of(TypeId::kInt32);
    case LogicalTypeId::BIGINT:
      return Type::Of(TypeId::kInt64);
    case LogicalTypeId::UTINYINT:
      return Type::Of(TypeId::kUInt8);
    case LogicalTypeId::USMALLINT:
      return Type::Of(TypeId::kUInt16);
    case LogicalTypeId::UINTEGER:
      return Type::Of(TypeId::kUInt32);
    case LogicalTypeId::UBIGINT:
      return Type::Of(TypeId::kUInt64);
    case LogicalTypeId::HUGEINT:
      return Type::Decimal(38, 0);
    case LogicalTypeId::FLOAT:
      return Type::Of(TypeId::kFloat);
    case LogicalTypeId::DOUBLE:
      return Type::Of(TypeId::kDouble);
    case LogicalTypeId::DECIMAL:
      return Type::Decimal(duckdb::DecimalType::GetWidth(type), duckdb::DecimalType::GetScale(type));
    case LogicalTypeId::DATE:
      return Type::Of(TypeId::kDate);
    case LogicalTypeId::TIME:
      return Type::Of(TypeId::kTime);
    case LogicalTypeId::TIMESTAMP_SEC:
      return Type::Timestamp(TimeUnit::kSecond);
    case LogicalTypeId::TIMESTAMP_MS:
      return Type::Timestamp(TimeUnit::kMilli);
    case LogicalTypeId::TIMESTAMP:
      return Type::Timestamp(TimeUnit::kMicro);
    case LogicalTypeId::TIMESTAMP_NS:
      return Type::Timestamp(TimeUnit::kNano);
    case LogicalTypeId::TIMESTAMP_TZ:
      return Type::Of(TypeId::kTimestampTz);
    case LogicalTypeId::VARCHAR:
    case LogicalTypeId::ENUM:
      return Type::Of(TypeId::kString);
    case LogicalTypeId::BLOB:
      return Type::Of(TypeId::kBinary);
    case LogicalTypeId::UUID:
      return Type::Of(TypeId::kUuid);
    case LogicalTypeId::INTERVAL:
      return Type::Of(TypeId::kInterval);
    default:
      return Unsupported("column '{}': type {} is not supported; cast it, or leave the column out", column,
                         type.ToString());
  }
}

duckdb::Value ToDuck(const Value& value, const Type& type) {
  const LogicalType duck = ToDuck(type);
  if (value.is_null()) return duckdb::Value(duck);
  duckdb::Vector slot(duck, duckdb::idx_t{1});
  auto* data = duckdb::FlatVector::GetData(slot);
  value.ToSlot(type, data);
  return slot.GetValue(0);
}

Value FromDuck(const duckdb::Value& value, const Type& type) {
  if (value.IsNull()) return {};
  duckdb::Vector slot(value);
  return Value::FromSlot(type, duckdb::ConstantVector::GetData(slot));
}

}  // namespace petalite::sql
