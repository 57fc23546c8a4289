// Order-preserving key encoding, which every inserted row passes. `per_key` is the time of one key.

#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/cpu.h"
#include "base/status.h"
#include "column/key_encoding.h"

namespace petalite {
namespace {

constexpr size_t kRows = 2048;  // DuckDB's vector

[[maybe_unused]] const bool kContext = [] {
  benchmark::AddCustomContext("processor", CpuName());
  benchmark::AddCustomContext("compiler", __VERSION__);
  return true;
}();

struct Data {
  Data() : ints(kRows), texts(kRows), refs(kRows) {
    std::mt19937_64 random(1);
    for (size_t i = 0; i < kRows; i++) {
      ints[i] = static_cast<int64_t>(random());
      texts[i] = "customer-" + std::to_string(random() % 100'000'000);
      refs[i] = StringRef(texts[i]);
    }
  }
  std::vector<int64_t> ints;
  std::vector<std::string> texts;
  std::vector<StringRef> refs;
};

void EncodeRows(benchmark::State& state, const std::vector<Type>& types) {
  const Data data;
  std::vector<ColumnView> columns;
  for (const Type& type : types) {
    const void* const values = type.IsString() ? static_cast<const void*>(data.refs.data()) : data.ints.data();
    columns.push_back({.values = values, .size = kRows});
  }
  EncodedKeys keys;
  CHECK(EncodeKeys(types, columns, &keys).ok() && keys.size() == kRows);
  for (size_t i = 0; i < kRows; i++) {
    Result<std::vector<Value>> decoded = DecodeKey(types, keys[i]);
    CHECK(decoded.ok());
    for (size_t c = 0; c < types.size(); c++) {
      CHECK((*decoded)[c] == (types[c].IsString() ? Value(data.texts[i]) : Value(data.ints[i])));
    }
  }
  for (auto _ : state) {
    CHECK(EncodeKeys(types, columns, &keys).ok());
    benchmark::ClobberMemory();
  }
  state.counters["per_key"] =
      benchmark::Counter(kRows, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

const Type kInt = Type::Of(TypeId::kInt64);
const Type kText = Type::Of(TypeId::kString);

BENCHMARK_CAPTURE(EncodeRows, int64, {kInt});
BENCHMARK_CAPTURE(EncodeRows, int64_int64, {kInt, kInt});
BENCHMARK_CAPTURE(EncodeRows, string, {kText});
BENCHMARK_CAPTURE(EncodeRows, string_int64, {kText, kInt});

}  // namespace
}  // namespace petalite
