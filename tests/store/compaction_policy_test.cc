// The policy without files: flushes and merges are numbers, and what is measured is what they would cost.

#include "store/compaction_policy.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_seed.h"

namespace petalite::store {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kMiB = 1 << 20;

std::string Key(uint64_t value) {
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) key[i] = static_cast<char>(value >> (56 - 8 * i));
  return key;
}

uint64_t Value(const std::string& key) {
  uint64_t value = 0;
  for (const char c : key) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

CompactionCandidate Candidate(uint64_t id, uint64_t min, uint64_t max, uint64_t bytes) {
  return {.id = id, .min_key = Key(min), .max_key = Key(max), .bytes = bytes, .rows = bytes / 100};
}

// Full range; sizes in MiB.
std::vector<CompactionCandidate> Overlapping(const std::vector<uint64_t>& sizes) {
  std::vector<CompactionCandidate> all;
  for (const uint64_t size : sizes) all.push_back(Candidate(all.size(), 0, UINT64_MAX, size * kMiB));
  return all;
}

double LargestDepth(const std::vector<CompactionCandidate>& rowsets) {
  // Of each by itself: the mean over its own rows only.
  double largest = 0;
  for (size_t i = 0; i < rowsets.size(); ++i) {
    std::vector<CompactionCandidate> weighted = rowsets;
    for (size_t j = 0; j < weighted.size(); ++j) weighted[j].rows = i == j ? 1 : 0;
    largest = std::max(largest, RowsetsToConsult(weighted));
  }
  return largest;
}

// How the bytes of a rowset are spread over the key space: its 256 equal parts, evenly within each.
class Profile {
 public:
  static Profile Even(uint64_t min, uint64_t max, double bytes) {
    Profile all;
    const double width = static_cast<double>(max - min) + 1;
    for (uint64_t p = Of(min); p <= Of(max); ++p) {
      const double begin = std::max(static_cast<double>(min), Begin(p));
      const double end = std::min(static_cast<double>(max) + 1, Begin(p + 1));
      all.bytes_[p] = bytes * std::max(0.0, end - begin) / width;
    }
    return all;
  }
  void Add(const Profile& other) {
    for (size_t p = 0; p < kParts; ++p) bytes_[p] += other.bytes_[p];
  }
  // The key below which `n` of `of` parts of the bytes lie, if the bytes at the ends lie within [min, max].
  uint64_t Quantile(uint64_t n, uint64_t of, uint64_t min, uint64_t max) const {
    double left = std::accumulate(bytes_.begin(), bytes_.end(), 0.0) * static_cast<double>(n) / static_cast<double>(of);
    for (uint64_t p = Of(min); p <= Of(max); ++p) {
      if (left < bytes_[p]) {
        const double begin = std::max(static_cast<double>(min), Begin(p));
        const double end = std::min(static_cast<double>(max), Begin(p + 1));
        return static_cast<uint64_t>(std::min(begin + (end - begin) * left / bytes_[p], 18446744073709549568.0));
      }
      left -= bytes_[p];
    }
    return max;
  }
  Profile Part(uint64_t min, uint64_t max) const {
    Profile part;
    for (uint64_t p = Of(min); p <= Of(max); ++p) {
      const double begin = std::max(static_cast<double>(min), Begin(p));
      const double end = std::min(static_cast<double>(max) + 1, Begin(p + 1));
      part.bytes_[p] = bytes_[p] * std::max(0.0, end - begin) / (Begin(p + 1) - Begin(p));
    }
    return part;
  }

 private:
  static constexpr size_t kParts = 256;
  static uint64_t Of(uint64_t key) { return key >> 56; }
  static double Begin(uint64_t part) { return static_cast<double>(part) * 72057594037927936.0; }
  std::array<double, kParts> bytes_{};
};

// A tablet that does what the policy says.
class Tablet {
 public:
  explicit Tablet(CompactionPolicyOptions options) : options_(options) {}

  void Add(uint64_t min, uint64_t max, uint64_t bytes, uint64_t dead_rows = 0) {
    rowsets_.push_back(Candidate(next_id_++, min, max, bytes));
    rowsets_.back().dead_rows = std::min(dead_rows, rowsets_.back().rows);
    profiles_[rowsets_.back().id] = Profile::Even(min, max, static_cast<double>(bytes));
    flushed_ += bytes;
  }
  void AddUnkeyed(uint64_t bytes) {
    Add(0, 0, bytes);
    rowsets_.back().min_key = rowsets_.back().max_key = "";
  }

  // Until there is nothing more to do; false if that does not come.
  bool Settle(int most_steps = 100'000) {
    for (int step = 0; step < most_steps; ++step) {
      const auto choice = ChooseCompaction(rowsets_, options_);
      if (!choice.has_value()) return true;
      Check(*choice);
      Apply(*choice);
    }
    return false;
  }

  double WriteAmplification() const { return static_cast<double>(rewritten_) / static_cast<double>(flushed_); }
  std::vector<CompactionCandidate>& rowsets() { return rowsets_; }

 private:
  void Check(const CompactionChoice& choice) const {
    const std::set<size_t> distinct(choice.inputs.begin(), choice.inputs.end());
    ASSERT_EQ(distinct.size(), choice.inputs.size());
    ASSERT_FALSE(choice.inputs.empty());
    ASSERT_LE(choice.inputs.size(), options_.max_inputs);
    ASSERT_TRUE(std::is_sorted(choice.inputs.begin(), choice.inputs.end()));
    ASSERT_FALSE(choice.reason.empty());
    uint64_t bytes = 0;
    for (const size_t i : choice.inputs) {
      ASSERT_LT(i, rowsets_.size());
      ASSERT_FALSE(rowsets_[i].busy);
      bytes += rowsets_[i].bytes;
    }
    if (choice.inputs.size() > 2) {
      ASSERT_LE(bytes, options_.budget_bytes);
    }
    if (choice.inputs.size() == 1) {
      const CompactionCandidate& alone = rowsets_[choice.inputs[0]];
      ASSERT_GT(static_cast<double>(alone.dead_rows), options_.dead_ratio * static_cast<double>(alone.rows));
    }
  }

  void Apply(const CompactionChoice& choice) {
    const bool keyed = !rowsets_[choice.inputs[0]].max_key.empty();
    uint64_t min = UINT64_MAX;
    uint64_t max = 0;
    uint64_t bytes = 0;
    Profile profile;
    for (auto i = choice.inputs.rbegin(); i != choice.inputs.rend(); ++i) {
      const CompactionCandidate& input = rowsets_[*i];
      min = std::min(min, Value(input.min_key));
      max = std::max(max, Value(input.max_key));
      bytes += (input.rows - input.dead_rows) * 100;
      profile.Add(profiles_[input.id]);
      profiles_.erase(input.id);
      rowsets_.erase(rowsets_.begin() + static_cast<ptrdiff_t>(*i));
    }
    rewritten_ += bytes;
    if (bytes == 0) return;
    const uint64_t most_pieces = std::max<uint64_t>(max - min, 1);  // a key is not split
    const uint64_t pieces = std::min(most_pieces, (bytes + options_.rowset_bytes - 1) / options_.rowset_bytes);
    uint64_t begin = min;
    for (uint64_t p = 1; p <= pieces; ++p) {
      const uint64_t end =
          p == pieces ? max : std::clamp(profile.Quantile(p, pieces, min, max), begin, max - (pieces - p));
      rowsets_.push_back(Candidate(next_id_++, begin, end, bytes / pieces));
      profiles_[rowsets_.back().id] = profile.Part(begin, end);
      begin = end + (p < pieces);
      if (!keyed) rowsets_.back().min_key = rowsets_.back().max_key = "";
    }
  }

  CompactionPolicyOptions options_;
  std::vector<CompactionCandidate> rowsets_;
  std::map<uint64_t, Profile> profiles_;  // by id
  uint64_t next_id_ = 1;
  uint64_t flushed_ = 0;
  uint64_t rewritten_ = 0;
};

TEST(CompactionPolicyTest, CountsTheRowsetsAKeyConsults) {
  EXPECT_EQ(RowsetsToConsult({}), 0);
  EXPECT_EQ(RowsetsToConsult(std::vector{Candidate(1, 0, 100, 1000)}), 1);
  EXPECT_EQ(RowsetsToConsult(std::vector{Candidate(1, 0, 100, 1000), Candidate(2, 101, 200, 9000)}), 1);
  EXPECT_EQ(RowsetsToConsult(Overlapping({1, 10, 100})), 3);
  // Half of the first rowset's keys, and all of the second's, are in both.
  EXPECT_NEAR(RowsetsToConsult(std::vector{Candidate(1, 0, 1000, 6000), Candidate(2, 500, 1000, 6000)}), 1.75, 1e-9);
  EXPECT_NEAR(RowsetsToConsult(std::vector{Candidate(1, 0, 1000, 2000), Candidate(2, 500, 1000, 6000)}), 1.875, 1e-9);
  // A single key; and bounds that the first eight bytes cannot tell apart.
  EXPECT_NEAR(RowsetsToConsult(std::vector{Candidate(1, 0, 1000, 3000), Candidate(2, 5, 5, 1000)}), 1.25, 1e-9);
  auto close = std::vector{Candidate(1, 0, 0, 100), Candidate(2, 0, 0, 100), Candidate(3, 0, UINT64_MAX, 0)};
  close[0].min_key += "a";
  close[0].max_key += "c";
  close[1].min_key += "b";
  close[1].max_key += "d";
  EXPECT_NEAR(RowsetsToConsult(close), 2.5, 1e-9);
}

TEST(CompactionPolicyTest, WaitsUntilTheDepthIsExceeded) {
  EXPECT_FALSE(ChooseCompaction(Overlapping({1, 1, 1, 1, 1, 1}), {}).has_value());
  const auto choice = ChooseCompaction(Overlapping({1, 1, 1, 1, 1, 1, 1}), {});
  EXPECT_THAT(choice->inputs, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_EQ(choice->reason, "a key consults 7.0 rowsets, more than 6: merges 7 of 7.0 MiB");
}

TEST(CompactionPolicyTest, LeavesTheLargeAlone) {
  EXPECT_THAT(ChooseCompaction(Overlapping({100, 1, 1, 1, 1, 1, 1}), {})->inputs, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(ChooseCompaction(Overlapping({400, 300, 50, 3, 200, 2, 1}), {})->inputs, ElementsAre(3, 5, 6));
  // Where nothing stands out, all of it pays: the next merges would take what this one left.
  EXPECT_THAT(ChooseCompaction(Overlapping({7, 6, 5, 4, 3, 2, 1}), {})->inputs, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(ChooseCompaction(Overlapping({64, 32, 16, 8, 4, 2, 1}), {})->inputs, ElementsAre(3, 4, 5, 6));
}

TEST(CompactionPolicyTest, ASortedRunOfManyRowsetsCountsOnce) {
  std::vector<CompactionCandidate> rowsets = Overlapping({5, 5, 5, 5, 5});
  for (uint64_t i = 0; i < 1000; ++i) {
    rowsets.push_back(Candidate(100 + i, i << 50, (i << 50) + (uint64_t{1} << 50) - 1, 100 * kMiB));
  }
  rowsets.back().max_key = Key(UINT64_MAX);
  EXPECT_NEAR(LargestDepth({rowsets.begin(), rowsets.begin() + 20}), 6, 0.1);
  EXPECT_FALSE(ChooseCompaction(rowsets, {}).has_value());
  rowsets.push_back(Candidate(2000, 0, UINT64_MAX, 5 * kMiB));
  EXPECT_THAT(ChooseCompaction(rowsets, {})->inputs, ElementsAre(0, 1, 2, 3, 4, 1005));
}

TEST(CompactionPolicyTest, FindsTheDeepPlaceInAWideTable) {
  std::vector<CompactionCandidate> rowsets;
  for (uint64_t i = 0; i < 500; ++i) rowsets.push_back(Candidate(i, i * 1000, i * 1000 + 999, 500 * kMiB));
  for (uint64_t i = 0; i < 7; ++i) rowsets.push_back(Candidate(600 + i, 77'100, 77'200, kMiB));
  EXPECT_LT(RowsetsToConsult(rowsets), 1.1);
  EXPECT_THAT(ChooseCompaction(rowsets, {})->inputs, ElementsAre(500, 501, 502, 503, 504, 505, 506));
}

TEST(CompactionPolicyTest, StaysWithinTheBudgetWhereItCan) {
  CompactionPolicyOptions options{.budget_bytes = 30 * kMiB};
  EXPECT_EQ(ChooseCompaction(Overlapping({10, 10, 10, 10, 10, 10, 10}), options)->inputs.size(), 3u);
  options.budget_bytes = kMiB;  // the cheapest pair
  EXPECT_THAT(ChooseCompaction(Overlapping({30, 20, 10, 40, 50, 60, 70}), options)->inputs, ElementsAre(1, 2));
  options = {.max_inputs = 4};
  EXPECT_EQ(ChooseCompaction(Overlapping({10, 10, 10, 10, 10, 10, 10}), options)->inputs.size(), 4u);
}

TEST(CompactionPolicyTest, LeavesTheBusyAlone) {
  std::vector<CompactionCandidate> rowsets = Overlapping({1, 1, 1, 1, 1, 1, 1});
  rowsets[2].busy = rowsets[5].busy = true;
  EXPECT_THAT(ChooseCompaction(rowsets, {})->inputs, ElementsAre(0, 1, 3, 4, 6));
  for (CompactionCandidate& each : rowsets) each.busy = each.id != 3;
  EXPECT_FALSE(ChooseCompaction(rowsets, {}).has_value());
  rowsets[5].dead_rows = rowsets[5].rows;
  EXPECT_FALSE(ChooseCompaction(rowsets, {}).has_value());
}

TEST(CompactionPolicyTest, RewritesWhatIsMostlyDead) {
  std::vector<CompactionCandidate> rowsets = Overlapping({10'000, 20, 30});
  rowsets[0].dead_rows = rowsets[0].rows * 3 / 10;
  EXPECT_FALSE(ChooseCompaction(rowsets, {}).has_value());
  rowsets[0].dead_rows += 10;
  EXPECT_THAT(ChooseCompaction(rowsets, {})->inputs, ElementsAre(0));
  rowsets[1].dead_rows = rowsets[1].rows;
  EXPECT_THAT(ChooseCompaction(rowsets, {})->inputs, ElementsAre(1));
}

TEST(CompactionPolicyTest, MergesSmallNeighboursOnceTheyAreMany) {
  std::vector<CompactionCandidate> rowsets;
  for (uint64_t i = 0; i < 7; ++i) rowsets.push_back(Candidate(i, i * 10, i * 10 + 9, kMiB));
  rowsets.push_back(Candidate(7, 70, 79, 100 * kMiB));  // large: ends the run
  for (uint64_t i = 8; i < 15; ++i) rowsets.push_back(Candidate(i, i * 10, i * 10 + 9, kMiB));
  EXPECT_FALSE(ChooseCompaction(rowsets, {}).has_value());
  rowsets.push_back(Candidate(15, 150, 159, kMiB));
  EXPECT_THAT(ChooseCompaction(rowsets, {})->inputs, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  rowsets.push_back(Candidate(16, 0, 1000, 100 * kMiB));  // one that lies over all of them does not
  EXPECT_EQ(ChooseCompaction(rowsets, {})->inputs.size(), 8u);
}

TEST(CompactionPolicyTest, UnkeyedTablesMergeSmallNeighboursByIdOnly) {
  Tablet tablet({});
  for (int i = 0; i < 7; ++i) tablet.AddUnkeyed(kMiB);
  tablet.AddUnkeyed(500 * kMiB);
  for (int i = 0; i < 7; ++i) tablet.AddUnkeyed(kMiB);
  EXPECT_FALSE(ChooseCompaction(tablet.rowsets(), {}).has_value());
  tablet.AddUnkeyed(kMiB);
  std::swap(tablet.rowsets()[0], tablet.rowsets()[15]);
  EXPECT_THAT(ChooseCompaction(tablet.rowsets(), {})->inputs, ElementsAre(0, 8, 9, 10, 11, 12, 13, 14));
  EXPECT_EQ(RowsetsToConsult(tablet.rowsets()), 0);
}

// The least that merges can rewrite so that after each of `flushes` equal flushes at most `runs` sorted runs are left:
// the first `a` flushes end up in one run, the others have one run less to do with.
uint64_t LeastRewritten(uint64_t runs, uint64_t flushes) {
  static std::map<std::pair<uint64_t, uint64_t>, uint64_t> known;
  if (flushes <= runs) return 0;
  if (runs == 0) return UINT32_MAX;
  const auto found = known.find({runs, flushes});
  if (found != known.end()) return found->second;
  uint64_t least = UINT32_MAX;
  for (uint64_t a = 1; a <= flushes; ++a) {
    const uint64_t into_one = a == 1 ? 0 : a + LeastRewritten(runs, a - 1);
    least = std::min(least, into_one + LeastRewritten(runs - 1, flushes - a));
  }
  return known[{runs, flushes}] = least;
}

// With six runs allowed, the least possible is 0.96 of what was flushed for 25 flushes, 2.15 for 100, 3.27 for 300. The
// policy does not know how many will come.
TEST(CompactionPolicyTest, EqualFlushesOfTheWholeRangeAreRewrittenLittle) {
  const std::pair<int, double> bounds[] = {{25, 1.05}, {50, 1.9},  {100, 2.6}, {200, 3.8},
                                           {300, 3.5}, {400, 3.8}, {1000, 5.6}};
  for (const uint64_t rowset_bytes : {1024 * kMiB, 100'000 * kMiB}) {
    for (const auto& [flushes, bound] : bounds) {
      SCOPED_TRACE(fmt::format("{} flushes, rowsets of {} bytes", flushes, rowset_bytes));
      Tablet tablet({.budget_bytes = UINT64_MAX, .rowset_bytes = rowset_bytes});
      for (int i = 0; i < flushes; ++i) {
        tablet.Add(0, UINT64_MAX, 64 * kMiB);
        ASSERT_TRUE(tablet.Settle());
        ASSERT_LE(RowsetsToConsult(tablet.rowsets()), 6.001);
      }
      RecordProperty(fmt::format("write_amplification_{}_{}", flushes, rowset_bytes),
                     fmt::to_string(tablet.WriteAmplification()));
      EXPECT_LE(tablet.WriteAmplification(), bound);
      if (flushes <= 400) {
        EXPECT_LE(tablet.WriteAmplification() * flushes, 1.35 * static_cast<double>(LeastRewritten(6, flushes)));
      }
    }
  }
}

// A tablet beyond the budget is merged in slices, which costs more the more it is beyond.
TEST(CompactionPolicyTest, ABudgetBelowTheTabletsSizeHasItsPrice) {
  const std::tuple<uint64_t, int, double> cases[] = {{4, 300, 5.5}, {16, 1000, 10}, {4, 1000, 20}};
  for (const auto& [gibibytes, flushes, bound] : cases) {
    SCOPED_TRACE(fmt::format("{} flushes, budget of {} GiB", flushes, gibibytes));
    Tablet tablet({.budget_bytes = gibibytes * 1024 * kMiB});
    for (int i = 0; i < flushes; ++i) {
      tablet.Add(0, UINT64_MAX, 64 * kMiB);
      ASSERT_TRUE(tablet.Settle());
      ASSERT_LE(RowsetsToConsult(tablet.rowsets()), 6.001);
    }
    EXPECT_LE(tablet.WriteAmplification(), bound);
  }
}

TEST(CompactionPolicyTest, TimeOrderedFlushesAreMergedOnlyWhileSmall) {
  Tablet tablet({});
  for (uint64_t i = 0; i < 300; ++i) {
    tablet.Add(i * 1000, i * 1000 + 999, 64 * kMiB);
    ASSERT_TRUE(tablet.Settle());
  }
  EXPECT_EQ(tablet.WriteAmplification(), 0);
  for (uint64_t i = 300; i < 3300; ++i) {
    tablet.Add(i * 1000, i * 1000 + 999, kMiB);
    if (i % 10 == 0) {
      ASSERT_TRUE(tablet.Settle());
    }
  }
  ASSERT_TRUE(tablet.Settle());
  EXPECT_LT(tablet.rowsets().size(), 300 + 3000 / 8 / 3);
  EXPECT_LT(tablet.WriteAmplification(), 1);
}

TEST(CompactionPolicyTest, TenThousandTinyRowsetsDoNotRemain) {
  Tablet tablet({});
  Tablet unkeyed({});
  tablet.Add(0, UINT64_MAX, 500 * kMiB);  // lies over all
  for (uint64_t i = 0; i < 10'000; ++i) {
    tablet.Add((i * 7919 % 10'000) << 40, (i * 7919 % 10'000) << 40 | 0xffffffff, 10'000);
    unkeyed.AddUnkeyed(10'000);
  }
  ASSERT_TRUE(tablet.Settle());
  ASSERT_TRUE(unkeyed.Settle());
  EXPECT_LT(tablet.rowsets().size(), 20u);
  EXPECT_LT(unkeyed.rowsets().size(), 20u);
}

// Whatever the sizes, ranges, deaths and limits: it comes to an end, and what it promises is so at rest.
TEST(CompactionPolicyTest, AlwaysComesToRest) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    CompactionPolicyOptions options{.max_depth = 1 + random() % 8,
                                    .budget_bytes = kMiB << random() % 14,
                                    .small_bytes = kMiB << random() % 6,
                                    .dead_ratio = 0.1 * static_cast<double>(random() % 10),
                                    .max_inputs = random() % 2 == 0 ? 255 : 2 + random() % 10,
                                    .rowset_bytes = kMiB << random() % 10};
    Tablet tablet(options);
    const auto width_bits = static_cast<int>(random() % 64);
    for (int i = 0; i < 60; ++i) {
      const uint64_t min = random() >> 1;
      const uint64_t width = random() >> 1 >> random() % (width_bits + 1);
      const uint64_t bytes = 100 * (1 + (random() % kMiB >> random() % 15));
      tablet.Add(min, min + width, bytes, random() % 3 == 0 ? random() % (bytes / 50) : 0);
      if (random() % 4 == 0) {
        ASSERT_TRUE(tablet.Settle()) << "round " << round;
      }
    }
    ASSERT_TRUE(tablet.Settle());
    ASSERT_LE(LargestDepth(tablet.rowsets()), static_cast<double>(options.max_depth) + 0.001);
    for (const CompactionCandidate& each : tablet.rowsets()) {
      ASSERT_LE(static_cast<double>(each.dead_rows), options.dead_ratio * static_cast<double>(each.rows));
    }
  }
}

}  // namespace
}  // namespace petalite::store
