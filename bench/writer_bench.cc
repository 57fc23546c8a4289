// The Parquet writer over rows like TPC-H's lineitem, and over single columns of it, into memory:
// what encoding costs, without a disk. `values` is values a second; the mix's argument is the number
// of pool threads beside the caller's (0: no pool, which is the figure per core).

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/cpu.h"
#include "memory_file_system.h"
#include "parquet/read_column.h"
#include "parquet/reader.h"
#include "parquet/writer.h"

namespace petalite::parquet {
namespace {

constexpr size_t kRows = 4 * 98304;
constexpr size_t kVector = 2048;  // rows of an Append, as DuckDB has them
constexpr std::string_view kPath = "bench.parquet";

[[maybe_unused]] const bool kContext = [] {
  benchmark::AddCustomContext("processor", CpuName());
  benchmark::AddCustomContext("kernels", std::string(IsaName(ActiveIsa())));
  benchmark::AddCustomContext("compiler", __VERSION__);
  return true;
}();

struct Column {
  Field field;
  ByteBuffer slots;
  std::vector<std::string> texts;  // what long strings point into
};

using Random = std::mt19937_64;

template <typename T, typename Make>
Column NumberColumn(std::string name, Type type, Make make) {
  Column column{.field = {.name = std::move(name), .type = type, .nullable = false}, .slots = {}, .texts = {}};
  column.slots.resize(kRows * sizeof(T));
  for (size_t row = 0; row < kRows; ++row) StoreLe(column.slots.data() + row * sizeof(T), static_cast<T>(make(row)));
  return column;
}

template <typename Make>
Column TextColumn(std::string name, Make make) {
  Column column{.field = {.name = std::move(name), .type = Type::Of(TypeId::kString), .nullable = false},
                .slots = ByteBuffer(kRows * sizeof(StringRef)),
                .texts = std::vector<std::string>(kRows)};
  for (size_t row = 0; row < kRows; ++row) {
    column.texts[row] = make(row);
    StoreLe(column.slots.data() + row * sizeof(StringRef), StringRef(column.texts[row]));
  }
  return column;
}

std::string Comment(Random& random) {
  static constexpr std::string_view kWords[] = {"furiously", "regular",  "deposits", "sleep", "carefully", "final",
                                                "accounts",  "the",      "quickly",  "about", "ironic",    "packages",
                                                "requests",  "blithely", "even",     "haggle"};
  std::string text(kWords[random() % std::size(kWords)].substr(random() % 3));
  const size_t length = 10 + random() % 34;
  while (text.size() < length) text.append(" ").append(kWords[random() % std::size(kWords)]);
  return text.substr(0, length);
}

std::vector<Column> Lineitem() {
  Random random(7);
  static constexpr std::string_view kInstructions[] = {"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"};
  static constexpr std::string_view kModes[] = {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"};
  const Type money = Type::Decimal(15, 2);
  const Type date = Type::Of(TypeId::kDate);
  const Type id = Type::Of(TypeId::kInt64);
  std::vector<Column> columns;
  columns.push_back(NumberColumn<int64_t>("l_orderkey", id, [](size_t row) { return row / 4 / 8 * 32 + row / 4 % 8; }));
  columns.push_back(NumberColumn<int64_t>("l_partkey", id, [&](size_t) { return random() % 200'000; }));
  columns.push_back(NumberColumn<int64_t>("l_suppkey", id, [&](size_t) { return random() % 10'000; }));
  columns.push_back(NumberColumn<int64_t>("l_linenumber", id, [](size_t row) { return row % 4 + 1; }));
  columns.push_back(NumberColumn<int64_t>("l_quantity", money, [&](size_t) { return (1 + random() % 50) * 100; }));
  columns.push_back(
      NumberColumn<int64_t>("l_extendedprice", money, [&](size_t) { return 90'000 + random() % 9'400'000; }));
  columns.push_back(NumberColumn<int64_t>("l_discount", money, [&](size_t) { return random() % 11; }));
  columns.push_back(NumberColumn<int64_t>("l_tax", money, [&](size_t) { return random() % 9; }));
  columns.push_back(TextColumn("l_returnflag", [&](size_t) { return std::string(1, "NRA"[random() % 3]); }));
  columns.push_back(TextColumn("l_linestatus", [&](size_t) { return std::string(1, "OF"[random() % 2]); }));
  for (const char* name : {"l_shipdate", "l_commitdate", "l_receiptdate"}) {
    columns.push_back(NumberColumn<int32_t>(name, date, [&](size_t) { return 8035 + random() % 2500; }));
  }
  columns.push_back(TextColumn("l_shipinstruct", [&](size_t) { return std::string(kInstructions[random() % 4]); }));
  columns.push_back(TextColumn("l_shipmode", [&](size_t) { return std::string(kModes[random() % 7]); }));
  columns.push_back(TextColumn("l_comment", [&](size_t) { return Comment(random); }));
  return columns;
}

const std::vector<Column>& Columns() {
  static const std::vector<Column> columns = Lineitem();
  return columns;
}

std::vector<ColumnView> ViewsOf(std::span<const Column> columns, size_t row, size_t count) {
  std::vector<ColumnView> views;
  for (const Column& column : columns) {
    views.push_back({.values = column.slots.data() + row * column.field.type.Width(), .size = count});
  }
  return views;
}

WrittenFile Write(std::span<const Column> columns, std::string_view codec, ThreadPool* pool, MemoryFileSystem* fs) {
  Schema schema;
  WriterOptions options;
  options.pool = pool;
  for (const Column& column : columns) {
    schema.fields.push_back(column.field);
    options.columns.push_back({.codec = *CodecSpec::Parse(codec)});
  }
  auto writer = FileWriter::Create(*fs, std::string(kPath), schema, options);
  CHECK(writer.ok());
  for (size_t row = 0; row < kRows; row += kVector) {
    const size_t count = std::min(kVector, kRows - row);
    CHECK((*writer)->Append(ViewsOf(columns, row, count), count).ok());
  }
  Result<WrittenFile> written = (*writer)->Finish();
  CHECK(written.ok());
  return *std::move(written);
}

// Whether the file holds the column's values, by Petalite's reader.
void CheckColumn(const FileReader& reader, size_t c, const Column& column) {
  const Result<std::vector<Value>> read = ReadColumn(reader, c);
  CHECK(read.ok() && read->size() == kRows);
  for (size_t row = 0; row < kRows; ++row) {
    const uint8_t* slot = column.slots.data() + row * column.field.type.Width();
    CHECK((*read)[row] == Value::FromSlot(column.field.type, slot));
  }
}

void CheckFile(std::span<const Column> columns, std::string_view codec, ThreadPool* pool) {
  MemoryFileSystem fs;
  (void)Write(columns, codec, pool, &fs);
  auto reader = FileReader::Open(fs, std::string(kPath));
  CHECK(reader.ok());
  for (size_t c = 0; c < columns.size(); ++c) CheckColumn(**reader, c, columns[c]);
}

void Report(benchmark::State& state, size_t columns, const WrittenFile& written) {
  state.counters["values"] =
      benchmark::Counter(static_cast<double>(kRows * columns), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["rows"] =
      benchmark::Counter(static_cast<double>(kRows), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes_per_row"] = static_cast<double>(written.bytes) / kRows;
}

void Run(benchmark::State& state, std::span<const Column> columns, std::string_view codec, size_t threads) {
  std::unique_ptr<ThreadPool> pool;
  if (threads > 0) pool = std::make_unique<ThreadPool>(threads);
  CheckFile(columns, codec, pool.get());
  WrittenFile written;
  for (auto _ : state) {
    MemoryFileSystem fs;
    fs.keep_bytes = false;
    written = Write(columns, codec, pool.get(), &fs);
  }
  Report(state, columns.size(), written);
}

void LineitemLz4(benchmark::State& state) { Run(state, Columns(), "lz4", static_cast<size_t>(state.range(0))); }
void LineitemUncompressed(benchmark::State& state) {
  Run(state, Columns(), "uncompressed", static_cast<size_t>(state.range(0)));
}
void LineitemZstd(benchmark::State& state) { Run(state, Columns(), "zstd", static_cast<size_t>(state.range(0))); }
BENCHMARK(LineitemLz4)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(LineitemUncompressed)->Arg(0)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(LineitemZstd)->Arg(0)->Unit(benchmark::kMillisecond)->UseRealTime();

void OneColumn(benchmark::State& state) {
  const Column& column = Columns()[static_cast<size_t>(state.range(0))];
  state.SetLabel(column.field.name);
  Run(state, std::span(&column, 1), "lz4", 0);
}
BENCHMARK(OneColumn)->DenseRange(0, 15)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace petalite::parquet
