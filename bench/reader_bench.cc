// How fast pages decode, by type, encoding and codec, from a file in the page cache; and how fast a
// large footer parses. Bytes per second are bytes of output: values in memory with the bytes that
// strings point to, or the codes of strings encoded by dictionary.

#include <filesystem>
#include <random>

#include <benchmark/benchmark.h>

#include "parquet/reader.h"
#include "parquet/writer.h"

namespace petalite::parquet {
namespace {

constexpr size_t kRows = 98304;

struct Shape {
  const char* name;
  TypeId type;
  EncodingChoice encoding;
  CodecId codec;
  uint64_t distinct;  // values
  bool nulls;
};

// The rows of one column, with what they point to.
struct Column {
  explicit Column(const Shape& shape) {
    std::mt19937_64 random(1);
    for (size_t i = 0; i < kRows; ++i) {
      numbers.push_back(static_cast<int64_t>(random() % shape.distinct));
      texts.push_back(fmt::format("customer#{:012}", numbers.back()));
    }
    for (const std::string& text : texts) refs.emplace_back(text);
    for (size_t i = 0; shape.nulls && i < kRows / 64; ++i) validity.push_back(random());
    const bool strings = Type::Of(shape.type).IsString();
    view = {.values = strings ? static_cast<const void*>(refs.data()) : numbers.data(),
            .validity = validity.empty() ? nullptr : validity.data(),
            .size = kRows};
    const bool codes = strings && shape.encoding == EncodingChoice::kDictionary;
    bytes = kRows * (codes ? sizeof(uint32_t) : Type::Of(shape.type).Width() + (strings ? texts[0].size() : 0));
  }

  std::vector<int64_t> numbers;
  std::vector<std::string> texts;
  std::vector<StringRef> refs;
  std::vector<uint64_t> validity;
  ColumnView view;
  size_t bytes = 0;
};

std::string Write(const Shape& shape, const Column& column) {
  const std::string path = std::filesystem::temp_directory_path() / "petalite_reader_bench.parquet";
  std::filesystem::remove(path);
  WriterOptions options{.columns = {{.codec = {shape.codec, 1}, .bloom = false, .encoding = shape.encoding}}};
  auto writer =
      FileWriter::Create(PosixFileSystem(), path, Schema{{{"c", Type::Of(shape.type), shape.nulls}}}, options);
  CHECK(writer.ok());
  CHECK((*writer)->Append({&column.view, 1}, kRows).ok());
  CHECK((*writer)->Finish().ok());
  return path;
}

// Whether a page has the rows that were written.
bool IsAsWritten(const DecodedPage& page, size_t first_row, const Column& column, const Shape& shape) {
  for (uint32_t row = 0; row < page.rows(); ++row) {
    const size_t at = first_row + row;
    const bool valid = page.validity() == nullptr || (page.validity()[row / 64] >> (row % 64) & 1) != 0;
    if (valid != column.view.IsValid(at)) return false;
    if (!valid) continue;
    if (Type::Of(shape.type).IsString()) {
      const auto* strings =
          static_cast<const StringRef*>(page.is_dictionary() ? page.dictionary()->values() : page.values());
      if (strings[page.is_dictionary() ? page.codes()[row] : row].view() != column.texts[at]) return false;
    } else if (std::memcmp(static_cast<const int64_t*>(page.values()) + row, &column.numbers[at], 8) != 0) {
      return false;
    }
  }
  return true;
}

void DecodePages(benchmark::State& state, const Shape& shape) {
  const Column column(shape);
  const std::string path = Write(shape, column);
  const auto reader = FileReader::Open(PosixFileSystem(), path);
  CHECK(reader.ok());
  const auto pages = (*reader)->LoadPages(0, 0);
  CHECK(pages.ok());
  const auto dictionary = (*reader)->LoadDictionary(0, 0, **pages);
  CHECK(dictionary.ok());
  for (size_t i = 0; i < (*pages)->locations.size(); ++i) {
    const auto page = (*reader)->LoadPage(0, 0, **pages, i, *dictionary);
    CHECK(page.ok());
    CHECK(IsAsWritten(**page, static_cast<size_t>((*pages)->locations[i].first_row_index), column, shape));
  }
  for (auto _ : state) {
    for (size_t i = 0; i < (*pages)->locations.size(); ++i) {
      benchmark::DoNotOptimize((*reader)->LoadPage(0, 0, **pages, i, *dictionary));
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * column.bytes));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
  std::filesystem::remove(path);
}

constexpr auto kPlain = EncodingChoice::kPlain;
constexpr auto kDictionary = EncodingChoice::kDictionary;
constexpr auto kDelta = EncodingChoice::kDelta;
constexpr auto kNone = CodecId::kUncompressed;
constexpr auto kLz4 = CodecId::kLz4Raw;

const Shape kShapes[] = {
    {"int64/plain", TypeId::kInt64, kPlain, kNone, 1u << 30, false},
    {"int64/plain/lz4", TypeId::kInt64, kPlain, kLz4, 1u << 30, false},
    {"int64/plain/nulls", TypeId::kInt64, kPlain, kNone, 1u << 30, true},
    {"int64/dictionary", TypeId::kInt64, kDictionary, kNone, 1000, false},
    {"int64/dictionary/nulls", TypeId::kInt64, kDictionary, kNone, 1000, true},
    {"int64/delta", TypeId::kInt64, kDelta, kNone, 1u << 30, false},
    {"double/plain", TypeId::kDouble, kPlain, kNone, 1u << 30, false},
    {"string/plain", TypeId::kString, kPlain, kNone, 1u << 30, false},
    {"string/plain/lz4", TypeId::kString, kPlain, kLz4, 1u << 30, false},
    {"string/plain/nulls", TypeId::kString, kPlain, kNone, 1u << 30, true},
    {"string/dictionary", TypeId::kString, kDictionary, kNone, 1000, false},
    {"string/dictionary/nulls", TypeId::kString, kDictionary, kNone, 1000, true},
};

FileMetadata LargeFooter(size_t columns, size_t row_groups) {
  FileMetadata file;
  file.schema.push_back({.name = "root", .num_children = static_cast<int32_t>(columns)});
  RowGroup group;
  for (size_t i = 0; i < columns; ++i) {
    const std::string name = fmt::format("column_{}", i);
    file.schema.push_back({.type = PhysicalType::kInt64, .repetition = Repetition::kOptional, .name = name});
    file.type_ordered.push_back(true);
    ColumnMetadata& chunk = group.columns.emplace_back();
    chunk.type = PhysicalType::kInt64;
    chunk.encodings = {Encoding::kPlain, Encoding::kRle, Encoding::kRleDictionary};
    chunk.path = {name};
    chunk.num_values = 98304;
    chunk.data_page_offset = static_cast<int64_t>(i) << 20;
    chunk.statistics.min_value = std::string(8, 'a');
    chunk.statistics.max_value = std::string(8, 'b');
    chunk.statistics.null_count = 3;
    chunk.bloom_filter_offset = chunk.offset_index_offset = chunk.column_index_offset = int64_t{1} << 35;
    chunk.bloom_filter_length = chunk.offset_index_length = chunk.column_index_length = 500;
  }
  group.num_rows = 98304;
  file.row_groups.assign(row_groups, group);
  return file;
}

void ParseFooter(benchmark::State& state) {
  ByteBuffer bytes;
  SerializeFileMetadata(LargeFooter(1000, 10), &bytes);
  const auto parsed = ParseFileMetadata(bytes);
  CHECK(parsed.ok() && parsed->row_groups.size() == 10 && parsed->row_groups[9].columns[999].path[0] == "column_999");
  for (auto _ : state) benchmark::DoNotOptimize(ParseFileMetadata(bytes));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK(ParseFooter)->Name("footer/1000_columns_10_row_groups")->Unit(benchmark::kMillisecond);

const bool kRegistered = [] {
  for (const Shape& shape : kShapes) {
    benchmark::RegisterBenchmark(shape.name, [&shape](benchmark::State& state) { DecodePages(state, shape); });
  }
  return true;
}();

}  // namespace
}  // namespace petalite::parquet
