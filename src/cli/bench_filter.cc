#include <random>

#include <CLI/CLI.hpp>

#include "bloom/split_block_filter.h"
#include "cli/bench.h"
#include "cli/bench_commands.h"

namespace petalite::cli {
namespace {

struct Options {
  size_t runs = 5;
  uint64_t large_bytes = uint64_t{1} << 30;
  bool json = false;
};

std::vector<uint64_t> RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

class FilterBench {
 public:
  explicit FilterBench(const Options& options) : options_(options), report_("filter", options.json) {}

  void Run() {
    report_.PrintMachine();
    report_.Print(fmt::format("Split-block Bloom filter, one thread, best of {} runs\n", options_.runs));
    for (const uint64_t bytes : {uint64_t{256} << 10, uint64_t{16} << 20, options_.large_bytes}) Measure(bytes);
    report_.PrintTable(
        {"filter", "bits a key", "built, M keys/s", "probe, ns", "probe in batches, ns", "false positives"}, rows_);
    report_.Finish();
  }

 private:
  void Measure(uint64_t bytes) {
    const std::string name =
        bytes >= (1u << 20) ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
    report_.Progress(name);
    constexpr double kFpp = 0.01;
    const double bits = bloom::BitsPerKeyForFpp(kFpp);
    const auto keys = static_cast<size_t>(static_cast<double>(bytes) * 8 / bits);
    // A large filter is filled in parts from a pool of hashes that fits the memory.
    const std::vector<uint64_t> present = RandomHashes(std::min<size_t>(keys, 16'000'000), 1);
    // Few enough, where the filter is small, to leave the second-level cache to it.
    const std::vector<uint64_t> absent = RandomHashes(bytes <= (1u << 20) ? 32'768 : 4'000'000, 2);
    bloom::SplitBlockFilter filter(bytes / bloom::kBlockBytes);
    double built_seconds = 0;
    for (size_t done = 0; done < keys; done += present.size()) {
      const std::vector<uint64_t> more =
          done == 0 ? present : RandomHashes(std::min(present.size(), keys - done), done);
      const Stopwatch watch;
      filter.Insert(more);
      built_seconds += watch.Seconds();
    }
    const bloom::FilterView view = filter.view();
    Check(view, present);
    std::vector<double> single, batch;
    std::vector<uint8_t> answers(absent.size());
    size_t hits = 0;
    const size_t runs = options_.runs * (absent.size() < 1'000'000 ? 100 : 1);
    for (size_t run = 0; run < runs; ++run) {
      Stopwatch watch;
      hits = 0;
      for (const uint64_t hash : absent) hits += view.MayContain(hash);
      single.push_back(watch.Seconds() * 1e9 / static_cast<double>(absent.size()));
      watch = Stopwatch();
      view.MayContain(absent, answers.data());
      batch.push_back(watch.Seconds() * 1e9 / static_cast<double>(absent.size()));
    }
    const double rate = static_cast<double>(keys) / built_seconds / 1e6;
    const double false_positives = static_cast<double>(hits) / static_cast<double>(absent.size());
    const nlohmann::ordered_json config = {{"bytes", bytes}, {"fpp", kFpp}};
    report_.Add("petalite", config, "build", "keys_per_s", rate * 1e6, "1/s");
    report_.Add("petalite", config, "probe", "best", Summarize(single).best, "ns");
    report_.Add("petalite", config, "batch probe", "best", Summarize(batch).best, "ns");
    report_.Add("petalite", config, "probe", "false_positives", false_positives, "");
    rows_.push_back({name, Number(bits), Number(rate), Number(Summarize(single).best), Number(Summarize(batch).best),
                     fmt::format("{:.4f}", false_positives)});
  }

  static void Check(const bloom::FilterView& view, const std::vector<uint64_t>& present) {
    std::vector<uint8_t> answers(present.size());
    view.MayContain(present, answers.data());
    for (size_t i = 0; i < present.size(); ++i) {
      if (answers[i] == 0 || !view.MayContain(present[i])) throw std::runtime_error("a filter denies a key it holds");
    }
  }

  const Options& options_;
  Report report_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

void AddBenchFilter(CLI::App& bench, Run* run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand("filter", "Building and probing Bloom filters");
  command->add_option("--runs", options->runs, "Runs (5)")->check(CLI::PositiveNumber);
  command->add_option("--large-bytes", options->large_bytes, "Size of the largest filter (1 GiB)");
  command->add_flag("--json", options->json, "Records instead of a table");
  command->callback([=] {
    *run = [=] {
      FilterBench(*options).Run();
      return kDone;
    };
  });
}

}  // namespace petalite::cli
