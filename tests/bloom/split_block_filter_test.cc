#include "bloom/split_block_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "test_seed.h"

namespace petalite::bloom {
namespace {

std::vector<uint64_t> RandomHashes(size_t count, std::mt19937_64& random) {
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

SplitBlockFilter FilterOf(std::span<const uint64_t> hashes, size_t blocks) {
  SplitBlockFilter filter(blocks);
  filter.Insert(hashes);
  return filter;
}

bool SameBits(const SplitBlockFilter& a, const SplitBlockFilter& b) { return std::ranges::equal(a.bits(), b.bits()); }

// The only block that is not empty, and its words.
struct OnlyBlock {
  size_t index = 0;
  uint32_t words[8] = {};
};
OnlyBlock FindOnlyBlock(Bytes bits) {
  OnlyBlock found;
  size_t count = 0;
  for (size_t block = 0; block < bits.size() / kBlockBytes; block++) {
    const Bytes bytes = bits.subspan(block * kBlockBytes, kBlockBytes);
    if (std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; })) continue;
    count++;
    found.index = block;
    std::memcpy(found.words, bytes.data(), kBlockBytes);
  }
  EXPECT_EQ(count, 1u);
  return found;
}

TEST(BloomHash, HasTheKnownVectors) {
  EXPECT_EQ(Xxh64(""), 0xef46db3751d8e999u);
  EXPECT_EQ(Xxh64("hello"), 0x26c7827d889f6da3u);
  const int32_t int32_zero = 0;
  EXPECT_EQ(Xxh64(&int32_zero, 4), 0x3aefa6fd5cf2deb4u);
  const int64_t int64_zero = 0;
  EXPECT_EQ(Xxh64(&int64_zero, 8), 0x34c96acdcadb1bbbu);
  const double zero = 0.0;
  EXPECT_EQ(Xxh64(&zero, 8), 0x34c96acdcadb1bbbu);
  const double minus_zero = -0.0;
  EXPECT_EQ(Xxh64(&minus_zero, 8), 0x3f425eacf01544e0u);
  const uint8_t decimal_five[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
  EXPECT_EQ(Xxh64(decimal_five, 16), 0xf18ae5fab49c44efu);
  EXPECT_EQ(Xxh64(decimal_five + 7, 9), 0x91ff3816ffc064c1u);
}

TEST(SplitBlockFilter, SetsTheSpecifiedBits) {
  const int bits[8] = {20, 9, 10, 7, 9, 31, 28, 27};
  for (const auto& [blocks, expected] : {std::pair<size_t, size_t>{32, 4}, {4096, 620}}) {
    SplitBlockFilter filter(blocks);
    filter.Insert(Xxh64("hello"));
    const OnlyBlock block = FindOnlyBlock(filter.bits());
    EXPECT_EQ(block.index, expected);
    for (size_t i = 0; i < 8; i++) EXPECT_EQ(block.words[i], uint32_t{1} << bits[i]) << i;
  }
}

TEST(SplitBlockFilter, EqualsTheFilterThatParquetJavaWrote) {
  std::ifstream file(PETALITE_TEST_DATA "/parquet-testing/bloom_filter.xxhash.bin", std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  constexpr size_t kHeader = 16;  // Thrift: 1024 bytes, BLOCK, XXHASH, UNCOMPRESSED
  ASSERT_EQ(content.size(), kHeader + 1024);

  const Bytes bits = AsBytes(content).subspan(kHeader);
  SplitBlockFilter filter(32);
  for (std::string_view text : {"hello", "parquet", "bloom", "filter"}) {
    EXPECT_TRUE(FilterView(bits).MayContain(Xxh64(text))) << text;
    filter.Insert(Xxh64(text));
  }
  EXPECT_FALSE(FilterView(bits).MayContain(Xxh64("absent")));
  EXPECT_TRUE(std::ranges::equal(filter.bits(), bits));
}

TEST(SplitBlockFilter, NeverDeniesAKey) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; round++) {
    const size_t blocks = 1 + random() % (round % 2 == 0 ? 20 : 3000);
    const std::vector<uint64_t> hashes = RandomHashes(random() % (8 * blocks), random);
    SplitBlockFilter filter(blocks);
    const size_t singles = hashes.empty() ? 0 : random() % hashes.size();
    for (size_t i = 0; i < singles; i++) filter.Insert(hashes[i]);
    filter.Insert(std::span(hashes).subspan(singles));

    std::vector<uint8_t> results(hashes.size());
    filter.view().MayContain(hashes, results.data());
    ASSERT_EQ(std::ranges::count(results, 1), static_cast<ptrdiff_t>(hashes.size())) << blocks << " blocks";
    for (uint64_t hash : hashes) ASSERT_TRUE(filter.view().MayContain(hash)) << blocks << " blocks";
  }
}

TEST(SplitBlockFilter, FindsAnyOfSeveral) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  const std::vector<uint64_t> present = RandomHashes(1000, random);
  const SplitBlockFilter filter = FilterOf(present, 40'000);
  std::vector<uint64_t> absent;
  while (absent.size() < 100) {
    const uint64_t hash = random();
    if (!filter.view().MayContain(hash)) absent.push_back(hash);
  }
  EXPECT_FALSE(filter.view().MayContainAny({}));
  EXPECT_FALSE(filter.view().MayContainAny(absent));
  for (size_t at = 0; at < absent.size(); at++) {
    std::vector<uint64_t> mixed = absent;
    mixed[at] = present[at];
    EXPECT_TRUE(filter.view().MayContainAny(mixed)) << at;
  }
}

TEST(SplitBlockFilter, FoldsIntoTheFilterOfHalfTheSize) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (size_t blocks : {2, 6, 64, 100, 4096}) {
    const std::vector<uint64_t> hashes = RandomHashes(4 * blocks, random);
    SplitBlockFilter filter = FilterOf(hashes, blocks);
    for (size_t size = blocks; size % 2 == 0; size /= 2) {
      filter.Fold();
      ASSERT_EQ(filter.blocks(), size / 2);
      EXPECT_TRUE(SameBits(filter, FilterOf(hashes, size / 2))) << size / 2;
    }
  }
}

TEST(SplitBlockFilter, FoldsForTheKeysThatCame) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (uint64_t keys : {1, 20, 1000, 50'000}) {
    const std::vector<uint64_t> hashes = RandomHashes(keys, random);
    SplitBlockFilter filter = FilterOf(hashes, 1 << 14);
    filter.FoldFor(keys, 0.01);
    EXPECT_EQ(filter.blocks(), PowerOfTwoBlocksFor(keys, 0.01));
    EXPECT_TRUE(SameBits(filter, FilterOf(hashes, filter.blocks())));
    filter.Insert(random());  // still a filter
  }
}

TEST(SplitBlockFilter, DoesNotFoldWhatWouldNotHold) {
  SplitBlockFilter small(16);
  small.FoldFor(1'000'000, 0.01);
  EXPECT_EQ(small.blocks(), 16u);
  SplitBlockFilter odd(48);  // no power of two
  odd.FoldFor(1, 0.01);
  EXPECT_EQ(odd.blocks(), 48u);
}

TEST(FilterSize, HasTheTrueProbability) {
  EXPECT_NEAR(BitsPerKeyForFpp(0.05), 7.23, 0.005);
  EXPECT_NEAR(BitsPerKeyForFpp(0.01), 10.53, 0.005);
  EXPECT_NEAR(BitsPerKeyForFpp(0.001), 16.89, 0.005);
  EXPECT_NEAR(BitsPerKeyForFpp(0.0001), 26.34, 0.005);
  EXPECT_NEAR(FppForBitsPerKey(10), 0.0126, 0.00005);
  EXPECT_NEAR(FppForBitsPerKey(20), 0.00042, 0.000005);
}

TEST(FilterSize, InvertsAtEveryProbability) {
  double last = 0;
  for (double fpp = 0.999; fpp > 1e-9; fpp *= 0.7) {
    const double bits = BitsPerKeyForFpp(fpp);
    EXPECT_GT(bits, last);
    EXPECT_LE(FppForBitsPerKey(bits), fpp);
    EXPECT_NEAR(FppForBitsPerKey(bits) / fpp, 1, 1e-6);
    last = bits;
  }
  EXPECT_EQ(FppForBitsPerKey(1e-6), 1);  // 256 million keys in a block: no underflow, no endless sum
}

TEST(FilterSize, IsTheLeastNumberOfBlocks) {
  EXPECT_EQ(BlocksFor(0, 0.01), 1u);
  EXPECT_EQ(BlocksFor(1, 0.5), 1u);
  for (uint64_t keys : {1000, 12'345, 1'000'000'000}) {
    const size_t blocks = BlocksFor(keys, 0.0001);
    EXPECT_LE(FppForBitsPerKey(256.0 * blocks / keys), 0.0001);
    EXPECT_GT(FppForBitsPerKey(256.0 * (blocks - 1) / keys), 0.0001);
  }
}

TEST(FilterSize, OfAColumnIsAPowerOfTwoUpToTheLimit) {
  for (uint64_t keys : {0, 1, 25, 1000, 1'000'000}) {
    const size_t blocks = PowerOfTwoBlocksFor(keys, 0.01);
    EXPECT_TRUE(std::has_single_bit(blocks));
    EXPECT_GE(blocks, BlocksFor(keys, 0.01));
    EXPECT_LT(blocks / 2, BlocksFor(keys, 0.01));
  }
  EXPECT_EQ(PowerOfTwoBlocksFor(10'000'000'000, 0.01) * kBlockBytes, kMaxColumnFilterBytes);
}

struct FppCase {
  uint64_t keys;
  double fpp;
  int seeds;
};

// The share of absent keys that filters of `blocks` blocks do not deny, over several seeds.
double ObservedFpp(const FppCase& c, size_t blocks, uint64_t seed) {
  // So many probes that chance moves the result by 1.6 % (one standard deviation).
  const size_t probes = static_cast<size_t>(4000 / c.fpp) / c.seeds;
  std::mt19937_64 random(seed);
  size_t positives = 0;
  std::vector<uint64_t> hashes(4096);
  std::vector<uint8_t> results(hashes.size());
  const auto refill = [&] {
    for (uint64_t& hash : hashes) hash = random();
  };
  for (int round = 0; round < c.seeds; round++) {
    SplitBlockFilter filter(blocks);
    for (uint64_t left = c.keys; left > 0;) {
      const size_t count = std::min<uint64_t>(left, hashes.size());
      refill();
      filter.Insert(std::span(hashes).first(count));
      left -= count;
    }
    for (size_t left = probes; left > 0;) {
      const size_t count = std::min(left, hashes.size());
      refill();
      filter.view().MayContain(std::span(hashes).first(count), results.data());
      positives += static_cast<size_t>(std::count(results.begin(), results.begin() + static_cast<ptrdiff_t>(count), 1));
      left -= count;
    }
  }
  return static_cast<double>(positives) / (static_cast<double>(probes) * c.seeds);
}

// The false-positive probability by another road than the library's: the eighth power multiplied out
// and each term averaged over the binomial distribution, E[x^i] = (1 − (1 − x) / blocks)^keys.
double BinomialFpp(uint64_t keys, size_t blocks) {
  long double fpp = 0;
  long double choose = 1;  // 8 over k, with the sign of the term
  for (int k = 0; k <= 8; k++) {
    const long double x = std::pow(31.0L / 32, k);
    fpp += choose * std::exp(keys * std::log1p(-(1 - x) / blocks));
    choose *= -static_cast<long double>(8 - k) / (k + 1);
  }
  return static_cast<double>(fpp);
}

void ExpectFppNear(const FppCase& c) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  const size_t blocks = BlocksFor(c.keys, c.fpp);
  const double observed = ObservedFpp(c, blocks, seed);
  EXPECT_NEAR(observed / BinomialFpp(c.keys, blocks), 1, 0.1) << c.keys << " keys at " << c.fpp;
  // Of a few dozen blocks, one more or less moves the probability by 10 %.
  EXPECT_NEAR(observed / c.fpp, 1, c.keys > 1000 ? 0.1 : 0.2) << c.keys << " keys at " << c.fpp;
  const double rounded_up = ObservedFpp(c, PowerOfTwoBlocksFor(c.keys, c.fpp), seed);
  EXPECT_LE(rounded_up, 1.1 * c.fpp) << c.keys << " keys at " << c.fpp << ", power of two";
}

TEST(ObservedFpp, IsTheTargetAtOnePercent) {
  for (const FppCase& c : {FppCase{1000, 0.01, 100}, {10'000, 0.01, 20}, {100'000, 0.01, 5}, {1'000'000, 0.01, 2}}) {
    ExpectFppNear(c);
  }
}

TEST(ObservedFpp, IsTheTargetAtAHundredthOfAPercent) {
  for (const FppCase& c : {FppCase{1000, 1e-4, 500}, {10'000, 1e-4, 50}, {100'000, 1e-4, 5}, {1'000'000, 1e-4, 1}}) {
    ExpectFppNear(c);
  }
}

TEST(ObservedFppLong, IsTheTargetForTenMillionKeys) {
  ExpectFppNear({10'000'000, 0.01, 2});
  ExpectFppNear({10'000'000, 1e-4, 2});
}

}  // namespace
}  // namespace petalite::bloom
