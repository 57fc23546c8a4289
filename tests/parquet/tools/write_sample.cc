// petalite_write_sample DIRECTORY SEED: writes <case>.parquet for the combinations of codec and
// encoding that are worth a look, each with every type in several patterns, and expected.jsonl with
// the values that a reader must find in all of them: one line per column,
//   {"name": …, "type": …, "required": …, "values": […]}
// Integers, dates, times and timestamps are numbers in the type's own unit, decimals strings of
// their unscaled number, floating-point numbers the hex of their double's bits, uuids their text,
// intervals [months, days, microseconds], strings hex.

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/file_system.h"
#include "base/thread_pool.h"
#include "parquet/writer.h"
#include "petalite/value.h"

namespace petalite::parquet {
namespace {

constexpr size_t kRows = 3000;
constexpr uint32_t kPageRows = 256;
constexpr uint32_t kRowGroupRows = 1024;
constexpr size_t kAppendRows = 700;  // unlike any boundary of pages or groups

using Random = std::mt19937_64;

enum class Pattern { kMixed, kFew, kRising, kNull };
constexpr std::pair<Pattern, std::string_view> kPatterns[] = {
    {Pattern::kMixed, "mixed"}, {Pattern::kFew, "few"}, {Pattern::kRising, "rising"}, {Pattern::kNull, "null"}};

std::vector<Type> AllTypes() {
  std::vector<Type> types;
  for (const TypeId id :
       {TypeId::kBool, TypeId::kInt8, TypeId::kInt16, TypeId::kInt32, TypeId::kInt64, TypeId::kUInt8, TypeId::kUInt16,
        TypeId::kUInt32, TypeId::kUInt64, TypeId::kFloat, TypeId::kDouble, TypeId::kDate, TypeId::kTime,
        TypeId::kString, TypeId::kBinary, TypeId::kJson, TypeId::kUuid, TypeId::kInterval}) {
    types.push_back(Type::Of(id));
  }
  for (const auto& [precision, scale] : {std::pair{4, 2}, {9, 0}, {18, 6}, {19, 0}, {25, 3}, {38, 10}}) {
    types.push_back(Type::Decimal(precision, scale));
  }
  for (const TimeUnit unit : {TimeUnit::kSecond, TimeUnit::kMilli, TimeUnit::kMicro, TimeUnit::kNano}) {
    types.push_back(Type::Timestamp(unit));
  }
  types.push_back({.id = TypeId::kTimestampTz, .unit = TimeUnit::kMicro});
  return types;
}

// The numbers that a type may hold; what other engines refuse to read is left out.
struct Range {
  int128_t min;
  int128_t max;
};

Range RangeOf(const Type& type) {
  const auto width = static_cast<int>(8 * type.Width());
  const int128_t one = 1;
  switch (type.id) {
    case TypeId::kBool:
      return {0, 1};
    case TypeId::kUInt8:
    case TypeId::kUInt16:
    case TypeId::kUInt32:
    case TypeId::kUInt64:
      return {0, (one << width) - 1};
    case TypeId::kDate:
      return {-700'000, 2'900'000};
    case TypeId::kTime:
      return {0, 86'399'999'999};
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz: {
      int128_t per_second = 1;
      for (auto unit = static_cast<int>(type.unit); unit > 1; --unit) per_second *= 1000;
      const int128_t seconds = 9'000'000'000;  // 285 years: what 64-bit nanoseconds reach
      return {-seconds * per_second, seconds * per_second};
    }
    case TypeId::kDecimal: {
      int128_t limit = 1;
      for (int i = 0; i < type.precision; ++i) limit *= 10;
      return {1 - limit, limit - 1};
    }
    default:
      return {-(one << (width - 1)), (one << (width - 1)) - 1};
  }
}

Value NumberOf(const Type& type, int128_t number) {
  switch (type.id) {
    case TypeId::kBool:
    case TypeId::kUInt8:
    case TypeId::kUInt16:
    case TypeId::kUInt32:
    case TypeId::kUInt64:
      return Value(static_cast<uint64_t>(number));
    case TypeId::kDecimal:
      if (type.precision > 18) return Value(FromNative(number));
      [[fallthrough]];
    default:
      return Value(static_cast<int64_t>(number));
  }
}

// The difference does not always fit in a signed number.
unsigned __int128 SpanOf(const Range& range) {
  return static_cast<unsigned __int128>(range.max) - static_cast<unsigned __int128>(range.min);
}

int128_t RandomWithin(const Range& range, Random& random) {
  const auto bits = static_cast<unsigned __int128>(random()) << 64 | random();
  return static_cast<int128_t>(static_cast<unsigned __int128>(range.min) + bits % (SpanOf(range) + 1));
}

Value MixedNumber(const Type& type, Random& random) {
  const Range range = RangeOf(type);
  switch (random() % 8) {
    case 0:
      return NumberOf(type, range.min);
    case 1:
      return NumberOf(type, range.max);
    case 2:
      return NumberOf(type, range.min <= 0 ? 0 : range.min);
    default:
      return NumberOf(type, RandomWithin(range, random));
  }
}

Value MixedFloat(const Type& type, Random& random) {
  const bool is_float = type.id == TypeId::kFloat;
  const double special[] = {0.0,
                            -0.0,
                            std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            is_float ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max(),
                            is_float ? double{std::numeric_limits<float>::denorm_min()} : 5e-324};
  if (random() % 4 == 0) return Value(special[random() % std::size(special)]);
  const double number = (static_cast<double>(random()) - 9e18) / 1e12;
  return Value(is_float ? double{static_cast<float>(number)} : number);
}

std::string RandomText(size_t length, Random& random) {
  constexpr std::string_view kPoints[] = {"a", "Z", "0", " ", "é", "€", "😀", "\xf4\x8f\xbf\xbf"};
  std::string text;
  while (text.size() < length) text += kPoints[random() % (random() % 4 == 0 ? std::size(kPoints) : 4)];
  return text;
}

Value MixedString(const Type& type, Random& random) {
  constexpr size_t kLengths[] = {0, 1, 4, 11, 12, 13, 30, 63, 64, 65, 200};
  const size_t length = random() % 500 == 0 ? 20'000 : kLengths[random() % std::size(kLengths)];
  std::string text = RandomText(length, random);
  if (type.id == TypeId::kBinary && random() % 2 == 0) text = std::string(length, static_cast<char>(random() % 256));
  if (type.id == TypeId::kJson) text = "\"" + text + "\"";
  return Value(std::move(text));
}

Value MixedValue(const Type& type, Random& random) {
  if (type.IsString()) return MixedString(type, random);
  if (type.IsFloating()) return MixedFloat(type, random);
  if (type.id == TypeId::kUuid) return Value(Int128{random(), static_cast<int64_t>(random())});
  if (type.id == TypeId::kInterval) {
    return Value(Interval{static_cast<int32_t>(random() % 1200), static_cast<int32_t>(random() % 1000),
                          static_cast<int64_t>(random() % 1'000'000) * 1000});
  }
  return MixedNumber(type, random);
}

// Ascends with `row`, by less than the type's range in all.
Value RisingValue(const Type& type, size_t row, Random& random) {
  if (type.IsString()) {
    const std::string text = fmt::format("key {:08}", row * 7);
    return Value(type.id == TypeId::kJson ? "\"" + text + "\"" : text);
  }
  if (type.IsFloating()) return Value(static_cast<double>(row) / 4);
  if (type.id == TypeId::kUuid) return Value(Int128{row, -5});
  if (type.id == TypeId::kInterval) return Value(Interval{0, static_cast<int32_t>(row), 0});
  const Range range = RangeOf(type);
  const auto step = static_cast<int128_t>(std::min<unsigned __int128>(SpanOf(range) / kRows, 3));
  const int128_t from = range.max - step * kRows;
  return NumberOf(type, from + step * static_cast<int128_t>(row) + (step > 1 ? static_cast<int>(random() % 2) : 0));
}

std::vector<Value> MakeValues(const Type& type, Pattern pattern, Random& random) {
  std::vector<Value> few;
  for (int i = 0; i < 5; ++i) few.push_back(MixedValue(type, random));
  std::vector<Value> values(kRows);
  for (size_t row = 0; row < kRows; ++row) {
    switch (pattern) {
      case Pattern::kMixed:
        if (random() % 5 != 0) values[row] = MixedValue(type, random);
        break;
      case Pattern::kFew: {  // with a page of nulls only, and a page of one value only
        const size_t page = row / kPageRows;
        if (page == 1 || (page != 2 && random() % 50 == 0)) break;
        values[row] = few[page == 2 ? 0 : random() % few.size()];
        break;
      }
      case Pattern::kRising:
        values[row] = RisingValue(type, row, random);
        break;
      case Pattern::kNull:
        break;
    }
  }
  return values;
}

std::string ToJson(const Type& type, const Value& value) {
  if (value.is_null()) return "null";
  if (type.id == TypeId::kUuid) return fmt::format("\"{}\"", value.ToString(type));
  if (type.id == TypeId::kInterval) {
    const auto& interval = value.as<Interval>();
    return fmt::format("[{},{},{}]", interval.months, interval.days, interval.micros);
  }
  if (type.IsFloating()) return fmt::format("\"{:016x}\"", std::bit_cast<uint64_t>(value.as<double>()));
  if (type.IsString()) {
    std::string hex = "\"";
    for (const char byte : value.as<std::string>()) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
    return hex + "\"";
  }
  if (type.id == TypeId::kDecimal) {
    if (type.precision <= 18) return fmt::format("\"{}\"", value.as<int64_t>());
    return fmt::format("\"{}\"", value.ToString(Type::Decimal(type.precision, 0)));
  }
  if (std::holds_alternative<uint64_t>(value.storage())) return fmt::format("{}", value.as<uint64_t>());
  return fmt::format("{}", value.as<int64_t>());
}

// The values of a column in the layout that a writer takes.
struct ColumnData {
  std::vector<uint8_t> slots;
  std::vector<uint64_t> validity;
  bool has_nulls = false;

  ColumnData(const Type& type, const std::vector<Value>& values)
      : slots(values.size() * type.Width()), validity((values.size() + 63) / 64, ~uint64_t{0}) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].is_null()) {
        has_nulls = true;
        validity[i / 64] &= ~(uint64_t{1} << (i % 64));
      } else {
        values[i].ToSlot(type, slots.data() + i * type.Width());
      }
    }
  }
};

struct Case {
  std::string_view name;
  std::string_view codec;
  EncodingChoice encoding;
};

constexpr Case kCases[] = {
    {"auto_uncompressed", "uncompressed", EncodingChoice::kAuto},
    {"auto_lz4", "lz4", EncodingChoice::kAuto},
    {"auto_snappy", "snappy", EncodingChoice::kAuto},
    {"auto_zstd", "zstd:3", EncodingChoice::kAuto},
    {"plain_lz4", "lz4", EncodingChoice::kPlain},
    {"dictionary_zstd", "zstd:1", EncodingChoice::kDictionary},
    {"delta_lz4", "lz4", EncodingChoice::kDelta},
    {"delta_uncompressed", "uncompressed", EncodingChoice::kDelta},
};

// Delta and dictionary encode some types only; the others of such a file get what they can.
EncodingChoice PossibleEncoding(const Type& type, EncodingChoice wanted) {
  const bool integer = !type.IsString() && !type.IsFloating() && type.id != TypeId::kBool && type.id != TypeId::kUuid &&
                       type.id != TypeId::kInterval && type.Width() <= 8;
  if (wanted == EncodingChoice::kDelta && !integer) return EncodingChoice::kAuto;
  if (wanted == EncodingChoice::kDictionary && type.id == TypeId::kBool) return EncodingChoice::kRle;
  return wanted;
}

struct Sample {
  Schema schema;
  std::vector<std::vector<Value>> values;
};

Sample MakeSample(uint64_t seed) {
  Random random(seed);
  Sample sample;
  for (const Type& type : AllTypes()) {
    for (const auto& [pattern, name] : kPatterns) {
      const bool required = pattern == Pattern::kRising;
      sample.schema.fields.push_back({.name = fmt::format("{} {}", type.ToString(), name),
                                      .type = type,
                                      .nullable = !required,
                                      .field_id = static_cast<int32_t>(sample.schema.size() + 1)});
      sample.values.push_back(MakeValues(type, pattern, random));
    }
  }
  return sample;
}

Status WriteParquet(const Sample& sample, const Case& test, const std::string& path, ThreadPool* pool) {
  WriterOptions options;
  options.page_rows = kPageRows;
  options.row_group_rows = kRowGroupRows;
  options.pool = pool;
  options.key_value = {{"sample", std::string(test.name)}};
  ASSIGN_OR_RETURN(const CodecSpec codec, CodecSpec::Parse(test.codec));
  for (const Field& field : sample.schema.fields) {
    options.columns.push_back({.codec = codec, .encoding = PossibleEncoding(field.type, test.encoding)});
  }
  ASSIGN_OR_RETURN(auto writer, FileWriter::Create(PosixFileSystem(), path, sample.schema, options));
  std::vector<ColumnData> columns;
  for (size_t c = 0; c < sample.schema.size(); ++c) columns.emplace_back(sample.schema[c].type, sample.values[c]);
  std::vector<uint32_t> selection(kRows);
  for (uint32_t row = 0; row < kRows; ++row) selection[row] = row;
  for (size_t row = 0; row < kRows; row += kAppendRows) {
    const size_t count = std::min(kAppendRows, kRows - row);
    std::vector<ColumnView> views;
    for (const ColumnData& column : columns) {
      views.push_back({.values = column.slots.data(),
                       .validity = column.has_nulls ? column.validity.data() : nullptr,
                       .selection = selection.data() + row,
                       .size = count});
    }
    RETURN_IF_ERROR(writer->Append(views, count));
  }
  RETURN_IF_ERROR(writer->AddSection("sample", AsBytes("bytes of our own")));
  return writer->Finish().status();
}

Status WriteExpected(const Sample& sample, const std::string& path) {
  std::string text;
  for (size_t c = 0; c < sample.schema.size(); ++c) {
    const Field& field = sample.schema[c];
    std::vector<std::string> values;
    for (const Value& value : sample.values[c]) values.push_back(ToJson(field.type, value));
    text += fmt::format("{{\"name\": \"{}\", \"type\": \"{}\", \"required\": {}, \"values\": [{}]}}\n", field.name,
                        field.type.ToString(), !field.nullable, fmt::join(values, ","));
  }
  ASSIGN_OR_RETURN(auto file, PosixFileSystem().Create(path));
  RETURN_IF_ERROR(file->Append(AsBytes(text)));
  return file->Close();
}

Status WriteAll(const std::string& directory, uint64_t seed) {
  const Sample sample = MakeSample(seed);
  RETURN_IF_ERROR(WriteExpected(sample, directory + "/expected.jsonl"));
  ThreadPool pool(2);
  for (const Case& test : kCases) {
    RETURN_IF_ERROR(WriteParquet(sample, test, fmt::format("{}/{}.parquet", directory, test.name), &pool));
  }
  return Status::Ok();
}

}  // namespace
}  // namespace petalite::parquet

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} DIRECTORY SEED\n", argv[0]);
    return 2;
  }
  const petalite::Status status = petalite::parquet::WriteAll(argv[1], std::strtoull(argv[2], nullptr, 10));
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
