// The encoders against small decoders written from Encodings.md, and against known bytes.

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "parquet/bit_packing.h"
#include "parquet/delta_encoder.h"
#include "parquet/rle_encoder.h"
#include "test_seed.h"

namespace petalite::parquet {
namespace {

uint64_t ReadBits(Bytes bytes, size_t index, int width) {
  uint64_t value = 0;
  for (int bit = 0; bit < width; ++bit) {
    const size_t at = index * static_cast<size_t>(width) + static_cast<size_t>(bit);
    value |= static_cast<uint64_t>(bytes[at / 8] >> (at % 8) & 1) << bit;
  }
  return value;
}

std::vector<uint32_t> DecodeRle(Bytes bytes, int width, size_t count) {
  ByteReader reader(bytes);
  std::vector<uint32_t> values;
  while (values.size() < count) {
    uint64_t header = 0;
    EXPECT_TRUE(reader.ReadVarint(&header));
    Bytes body;
    if ((header & 1) != 0) {
      const size_t groups = header >> 1;
      EXPECT_TRUE(reader.Take(std::min(groups * static_cast<size_t>(width), reader.remaining()), &body));
      for (size_t i = 0; i < groups * 8 && values.size() < count; ++i) {
        values.push_back(static_cast<uint32_t>(ReadBits(body, i, width)));
      }
    } else {
      EXPECT_GT(header, 0u) << "a run of nothing";
      EXPECT_TRUE(reader.Take((static_cast<size_t>(width) + 7) / 8, &body));
      uint32_t value = 0;
      for (size_t i = 0; i < body.size(); ++i) value |= uint32_t{body[i]} << (8 * i);
      values.insert(values.end(), header >> 1, value);
    }
  }
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_EQ(values.size(), count);
  return values;
}

template <typename T>
std::vector<T> DecodeDelta(Bytes bytes) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto unzigzag = [](uint64_t v) { return static_cast<int64_t>(v >> 1 ^ (0 - (v & 1))); };
  ByteReader reader(bytes);
  uint64_t block = 0, miniblocks = 0, total = 0, first = 0;
  EXPECT_TRUE(reader.ReadVarint(&block) && reader.ReadVarint(&miniblocks) && reader.ReadVarint(&total) &&
              reader.ReadVarint(&first));
  EXPECT_EQ(block % 128, 0u);
  EXPECT_EQ(block / miniblocks % 32, 0u);
  std::vector<T> values;
  if (total > 0) values.push_back(static_cast<T>(unzigzag(first)));
  while (values.size() < total) {
    uint64_t min = 0;
    Bytes widths;
    EXPECT_TRUE(reader.ReadVarint(&min) && reader.Take(miniblocks, &widths));
    for (size_t m = 0; m < miniblocks && values.size() < total; ++m) {
      Bytes packed;
      EXPECT_TRUE(reader.Take(block / miniblocks * widths[m] / 8, &packed));
      for (size_t i = 0; i < block / miniblocks && values.size() < total; ++i) {
        const auto delta = static_cast<Unsigned>(ReadBits(packed, i, widths[m])) + static_cast<Unsigned>(unzigzag(min));
        values.push_back(static_cast<T>(static_cast<Unsigned>(values.back()) + delta));
      }
    }
  }
  EXPECT_EQ(reader.remaining(), 0u);
  return values;
}

TEST(BitPacking, PacksEveryWidthAndCount) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int width = 0; width <= 64; ++width) {
    const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    for (const size_t count : {0, 1, 7, 8, 31, 32, 33, 64, 100}) {
      std::vector<uint64_t> wide(count);
      for (uint64_t& value : wide) value = random() & mask;
      ByteBuffer packed((count * static_cast<size_t>(width) + 7) / 8);
      PackBits(wide.data(), count, width, packed.data());
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(ReadBits(packed, i, width), wide[i]) << width << " bits, " << i;
      if (width > 32) continue;
      const std::vector<uint32_t> narrow(wide.begin(), wide.end());
      ByteBuffer again(packed.size());
      PackBits(narrow.data(), count, width, again.data());
      ASSERT_EQ(again, packed) << width << " bits, " << count << " values";
    }
  }
}

TEST(BitPacking, MatchesTheExampleOfTheFormat) {
  const std::vector<uint32_t> values = {0, 1, 2, 3, 4, 5, 6, 7};
  ByteBuffer packed(3);
  PackBits(values.data(), values.size(), 3, packed.data());
  EXPECT_EQ(packed, (ByteBuffer{0b10001000, 0b11000110, 0b11111010}));
}

TEST(RleEncoder, RunsAndGroupsReadBack) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    const int width = static_cast<int>(random() % 33);
    const uint64_t limit = uint64_t{1} << width;
    std::vector<uint32_t> values;
    const size_t pieces = random() % 6;
    for (size_t piece = 0; piece < pieces; ++piece) {
      const size_t length = random() % 300;
      const auto value = static_cast<uint32_t>(random() % limit);
      const bool run = random() % 2 == 0;
      for (size_t i = 0; i < length; ++i) values.push_back(run ? value : static_cast<uint32_t>(random() % limit));
    }
    ByteBuffer encoded;
    AppendRleHybrid(values, width, &encoded);
    ASSERT_EQ(DecodeRle(encoded, width, values.size()), values) << "round " << round;
  }
}

TEST(RleEncoder, LongRunsTakeFewBytes) {
  ByteBuffer encoded;
  AppendRleHybrid(std::vector<uint32_t>(100'000, 5), 3, &encoded);
  EXPECT_LE(encoded.size(), 4u);
}

TEST(RleEncoder, BitsReadBack) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint64_t> words(1 + random() % 20);
    for (uint64_t& word : words) word = random() % 3 == 0 ? random() : random() % 2 == 0 ? 0 : ~uint64_t{0};
    const size_t count = random() % (words.size() * 64 + 1);
    std::vector<uint32_t> bits(count);
    for (size_t i = 0; i < count; ++i) bits[i] = words[i / 64] >> (i % 64) & 1;
    ByteBuffer encoded;
    AppendRleBits(words.data(), count, &encoded);
    ASSERT_EQ(DecodeRle(encoded, 1, count), bits) << "round " << round;
  }
}

TEST(RleEncoder, SparseNullsStaySmall) {
  std::vector<uint64_t> words(128, ~uint64_t{0});
  words[70] = ~uint64_t{4};
  ByteBuffer encoded;
  AppendRleBits(words.data(), 128 * 64, &encoded);
  EXPECT_LE(encoded.size(), 20u);
}

template <typename T>
void CheckDelta(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1000; ++round) {
    const int bits = static_cast<int>(random() % (8 * sizeof(T)));
    std::vector<T> values(random() % 600);
    T value = static_cast<T>(random());
    for (T& out : values) {
      using Unsigned = std::make_unsigned_t<T>;
      value = static_cast<T>(static_cast<Unsigned>(value) + static_cast<Unsigned>(random() >> (63 - bits)));
      if (random() % 100 == 0) value = std::numeric_limits<T>::min();
      if (random() % 100 == 0) value = std::numeric_limits<T>::max();
      out = value;
    }
    ByteBuffer encoded;
    AppendDelta(std::span<const T>(values), &encoded);
    ASSERT_EQ(DecodeDelta<T>(encoded), values) << "round " << round;
  }
}

TEST(DeltaEncoder, ReadsBackAtEveryWidthAndWrapsAround) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  CheckDelta<int32_t>(seed);
  CheckDelta<int64_t>(seed);
}

// 1, 2, 3, 4, 5 of Encodings.md: one block, differences all 1, widths all 0.
TEST(DeltaEncoder, MatchesTheExampleOfTheFormat) {
  const std::vector<int32_t> values = {1, 2, 3, 4, 5};
  ByteBuffer encoded;
  AppendDelta(std::span<const int32_t>(values), &encoded);
  EXPECT_EQ(encoded, (ByteBuffer{0x80, 0x01, 4, 5, 2, 2, 0, 0, 0, 0}));
}

TEST(DeltaEncoder, EstimatesWhatItWrites) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (const uint64_t step : {1, 2, 100, 1'000'000}) {
    std::vector<int64_t> values(98'304);
    int64_t value = 0;
    for (int64_t& out : values) out = value += static_cast<int64_t>(random() % step);
    ByteBuffer encoded;
    AppendDelta(std::span<const int64_t>(values), &encoded);
    const DeltaEstimate estimate = EstimateDelta(std::span<const int64_t>(values));
    EXPECT_NEAR(static_cast<double>(estimate.bytes), static_cast<double>(encoded.size()),
                0.2 * static_cast<double>(encoded.size()));
    EXPECT_EQ(estimate.ascending, 1.0);
  }
}

}  // namespace
}  // namespace petalite::parquet
