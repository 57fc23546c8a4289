#include "parquet/schema_mapping.h"

namespace petalite::parquet {
namespace {

void SetInteger(SchemaElement* element, uint8_t bit_width, bool is_signed) {
  element->type = bit_width <= 32 ? PhysicalType::kInt32 : PhysicalType::kInt64;
  element->logical = {.kind = LogicalKind::kInteger, .bit_width = bit_width, .is_signed = is_signed};
  const int log = bit_width == 8 ? 0 : bit_width == 16 ? 1 : bit_width == 32 ? 2 : 3;
  element->converted = static_cast<Converted>(static_cast<int>(is_signed ? Converted::kInt8 : Converted::kUint8) + log);
}

// The fewest bytes of a two's complement number that hold 10^precision − 1.
int32_t DecimalBytes(int precision) {
  int128_t largest = 1;
  for (int i = 0; i < precision; ++i) largest *= 10;
  largest -= 1;
  int32_t bytes = 1;
  while (bytes < 16 && largest >> (8 * bytes - 1) != 0) ++bytes;
  return bytes;
}

void SetDecimal(SchemaElement* element, const Type& type) {
  if (type.precision <= 9) {
    element->type = PhysicalType::kInt32;
  } else if (type.precision <= 18) {
    element->type = PhysicalType::kInt64;
  } else {
    element->type = PhysicalType::kFixedLenByteArray;
    element->type_length = DecimalBytes(type.precision);
  }
  element->converted = Converted::kDecimal;
  element->scale = type.scale;
  element->precision = type.precision;
  element->logical = {.kind = LogicalKind::kDecimal, .scale = type.scale, .precision = type.precision};
}

void SetTimestamp(SchemaElement* element, TimeUnit unit, bool utc) {
  element->type = PhysicalType::kInt64;
  const uint8_t stored = unit == TimeUnit::kNano ? 3 : unit == TimeUnit::kMicro ? 2 : 1;
  element->logical = {.kind = LogicalKind::kTimestamp, .unit = stored, .utc = utc};
  // The converted types mean instants (LogicalTypes.md); a reader that knows only them would shift
  // local time.
  if (utc && stored != 3) element->converted = stored == 2 ? Converted::kTimestampMicros : Converted::kTimestampMillis;
}

void SetPlain(SchemaElement* element, PhysicalType physical, LogicalKind logical = LogicalKind::kNone,
              Converted converted = Converted::kNone, int32_t type_length = 0) {
  element->type = physical;
  element->logical.kind = logical;
  element->converted = converted;
  element->type_length = type_length;
}

}  // namespace

SchemaElement ToSchemaElement(const Field& field) {
  SchemaElement element;
  element.name = field.name;
  element.field_id = field.field_id;
  element.repetition = field.nullable ? Repetition::kOptional : Repetition::kRequired;
  switch (field.type.id) {
    case TypeId::kBool:
      SetPlain(&element, PhysicalType::kBoolean);
      break;
    case TypeId::kInt8:
    case TypeId::kInt16:
    case TypeId::kInt32:
    case TypeId::kInt64:
      SetInteger(&element, static_cast<uint8_t>(8 * field.type.Width()), true);
      break;
    case TypeId::kUInt8:
    case TypeId::kUInt16:
    case TypeId::kUInt32:
    case TypeId::kUInt64:
      SetInteger(&element, static_cast<uint8_t>(8 * field.type.Width()), false);
      break;
    case TypeId::kFloat:
      SetPlain(&element, PhysicalType::kFloat);
      break;
    case TypeId::kDouble:
      SetPlain(&element, PhysicalType::kDouble);
      break;
    case TypeId::kDecimal:
      SetDecimal(&element, field.type);
      break;
    case TypeId::kDate:
      SetPlain(&element, PhysicalType::kInt32, LogicalKind::kDate, Converted::kDate);
      break;
    case TypeId::kTime:  // no converted type: TIME_MICROS means UTC, as with timestamps
      SetPlain(&element, PhysicalType::kInt64, LogicalKind::kTime);
      element.logical.unit = 2;
      break;
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      SetTimestamp(&element, field.type.unit, field.type.id == TypeId::kTimestampTz);
      break;
    case TypeId::kString:
      SetPlain(&element, PhysicalType::kByteArray, LogicalKind::kString, Converted::kUtf8);
      break;
    case TypeId::kJson:
      SetPlain(&element, PhysicalType::kByteArray, LogicalKind::kJson, Converted::kJson);
      break;
    case TypeId::kBinary:
      SetPlain(&element, PhysicalType::kByteArray);
      break;
    case TypeId::kUuid:
      SetPlain(&element, PhysicalType::kFixedLenByteArray, LogicalKind::kUuid, Converted::kNone, 16);
      break;
    case TypeId::kInterval:
      SetPlain(&element, PhysicalType::kFixedLenByteArray, LogicalKind::kNone, Converted::kInterval, 12);
      break;
  }
  return element;
}

}  // namespace petalite::parquet
