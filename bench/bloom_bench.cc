// Split-block Bloom filters: build, probe and batch probe, over filters that lie in the second-level
// cache, in the third, and in memory. The argument is the filter's size in KiB; `per_key` is the
// time of one key. Hashes are ready-made, and so many that a pass over them does not leave its
// blocks in the caches for the next.

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "base/status.h"
#include "bloom/hyperloglog.h"
#include "bloom/split_block_filter.h"
#include "bloom/split_block_kernels.h"

namespace petalite::bloom {
namespace {

constexpr size_t kBatch = 2048;  // DuckDB's vector

[[maybe_unused]] const bool kContext = [] {
  benchmark::AddCustomContext("processor", CpuName());
  benchmark::AddCustomContext("kernels", std::string(IsaName(ActiveIsa())));
  benchmark::AddCustomContext("compiler", __VERSION__);
  return true;
}();

size_t BlocksOf(const benchmark::State& state) { return static_cast<size_t>(state.range(0)) * 1024 / kBlockBytes; }

// Distinct hashes: Remix is a permutation.
std::vector<uint64_t> MakeHashes(size_t count, uint64_t first) {
  std::vector<uint64_t> hashes(count);
  for (size_t i = 0; i < count; i++) hashes[i] = Remix(first + i);
  return hashes;
}

// Enough to touch each block of a small filter, and more memory than the caches hold for a large one.
size_t HashCount(size_t blocks) { return std::clamp<size_t>(blocks, kBatch, size_t{1} << 24); }

void ReportKeys(benchmark::State& state, size_t keys_per_iteration) {
  state.counters["per_key"] =
      benchmark::Counter(static_cast<double>(keys_per_iteration),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// A filter with the keys Remix(0), Remix(1)…, at 1 % or, so that a large one is made in a second, with
// fewer keys. Checked: every key is there, absent ones are found as rarely as they should be, and
// single probes agree with batches and with the scalar kernel.
const SplitBlockFilter& CheckedFilter(size_t blocks) {
  static SplitBlockFilter filter(1);
  if (filter.blocks() == blocks) return filter;
  filter = SplitBlockFilter(blocks);
  const double bits = static_cast<double>(blocks) * 8 * kBlockBytes;
  const auto keys = static_cast<size_t>(std::min(bits / 10.53, 0x1p24));
  for (size_t first = 0; first < keys; first += kBatch) {
    filter.Insert(MakeHashes(std::min(kBatch, keys - first), first));
  }

  std::vector<uint8_t> results(kBatch);
  const std::vector<uint64_t> present = MakeHashes(std::min(kBatch, keys), 0);
  filter.view().MayContain(present, results.data());
  CHECK(std::count(results.begin(), results.end(), 1) == static_cast<ptrdiff_t>(present.size()));
  size_t found = 0;
  constexpr size_t kAbsent = 100 * kBatch;
  for (size_t first = 0; first < kAbsent; first += kBatch) {
    const std::vector<uint64_t> absent = MakeHashes(kBatch, ~uint64_t{0} - kAbsent + first);
    filter.view().MayContain(absent, results.data());
    for (size_t i = 0; i < kBatch; i++) {
      CHECK(results[i] == filter.view().MayContain(absent[i]));
      CHECK(results[i] == KernelsFor(Isa::kScalar).probe(filter.bits().data(), blocks, absent[i]));
      found += results[i];
    }
  }
  CHECK(std::abs(static_cast<double>(found) / kAbsent - FppForBitsPerKey(bits / static_cast<double>(keys))) < 0.001);
  return filter;
}

// Half of the keys probed are in the filter, in random order. Kept from one run of a benchmark to the
// next, as the filter is, because making them takes longer.
const std::vector<uint64_t>& ProbedHashes(size_t blocks) {
  static std::vector<uint64_t> hashes;
  const size_t half = HashCount(blocks) / 2;
  if (hashes.size() == 2 * half) return hashes;
  hashes = MakeHashes(half, 0);
  const std::vector<uint64_t> absent = MakeHashes(half, uint64_t{1} << 60);
  hashes.insert(hashes.end(), absent.begin(), absent.end());
  std::shuffle(hashes.begin(), hashes.end(), std::mt19937_64(1));
  return hashes;
}

void BM_Probe(benchmark::State& state) {
  const FilterView filter = CheckedFilter(BlocksOf(state)).view();
  const std::vector<uint64_t>& hashes = ProbedHashes(filter.blocks());
  size_t next = 0;
  for (auto _ : state) {
    size_t found = 0;
    for (size_t i = 0; i < kBatch; i++) found += filter.MayContain(hashes[next + i]);
    benchmark::DoNotOptimize(found);
    next = next + 2 * kBatch <= hashes.size() ? next + kBatch : 0;
  }
  ReportKeys(state, kBatch);
}
BENCHMARK(BM_Probe)->Arg(32)->Arg(1 << 10)->Arg(64 << 10)->Arg(1 << 20);

void BM_ProbeBatch(benchmark::State& state) {
  const FilterView filter = CheckedFilter(BlocksOf(state)).view();
  const std::vector<uint64_t>& hashes = ProbedHashes(filter.blocks());
  std::vector<uint8_t> results(kBatch);
  size_t next = 0;
  for (auto _ : state) {
    filter.MayContain(std::span(hashes).subspan(next, kBatch), results.data());
    benchmark::DoNotOptimize(results.data());
    next = next + 2 * kBatch <= hashes.size() ? next + kBatch : 0;
  }
  ReportKeys(state, kBatch);
}
BENCHMARK(BM_ProbeBatch)->Arg(32)->Arg(1 << 10)->Arg(64 << 10)->Arg(1 << 20);

void BM_InsertBatch(benchmark::State& state) {
  (void)CheckedFilter(BlocksOf(state));
  SplitBlockFilter filter(BlocksOf(state));
  const std::vector<uint64_t>& hashes = ProbedHashes(filter.blocks());
  size_t next = 0;
  for (auto _ : state) {
    filter.Insert(std::span(hashes).subspan(next, kBatch));
    benchmark::ClobberMemory();
    next = next + 2 * kBatch <= hashes.size() ? next + kBatch : 0;
  }
  ReportKeys(state, kBatch);
}
BENCHMARK(BM_InsertBatch)->Arg(32)->Arg(1 << 10)->Arg(64 << 10)->Arg(1 << 20);

void BM_HyperLogLogInsert(benchmark::State& state) {
  const std::vector<uint64_t> hashes = MakeHashes(kBatch, 0);
  HyperLogLog sketch;
  for (uint64_t hash : hashes) sketch.Insert(hash);
  CHECK(std::abs(sketch.Estimate() / kBatch - 1) < 0.2);
  for (auto _ : state) {
    for (uint64_t hash : hashes) sketch.Insert(hash);
    benchmark::DoNotOptimize(sketch);
  }
  ReportKeys(state, kBatch);
}
BENCHMARK(BM_HyperLogLogInsert);

}  // namespace
}  // namespace petalite::bloom
