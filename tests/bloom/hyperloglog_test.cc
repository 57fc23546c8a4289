#include "bloom/hyperloglog.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "test_seed.h"

namespace petalite::bloom {
namespace {

constexpr double kStandardError = 0.033;

HyperLogLog SketchOf(size_t distinct, uint64_t seed) {
  std::mt19937_64 random(seed);
  HyperLogLog sketch;
  for (size_t i = 0; i < distinct; i++) sketch.Insert(random());
  return sketch;
}

TEST(HyperLogLog, IsExactForNothingAndOne) {
  EXPECT_EQ(HyperLogLog().Estimate(), 0);
  EXPECT_NEAR(SketchOf(1, 1).Estimate(), 1, 0.01);
}

TEST(HyperLogLog, EstimatesWithinItsError) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  constexpr int kSketches = 100;
  for (size_t distinct : {10, 100, 1000, 2500, 5000, 20'000, 100'000}) {
    double squares = 0;
    double bias = 0;
    for (int i = 0; i < kSketches; i++) {
      const double error = SketchOf(distinct, seed + static_cast<uint64_t>(i)).Estimate() / distinct - 1;
      EXPECT_LT(std::abs(error), 6 * kStandardError) << distinct;
      squares += error * error;
      bias += error / kSketches;
    }
    // More than one standard error, because of where linear counting hands over to the sum of ranks.
    EXPECT_LT(std::sqrt(squares / kSketches), 1.8 * kStandardError) << distinct;
    EXPECT_LT(std::abs(bias), 1.2 * kStandardError) << distinct;
  }
}

TEST(HyperLogLog, IgnoresRepetitions) {
  HyperLogLog sketch;
  for (int i = 0; i < 10; i++) sketch.Merge(SketchOf(1000, 7));
  EXPECT_EQ(sketch.Estimate(), SketchOf(1000, 7).Estimate());
}

TEST(HyperLogLog, MergesIntoTheSketchOfTheWhole) {
  HyperLogLog whole;
  HyperLogLog parts;
  for (uint64_t seed = 0; seed < 5; seed++) {
    std::mt19937_64 random(seed);
    HyperLogLog part;
    for (int i = 0; i < 3000; i++) {
      const uint64_t hash = random();
      whole.Insert(hash);
      part.Insert(hash);
    }
    parts.Merge(part);
  }
  EXPECT_TRUE(std::ranges::equal(parts.bytes(), whole.bytes()));
}

TEST(HyperLogLog, LoadsItsBytesAndNoOthers) {
  const HyperLogLog sketch = SketchOf(1000, 3);
  HyperLogLog loaded;
  ASSERT_TRUE(loaded.Load(sketch.bytes()));
  EXPECT_EQ(loaded.Estimate(), sketch.Estimate());

  std::vector<uint8_t> bytes(sketch.bytes().begin(), sketch.bytes().end());
  EXPECT_FALSE(loaded.Load(Bytes(bytes).first(bytes.size() - 1)));
  bytes[5] = 55;  // the rank of a hash whose bits behind the index are all zero
  EXPECT_TRUE(loaded.Load(bytes));
  bytes[5] = 56;
  EXPECT_FALSE(loaded.Load(bytes));
}

TEST(HyperLogLog, RanksAHashOfZeroes) {
  HyperLogLog sketch;
  sketch.Insert(0);
  EXPECT_EQ(sketch.bytes()[0], 55);
  HyperLogLog loaded;
  EXPECT_TRUE(loaded.Load(sketch.bytes()));
}

}  // namespace
}  // namespace petalite::bloom
