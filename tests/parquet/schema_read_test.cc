#include <gmock/gmock.h>

#include "base/hash.h"
#include "parquet/conversion.h"
#include "parquet/schema_mapping.h"

namespace petalite::parquet {
namespace {

using testing::HasSubstr;

SchemaElement Flat(PhysicalType physical, LogicalAnnotation logical = {}, int type_length = 0) {
  return {.type = physical,
          .type_length = type_length,
          .repetition = Repetition::kOptional,
          .name = "c",
          .logical = logical};
}

LeafColumn LeafOf(const SchemaElement& element) {
  const auto leaves = LeafColumns({{.name = "root", .num_children = 1}, element});
  CHECK(leaves.ok() && leaves->size() == 1);
  return (*leaves)[0];
}

std::string TypeOf(const SchemaElement& element) { return LeafOf(element).field.type.ToString(); }

constexpr auto kInt32 = PhysicalType::kInt32;
constexpr auto kInt64 = PhysicalType::kInt64;
constexpr auto kBytes = PhysicalType::kByteArray;
constexpr auto kFixed = PhysicalType::kFixedLenByteArray;

LogicalAnnotation Integer(int width, bool is_signed) {
  return {.kind = LogicalKind::kInteger, .bit_width = static_cast<uint8_t>(width), .is_signed = is_signed};
}
LogicalAnnotation Moment(LogicalKind kind, int unit, bool utc = false) {
  return {.kind = kind, .unit = static_cast<uint8_t>(unit), .utc = utc};
}
LogicalAnnotation Decimal(int precision, int scale) {
  return {.kind = LogicalKind::kDecimal, .scale = scale, .precision = precision};
}

TEST(LeafColumns, GivesEachAnnotationItsType) {
  EXPECT_EQ(TypeOf(Flat(PhysicalType::kBoolean)), "bool");
  EXPECT_EQ(TypeOf(Flat(kInt32)), "int32");
  EXPECT_EQ(TypeOf(Flat(kInt64)), "int64");
  EXPECT_EQ(TypeOf(Flat(PhysicalType::kInt96)), "timestamp(us)");
  EXPECT_EQ(TypeOf(Flat(PhysicalType::kFloat)), "float");
  EXPECT_EQ(TypeOf(Flat(PhysicalType::kDouble)), "double");
  EXPECT_EQ(TypeOf(Flat(kBytes)), "binary");
  EXPECT_EQ(TypeOf(Flat(kFixed, {}, 5)), "binary");
  EXPECT_EQ(TypeOf(Flat(kInt32, Integer(8, true))), "int8");
  EXPECT_EQ(TypeOf(Flat(kInt32, Integer(16, false))), "uint16");
  EXPECT_EQ(TypeOf(Flat(kInt64, Integer(64, false))), "uint64");
  EXPECT_EQ(TypeOf(Flat(kInt32, {.kind = LogicalKind::kDate})), "date");
  EXPECT_EQ(TypeOf(Flat(kInt32, Moment(LogicalKind::kTime, 1))), "time");
  EXPECT_EQ(TypeOf(Flat(kInt64, Moment(LogicalKind::kTime, 3))), "time");
  EXPECT_EQ(TypeOf(Flat(kInt64, Moment(LogicalKind::kTimestamp, 1))), "timestamp(ms)");
  EXPECT_EQ(TypeOf(Flat(kInt64, Moment(LogicalKind::kTimestamp, 3, true))), "timestamptz(ns)");
  EXPECT_EQ(TypeOf(Flat(kBytes, {.kind = LogicalKind::kString})), "string");
  EXPECT_EQ(TypeOf(Flat(kBytes, {.kind = LogicalKind::kEnum})), "string");
  EXPECT_EQ(TypeOf(Flat(kBytes, {.kind = LogicalKind::kJson})), "json");
  EXPECT_EQ(TypeOf(Flat(kBytes, {.kind = LogicalKind::kBson})), "binary");
  EXPECT_EQ(TypeOf(Flat(kFixed, {.kind = LogicalKind::kUuid}, 16)), "uuid");
  EXPECT_EQ(TypeOf(Flat(kFixed, {.kind = LogicalKind::kFloat16}, 2)), "float");
  for (const PhysicalType physical : {kInt32, kInt64, kBytes}) {
    EXPECT_EQ(TypeOf(Flat(physical, Decimal(9, 2))), "decimal(9,2)");
  }
  EXPECT_EQ(TypeOf(Flat(kFixed, Decimal(38, 38), 16)), "decimal(38,38)");
}

TEST(LeafColumns, ReadsConvertedTypesWhereThereIsNoLogicalType) {
  const auto converted = [](PhysicalType physical, Converted kind, int length = 0) {
    SchemaElement element = Flat(physical, {}, length);
    element.converted = kind;
    element.precision = 5;
    element.scale = 1;
    return TypeOf(element);
  };
  EXPECT_EQ(converted(kBytes, Converted::kUtf8), "string");
  EXPECT_EQ(converted(kInt32, Converted::kDecimal), "decimal(5,1)");
  EXPECT_EQ(converted(kInt32, Converted::kUint8), "uint8");
  EXPECT_EQ(converted(kInt64, Converted::kTimestampMicros), "timestamp(us)");
  EXPECT_EQ(converted(kInt32, Converted::kTimeMillis), "time");
  EXPECT_EQ(converted(kFixed, Converted::kInterval, 12), "interval");
}

TEST(LeafColumns, ReadsThePhysicalTypeOfWhatItDoesNotKnow) {
  for (const auto& element :
       {Flat(kInt64, {.kind = LogicalKind::kUnknown}), Flat(kInt64, {.kind = LogicalKind::kString}),
        Flat(kInt64, Integer(8, true)), Flat(kInt64, Moment(LogicalKind::kTimestamp, 9))}) {
    const LeafColumn leaf = LeafOf(element);
    EXPECT_EQ(leaf.field.type.ToString(), "int64");
    EXPECT_FALSE(leaf.has_order);
    EXPECT_FALSE(leaf.can_filter);
    EXPECT_TRUE(leaf.support.ok());
  }
}

TEST(LeafColumns, SaysWhichFiltersAndOrdersAreDefined) {
  EXPECT_FALSE(LeafOf(Flat(PhysicalType::kBoolean)).can_filter);
  EXPECT_TRUE(LeafOf(Flat(PhysicalType::kBoolean)).has_order);
  EXPECT_FALSE(LeafOf(Flat(PhysicalType::kInt96)).can_filter);
  EXPECT_FALSE(LeafOf(Flat(PhysicalType::kInt96)).has_order);
  EXPECT_TRUE(LeafOf(Flat(kFixed, Decimal(20, 0), 9)).can_filter);
  EXPECT_FALSE(LeafOf(Flat(kBytes, Decimal(20, 0))).can_filter) << "written in any number of bytes";
  EXPECT_FALSE(LeafOf(Flat(kInt64, Moment(LogicalKind::kTime, 3))).can_filter) << "nanoseconds are lost";
}

TEST(LeafColumns, NamesColumnsThatItDoesNotRead) {
  EXPECT_THAT(LeafOf(Flat(kFixed, Decimal(50, 0), 21)).support.message(), HasSubstr("'c' is a decimal(50,0)"));
  EXPECT_FALSE(LeafOf(Flat(kInt32, Decimal(3, 4))).support.ok());
  EXPECT_FALSE(LeafOf(Flat(kFixed, {}, 0)).support.ok());
  SchemaElement repeated = Flat(kInt32);
  repeated.repetition = Repetition::kRepeated;
  EXPECT_THAT(LeafOf(repeated).support.message(), HasSubstr("'c' is repeated"));
  const auto nested = LeafColumns({{.name = "root", .num_children = 2},
                                   {.repetition = Repetition::kOptional, .name = "group", .num_children = 1},
                                   Flat(kInt32),
                                   Flat(kInt64)});
  ASSERT_TRUE(nested.ok());
  ASSERT_EQ(nested->size(), 2u);
  EXPECT_EQ((*nested)[0].support.message(), "column 'group.c' lies in a group; Petalite reads flat columns");
  EXPECT_EQ((*nested)[0].max_definition, 2);
  EXPECT_TRUE((*nested)[1].support.ok());
}

TEST(LeafColumns, RefusesTreesThatAreNone) {
  EXPECT_FALSE(LeafColumns({}).ok());
  EXPECT_FALSE(LeafColumns({Flat(kInt32)}).ok());
  EXPECT_FALSE(LeafColumns({{.name = "root", .num_children = 2}, Flat(kInt32)}).ok());
  EXPECT_FALSE(LeafColumns({{.name = "root", .num_children = 0}, Flat(kInt32)}).ok());
  std::vector<SchemaElement> deep(1000, {.repetition = Repetition::kOptional, .name = "g", .num_children = 1});
  EXPECT_FALSE(LeafColumns(deep).ok());
}

// Converts values given as bytes; the result as Values.
std::vector<Value> Convert(const LeafColumn& leaf, const ByteBuffer& bytes, size_t count) {
  ByteBuffer out(count * leaf.field.type.Width());
  const size_t good = Conversion(leaf).Run(bytes.data(), count, out.data());
  std::vector<Value> values;
  for (size_t i = 0; i < good; ++i) {
    values.push_back(Value::FromSlot(leaf.field.type, out.data() + i * leaf.field.type.Width()));
  }
  return values;
}

template <typename T>
ByteBuffer LittleEndian(std::initializer_list<T> values) {
  ByteBuffer bytes;
  for (const T value : values) AppendLe(bytes, value);
  return bytes;
}

template <typename T>
std::vector<Value> Values(std::initializer_list<T> values) {
  std::vector<Value> result;
  for (const T value : values) result.emplace_back(value);
  return result;
}

TEST(Conversion, StopsAtTheFirstValueThatDoesNotFit) {
  const ByteBuffer bytes = LittleEndian<int32_t>({-128, 127, 128, 0});
  EXPECT_EQ(Convert(LeafOf(Flat(kInt32, Integer(8, true))), bytes, 4), Values<int64_t>({-128, 127}));
  EXPECT_EQ(Convert(LeafOf(Flat(kInt32, Integer(8, false))), bytes, 4).size(), 0u);
  EXPECT_EQ(Convert(LeafOf(Flat(kInt32, Integer(16, true))), bytes, 4), Values<int64_t>({-128, 127, 128, 0}));
}

TEST(Conversion, HoldsDecimalsToTheirPrecision) {
  const ByteBuffer small = LittleEndian<int32_t>({-9999, 9999, 10000});
  EXPECT_EQ(Convert(LeafOf(Flat(kInt32, Decimal(4, 2))), small, 3), Values<int64_t>({-9999, 9999}));
  const ByteBuffer lowest = LittleEndian<int32_t>({INT32_MIN});
  EXPECT_EQ(Convert(LeafOf(Flat(kInt32, Decimal(9, 2))), lowest, 1).size(), 0u);
  EXPECT_EQ(Convert(LeafOf(Flat(kInt32, Decimal(18, 2))), lowest, 1), Values<int64_t>({INT32_MIN}));
  const ByteBuffer large = LittleEndian<int64_t>({INT64_MIN, INT64_MAX});
  EXPECT_EQ(Convert(LeafOf(Flat(kInt64, Decimal(18, 2))), large, 2).size(), 0u);
  EXPECT_EQ(Convert(LeafOf(Flat(kInt64, Decimal(30, 2))), large, 2),
            Values<Int128>({FromNative(INT64_MIN), FromNative(INT64_MAX)}));
}

TEST(Conversion, ReadsBigEndianDecimalsOfEveryLength) {
  for (int length = 1; length <= 20; ++length) {
    ByteBuffer bytes;
    for (const int value : {1, -1, 100, -100, 127, -128}) {
      bytes.insert(bytes.end(), static_cast<size_t>(length) - 1, value < 0 ? 0xff : 0);
      bytes.push_back(static_cast<uint8_t>(value));
    }
    EXPECT_EQ(Convert(LeafOf(Flat(kFixed, Decimal(3, 0), length)), bytes, 6),
              Values<int64_t>({1, -1, 100, -100, 127, -128}))
        << length;
    EXPECT_EQ(Convert(LeafOf(Flat(kFixed, Decimal(38, 0), length)), bytes, 6).size(), 6u);
  }
  ByteBuffer wide(20, 0);
  wide[0] = 1;
  EXPECT_EQ(Convert(LeafOf(Flat(kFixed, Decimal(38, 0), 20)), wide, 1).size(), 0u);
}

TEST(Conversion, ReadsDecimalsOfByteArraysOfUnequalLengths) {
  const StringRef strings[] = {StringRef(std::string_view("\x7f")), StringRef(std::string_view("\xff\x00", 2)),
                               StringRef(std::string_view(""))};
  const auto* begin = reinterpret_cast<const uint8_t*>(strings);
  const ByteBuffer bytes(begin, begin + sizeof strings);
  EXPECT_EQ(Convert(LeafOf(Flat(kBytes, Decimal(5, 0))), bytes, 3), Values<int64_t>({127, -256, 0}));
}

TEST(Conversion, ReadsMomentsInOtherUnits) {
  EXPECT_EQ(Convert(LeafOf(Flat(kInt32, Moment(LogicalKind::kTime, 1))), LittleEndian<int32_t>({86399999}), 1),
            Values<int64_t>({86399999000}));
  EXPECT_EQ(Convert(LeafOf(Flat(kInt64, Moment(LogicalKind::kTime, 3))), LittleEndian<int64_t>({1999}), 1),
            Values<int64_t>({1}));
  LeafColumn seconds = LeafOf(Flat(kInt64, Moment(LogicalKind::kTimestamp, 1)));
  seconds.field.type = Type::Timestamp(TimeUnit::kSecond);
  EXPECT_EQ(Convert(seconds, LittleEndian<int64_t>({-2000, 1001}), 2), Values<int64_t>({-2}));
  ByteBuffer int96 = LittleEndian<int64_t>({1'500'999});
  AppendLe(int96, int32_t{2440589});
  AppendBytes(int96, LittleEndian<int64_t>({0}));
  AppendLe(int96, INT32_MAX);
  EXPECT_EQ(Convert(LeafOf(Flat(PhysicalType::kInt96)), int96, 2), Values<int64_t>({86'400'001'500}))
      << "the second is beyond the range of microseconds";
}

TEST(Conversion, ReadsHalves) {
  const ByteBuffer bytes = LittleEndian<uint16_t>({0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x8000});
  EXPECT_EQ(Convert(LeafOf(Flat(kFixed, {.kind = LogicalKind::kFloat16}, 2)), bytes, 6),
            Values<double>({1.0, -2.0, 0x1p-24, 65504.0, HUGE_VAL, -0.0}));
  const ByteBuffer nan = LittleEndian<uint16_t>({0x7e00});
  EXPECT_TRUE(Convert(LeafOf(Flat(kFixed, {.kind = LogicalKind::kFloat16}, 2)), nan, 1)[0].is_nan());
}

TEST(Conversion, ReadsUuidsInTheirOrder) {
  const LeafColumn leaf = LeafOf(Flat(kFixed, {.kind = LogicalKind::kUuid}, 16));
  ByteBuffer bytes(32, 0);
  bytes[0] = 0x7f;
  bytes[16] = 0x80;
  const auto values = Convert(leaf, bytes, 2);
  EXPECT_EQ(values[1].ToString(leaf.field.type), "80000000-0000-0000-0000-000000000000");
  EXPECT_TRUE(Value::Compare(values[0], values[1]) < 0);
}

TEST(Conversion, RefusesIntervalsBeyondThePositiveRange) {
  SchemaElement element = Flat(kFixed, {}, 12);
  element.converted = Converted::kInterval;
  const ByteBuffer bytes = LittleEndian<uint32_t>({1, 2, 4'000'000'000u, 0x80000000u, 0, 0});
  EXPECT_EQ(Convert(LeafOf(element), bytes, 2), Values<Interval>({{1, 2, 4'000'000'000'000}}));
}

TEST(FilterHash, MatchesKnownVectors) {
  const auto hash = [](const SchemaElement& element, Value::Storage value) {
    return FilterHash(LeafOf(element), Value(std::move(value)));
  };
  EXPECT_EQ(hash(Flat(kBytes, {.kind = LogicalKind::kString}), std::string()), 0xef46db3751d8e999u);
  EXPECT_EQ(hash(Flat(kBytes), std::string("hello")), 0x26c7827d889f6da3u);
  EXPECT_EQ(hash(Flat(kInt32), int64_t{0}), 0x3aefa6fd5cf2deb4u);
  EXPECT_EQ(hash(Flat(kInt32, Integer(8, false)), uint64_t{0}), 0x3aefa6fd5cf2deb4u);
  EXPECT_EQ(hash(Flat(kInt64), int64_t{0}), 0x34c96acdcadb1bbbu);
  EXPECT_EQ(hash(Flat(PhysicalType::kDouble), 0.0), 0x34c96acdcadb1bbbu);
  EXPECT_EQ(hash(Flat(PhysicalType::kDouble), -0.0), 0x3f425eacf01544e0u);
  EXPECT_EQ(hash(Flat(kFixed, Decimal(38, 0), 16), FromNative(5)), 0xf18ae5fab49c44efu);
  EXPECT_EQ(hash(Flat(kFixed, Decimal(20, 0), 9), FromNative(5)), 0x91ff3816ffc064c1u);
}

TEST(FilterHash, HashesInTheFilesOwnUnit) {
  const LeafColumn millis = LeafOf(Flat(kInt32, Moment(LogicalKind::kTime, 1)));
  const int32_t physical = 1500;
  EXPECT_EQ(FilterHash(millis, Value(int64_t{1'500'000})), Xxh64(&physical, sizeof physical));
  LeafColumn seconds = LeafOf(Flat(kInt64, Moment(LogicalKind::kTimestamp, 1)));
  seconds.field.type = Type::Timestamp(TimeUnit::kSecond);
  const int64_t stored = -3000;
  EXPECT_EQ(FilterHash(seconds, Value(int64_t{-3})), Xxh64(&stored, sizeof stored));
  const LeafColumn uuid = LeafOf(Flat(kFixed, {.kind = LogicalKind::kUuid}, 16));
  const auto value = Value::Parse(uuid.field.type, "00112233-4455-6677-8899-aabbccddeeff");
  const ByteBuffer bytes = {0,    0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                            0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
  EXPECT_EQ(FilterHash(uuid, *value), Xxh64(bytes));
}

}  // namespace
}  // namespace petalite::parquet
