// From a file's schema to the columns that Petalite reads.

#include "parquet/schema_mapping.h"

namespace petalite::parquet {
namespace {

constexpr int kMaxSchemaDepth = 64;

LogicalAnnotation Integer(int bit_width, bool is_signed) {
  return {.kind = LogicalKind::kInteger, .bit_width = static_cast<uint8_t>(bit_width), .is_signed = is_signed};
}

// ConvertedTypes as the logical types that superseded them. Times and timestamps without a logical
// type are taken for local ones, although the specification calls them UTC: writers from before
// logical types did not tell the two apart, and Arrow and DuckDB read them so.
LogicalAnnotation OfConverted(const SchemaElement& element) {
  switch (element.converted) {
    case Converted::kUtf8:
      return {.kind = LogicalKind::kString};
    case Converted::kEnum:
      return {.kind = LogicalKind::kEnum};
    case Converted::kDecimal:
      return {.kind = LogicalKind::kDecimal, .scale = element.scale, .precision = element.precision};
    case Converted::kDate:
      return {.kind = LogicalKind::kDate};
    case Converted::kTimeMillis:
      return {.kind = LogicalKind::kTime, .unit = 1};
    case Converted::kTimeMicros:
      return {.kind = LogicalKind::kTime, .unit = 2};
    case Converted::kTimestampMillis:
      return {.kind = LogicalKind::kTimestamp, .unit = 1};
    case Converted::kTimestampMicros:
      return {.kind = LogicalKind::kTimestamp, .unit = 2};
    case Converted::kUint8:
      return Integer(8, false);
    case Converted::kUint16:
      return Integer(16, false);
    case Converted::kUint32:
      return Integer(32, false);
    case Converted::kUint64:
      return Integer(64, false);
    case Converted::kInt8:
      return Integer(8, true);
    case Converted::kInt16:
      return Integer(16, true);
    case Converted::kInt32:
      return Integer(32, true);
    case Converted::kInt64:
      return Integer(64, true);
    case Converted::kJson:
      return {.kind = LogicalKind::kJson};
    case Converted::kBson:
      return {.kind = LogicalKind::kBson};
    default:
      return {};
  }
}

Type PlainType(PhysicalType physical) {
  switch (physical) {
    case PhysicalType::kBoolean:
      return Type::Of(TypeId::kBool);
    case PhysicalType::kInt32:
      return Type::Of(TypeId::kInt32);
    case PhysicalType::kInt64:
      return Type::Of(TypeId::kInt64);
    case PhysicalType::kInt96:
      return Type::Timestamp(TimeUnit::kMicro);
    case PhysicalType::kFloat:
      return Type::Of(TypeId::kFloat);
    case PhysicalType::kDouble:
      return Type::Of(TypeId::kDouble);
    case PhysicalType::kByteArray:
    case PhysicalType::kFixedLenByteArray:
      return Type::Of(TypeId::kBinary);
  }
  __builtin_unreachable();
}

std::optional<Type> IntegerType(const LeafColumn& leaf) {
  const bool is_signed = leaf.logical.is_signed;
  const int bit_width = leaf.logical.bit_width;
  if (leaf.physical == PhysicalType::kInt64 && bit_width == 64) {
    return Type::Of(is_signed ? TypeId::kInt64 : TypeId::kUInt64);
  }
  if (leaf.physical != PhysicalType::kInt32) return std::nullopt;
  switch (bit_width) {
    case 8:
      return Type::Of(is_signed ? TypeId::kInt8 : TypeId::kUInt8);
    case 16:
      return Type::Of(is_signed ? TypeId::kInt16 : TypeId::kUInt16);
    case 32:
      return Type::Of(is_signed ? TypeId::kInt32 : TypeId::kUInt32);
    default:
      return std::nullopt;
  }
}

std::optional<Type> TimestampType(const LeafColumn& leaf) {
  const int unit = leaf.logical.unit;  // 1 millis, 2 micros, 3 nanos: one less than TimeUnit's numbers
  if (leaf.physical != PhysicalType::kInt64 || unit < 1 || unit > 3) return std::nullopt;
  return Type{.id = leaf.logical.utc ? TypeId::kTimestampTz : TypeId::kTimestamp,
              .unit = static_cast<TimeUnit>(unit + 1)};
}

std::optional<Type> TimeType(const LeafColumn& leaf) {
  const int unit = leaf.logical.unit;
  const bool stands_as_it_should = leaf.physical == PhysicalType::kInt32   ? unit == 1
                                   : leaf.physical == PhysicalType::kInt64 ? unit == 2 || unit == 3
                                                                           : false;
  return stands_as_it_should ? std::optional(Type::Of(TypeId::kTime)) : std::nullopt;
}

// The type that an annotation gives a leaf; none if it is unknown or cannot stand on that physical
// type.
std::optional<Type> AnnotatedType(const LeafColumn& leaf) {
  const auto if_physical = [&](PhysicalType physical, TypeId id) {
    return leaf.physical == physical ? std::optional(Type::Of(id)) : std::nullopt;
  };
  const auto if_fixed = [&](int length, TypeId id) {
    return leaf.type_length == length ? if_physical(PhysicalType::kFixedLenByteArray, id) : std::nullopt;
  };
  switch (leaf.logical.kind) {
    case LogicalKind::kString:
    case LogicalKind::kEnum:
      return if_physical(PhysicalType::kByteArray, TypeId::kString);
    case LogicalKind::kJson:
      return if_physical(PhysicalType::kByteArray, TypeId::kJson);
    case LogicalKind::kBson:
      return if_physical(PhysicalType::kByteArray, TypeId::kBinary);
    case LogicalKind::kDate:
      return if_physical(PhysicalType::kInt32, TypeId::kDate);
    case LogicalKind::kUuid:
      return if_fixed(16, TypeId::kUuid);
    case LogicalKind::kFloat16:
      return if_fixed(2, TypeId::kFloat);
    case LogicalKind::kInteger:
      return IntegerType(leaf);
    case LogicalKind::kTime:
      return TimeType(leaf);
    case LogicalKind::kTimestamp:
      return TimestampType(leaf);
    default:
      return std::nullopt;
  }
}

Status SetDecimal(LeafColumn* leaf) {
  const int precision = leaf->logical.precision;
  const int scale = leaf->logical.scale;
  const bool possible = leaf->physical == PhysicalType::kInt32 || leaf->physical == PhysicalType::kInt64 ||
                        leaf->physical == PhysicalType::kByteArray ||
                        leaf->physical == PhysicalType::kFixedLenByteArray;
  if (!possible || precision < 1 || precision > 38 || scale < 0 || scale > precision) {
    return Unsupported("column '{}' is a decimal({},{}); Petalite has 1 to 38 digits, of which scale", leaf->field.name,
                       precision, scale);
  }
  leaf->field.type = Type::Decimal(precision, scale);
  // Byte arrays hold decimals in as many bytes as their writer liked, so that their hash is unknown.
  leaf->can_filter = leaf->physical != PhysicalType::kByteArray;
  return Status::Ok();
}

// Gives a leaf its type, and says what statistics and filters of it are worth.
Status SetType(const SchemaElement& element, LeafColumn* leaf) {
  leaf->logical = element.logical.kind != LogicalKind::kNone ? element.logical : OfConverted(element);
  leaf->field.type = PlainType(leaf->physical);
  leaf->can_filter = leaf->physical != PhysicalType::kBoolean && leaf->physical != PhysicalType::kInt96;
  leaf->has_order = leaf->physical != PhysicalType::kInt96;
  if (leaf->physical == PhysicalType::kFixedLenByteArray && leaf->type_length <= 0) {
    return Unsupported("column '{}' has values of {} bytes", leaf->field.name, leaf->type_length);
  }
  if (leaf->converted == Converted::kInterval && leaf->physical == PhysicalType::kFixedLenByteArray &&
      leaf->type_length == 12) {
    leaf->field.type = Type::Of(TypeId::kInterval);
    leaf->has_order = leaf->can_filter = false;
    return Status::Ok();
  }
  if (leaf->logical.kind == LogicalKind::kDecimal) return SetDecimal(leaf);
  if (leaf->logical.kind == LogicalKind::kNone) return Status::Ok();
  const std::optional<Type> type = AnnotatedType(*leaf);
  if (!type.has_value()) {
    leaf->has_order = leaf->can_filter = false;
    return Status::Ok();
  }
  leaf->field.type = *type;
  // A float or microsecond does not say which half or nanosecond its file hashed.
  const bool lossy = leaf->logical.kind == LogicalKind::kFloat16 ||
                     (leaf->logical.kind == LogicalKind::kTime && leaf->logical.unit == 3);
  if (lossy) leaf->can_filter = false;
  return Status::Ok();
}

class LeafCollector {
 public:
  explicit LeafCollector(const std::vector<SchemaElement>& schema) : schema_(schema) {}

  Result<std::vector<LeafColumn>> Collect() {
    if (schema_.empty() || schema_[0].type.has_value()) return Corruption("schema: the root is not a group");
    const int32_t children = schema_[next_++].num_children;
    for (int32_t i = 0; i < children; ++i) RETURN_IF_ERROR(Visit("", 0, 0, 1));
    if (next_ != schema_.size()) return Corruption("schema: {} elements belong to no group", schema_.size() - next_);
    return std::move(leaves_);
  }

 private:
  Status Visit(const std::string& group, int definition, int repetition, int depth) {
    if (next_ == schema_.size()) return Corruption("schema: a group has fewer elements than it says");
    if (depth > kMaxSchemaDepth) return Corruption("schema: nested deeper than {}", kMaxSchemaDepth);
    const SchemaElement& element = schema_[next_++];
    const std::string name = group.empty() ? element.name : group + "." + element.name;
    const Repetition repeated = element.repetition.value_or(Repetition::kRequired);
    if (repeated != Repetition::kRequired) ++definition;
    if (repeated == Repetition::kRepeated) ++repetition;
    if (element.type.has_value()) {
      AddLeaf(element, name, definition, repetition, depth);
      return Status::Ok();
    }
    for (int32_t i = 0; i < element.num_children; ++i) RETURN_IF_ERROR(Visit(name, definition, repetition, depth + 1));
    return Status::Ok();
  }

  void AddLeaf(const SchemaElement& element, const std::string& name, int definition, int repetition, int depth) {
    LeafColumn& leaf = leaves_.emplace_back();
    leaf.field.name = name;
    leaf.field.nullable = definition != 0;
    leaf.field.field_id = element.field_id;
    leaf.physical = *element.type;
    leaf.type_length = element.type_length;
    leaf.converted = element.converted;
    leaf.max_definition = static_cast<int16_t>(definition);
    leaf.max_repetition = static_cast<int16_t>(repetition);
    leaf.support = SetType(element, &leaf);
    if (depth > 1) {
      leaf.support = Unsupported("column '{}' lies in a group; Petalite reads flat columns", name);
    } else if (repetition != 0) {
      leaf.support = Unsupported("column '{}' is repeated; Petalite reads flat columns", name);
    }
  }

  const std::vector<SchemaElement>& schema_;
  size_t next_ = 0;
  std::vector<LeafColumn> leaves_;
};

}  // namespace

Result<std::vector<LeafColumn>> LeafColumns(const std::vector<SchemaElement>& schema) {
  return LeafCollector(schema).Collect();
}

}  // namespace petalite::parquet
