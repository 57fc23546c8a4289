#include "parquet/decoders.h"

#include <gmock/gmock.h>

#include "parquet/bit_packing.h"
#include "parquet/bit_unpack.h"
#include "parquet/delta_encoder.h"
#include "parquet/rle_encoder.h"
#include "test_seed.h"

namespace petalite::parquet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Bytes in memory of exactly their size, so that a sanitizer sees a read beyond them.
struct Exactly {
  explicit Exactly(const ByteBuffer& from) : size(from.size()), data(new uint8_t[from.size()]) {
    if (size != 0) std::memcpy(data.get(), from.data(), size);
  }
  operator Bytes() const { return {data.get(), size}; }  // NOLINT: implicit on purpose

  size_t size;
  std::unique_ptr<uint8_t[]> data;
};

std::vector<std::string> Texts(const std::vector<StringRef>& strings) {
  std::vector<std::string> texts;
  for (const StringRef& string : strings) texts.emplace_back(string.view());
  return texts;
}

template <typename T>
void CheckUnpack(int width, size_t count, std::mt19937_64& random) {
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(random() & mask);
  ByteBuffer packed((count * static_cast<size_t>(width) + 7) / 8);
  PackBits(values.data(), count, width, packed.data());
  std::vector<T> unpacked(count, T{0x55});
  BitUnpack(Exactly(packed), width, count, unpacked.data());
  EXPECT_EQ(unpacked, values) << "width " << width << ", count " << count;
}

TEST(BitUnpack, UnpacksEveryWidthAndCount) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (size_t count : {0, 1, 7, 8, 31, 32, 33, 64, 200}) {
    for (int width = 0; width <= 32; ++width) CheckUnpack<uint32_t>(width, count, random);
    for (int width = 0; width <= 64; ++width) CheckUnpack<uint64_t>(width, count, random);
  }
}

TEST(BitUnpack, BitsThatAreNotThereAreZero) {
  std::vector<uint32_t> out(4, 9);
  BitUnpack(Exactly({0xff}), 4, 4, out.data());
  EXPECT_THAT(out, ElementsAre(15, 15, 0, 0));
}

std::vector<uint32_t> Hybrid(const ByteBuffer& bytes, int width, size_t count) {
  std::vector<uint32_t> out(count, 77);
  const Status status = DecodeHybrid(Exactly(bytes), width, count, out.data());
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

TEST(DecodeHybrid, ReadsRunsAndGroups) {
  // Four times 3; then 0…7 packed with three bits, which is the format's own example.
  EXPECT_THAT(Hybrid({0x08, 0x03, 0x03, 0x88, 0xc6, 0xfa}, 3, 12), ElementsAre(3, 3, 3, 3, 0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(Hybrid({0x04, 0x34, 0x12}, 13, 2), ElementsAre(0x1234, 0x1234));
}

TEST(DecodeHybrid, ToleratesWhatWritersDo) {
  EXPECT_THAT(Hybrid({0x00, 0x05, 0x01, 0x04, 0x05}, 3, 2), ElementsAre(5, 5)) << "runs of length 0";
  EXPECT_THAT(Hybrid({0x03, 0x88, 0xc6, 0xfa}, 3, 3), ElementsAre(0, 1, 2)) << "a longer group than values";
  EXPECT_THAT(Hybrid({0x03, 0x88, 0xc6}, 3, 5), ElementsAre(0, 1, 2, 3, 4)) << "a group without its padding";
  EXPECT_THAT(Hybrid({0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x02}, 3, 3), ElementsAre(2, 2, 2))
      << "a run longer than any page";
  EXPECT_THAT(Hybrid({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x88, 0xc6, 0xfa}, 3, 3),
              ElementsAre(0, 1, 2))
      << "more groups than any page";
  EXPECT_THAT(Hybrid({}, 0, 3), ElementsAre(0, 0, 0)) << "width 0 without runs";
  EXPECT_THAT(Hybrid({0x06}, 0, 3), ElementsAre(0, 0, 0)) << "width 0 with a run";
}

TEST(DecodeHybrid, RefusesRunsThatEndTooEarly) {
  std::vector<uint32_t> out(20);
  for (const ByteBuffer& bytes : {ByteBuffer{}, ByteBuffer{0x08}, ByteBuffer{0x08, 3}, ByteBuffer{0x80},
                                  ByteBuffer{0x05, 0x88, 0xc6, 0xfa, 0x88}}) {
    EXPECT_EQ(DecodeHybrid(Exactly(bytes), 3, 20, out.data()).code(), StatusCode::kCorruption);
  }
}

TEST(DecodeHybrid, ReadsBackWhatTheEncoderWrites) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int width = 1; width <= 32; ++width) {
    std::vector<uint32_t> values;
    while (values.size() < 1000) {
      const auto value = static_cast<uint32_t>(random() & ((uint64_t{1} << width) - 1));
      values.insert(values.end(), random() % 3 == 0 ? random() % 50 : 1, value);
    }
    ByteBuffer bytes;
    AppendRleHybrid(values, width, &bytes);
    EXPECT_EQ(Hybrid(bytes, width, values.size()), values) << "width " << width;
  }
}

TEST(DecodeLevelBits, MakesABitmapOfRunsAtAnyPosition) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const size_t count = 1 + random() % 500;
    std::vector<uint32_t> levels;
    while (levels.size() < count) {
      levels.insert(levels.end(), random() % 2 == 0 ? 1 : random() % 100, static_cast<uint32_t>(random() % 2));
    }
    levels.resize(count);
    ByteBuffer bytes;
    AppendRleHybrid(levels, 1, &bytes);
    std::vector<uint64_t> bits((count + 63) / 64, ~uint64_t{0});
    ASSERT_TRUE(DecodeLevelBits(Exactly(bytes), count, bits.data()).ok());
    for (size_t i = 0; i < bits.size() * 64; ++i) {
      ASSERT_EQ(bits[i / 64] >> (i % 64) & 1, i < count ? levels[i] : 0) << i << " of " << count;
    }
  }
}

TEST(DecodeLevelBits, ReadsTheDeprecatedEncodingFromTheTopBit) {
  std::vector<uint64_t> bits(1, ~uint64_t{0});
  ASSERT_TRUE(DecodeBitPackedLevelBits(Exactly({0b10110000, 0b01000000}), 10, bits.data()).ok());
  EXPECT_EQ(bits[0], 0b1000001101u);
  EXPECT_FALSE(DecodeBitPackedLevelBits(Exactly({0xff}), 10, bits.data()).ok());
}

TEST(DecodeBooleans, PlainAndRleAgree) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (size_t count : {0, 1, 8, 9, 63, 64, 65, 1000}) {
    std::vector<uint64_t> words((count + 63) / 64);
    for (uint64_t& word : words) word = random();
    const auto* begin = reinterpret_cast<const uint8_t*>(words.data());
    const ByteBuffer plain(begin, begin + (count + 7) / 8);
    ByteBuffer rle(sizeof(uint32_t));
    AppendRleBits(words.data(), count, &rle);
    StoreLe(rle.data(), static_cast<uint32_t>(rle.size() - sizeof(uint32_t)));
    std::vector<uint8_t> of_plain(count, 9);
    std::vector<uint8_t> of_rle(count, 9);
    ASSERT_TRUE(DecodePlainBooleans(Exactly(plain), count, of_plain.data()).ok());
    ASSERT_TRUE(DecodeRleBooleans(Exactly(rle), count, of_rle.data()).ok());
    EXPECT_EQ(of_plain, of_rle);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(of_plain[i], words[i / 64] >> (i % 64) & 1);
  }
  std::vector<uint8_t> out(20);
  EXPECT_FALSE(DecodePlainBooleans(Exactly({1, 2}), 20, out.data()).ok());
  EXPECT_FALSE(DecodeRleBooleans(Exactly({9, 0, 0, 0, 1}), 20, out.data()).ok());
}

ByteBuffer PlainStrings(const std::vector<std::string>& texts) {
  ByteBuffer bytes;
  for (const std::string& text : texts) {
    AppendLe(bytes, static_cast<uint32_t>(text.size()));
    AppendBytes(bytes, AsBytes(text));
  }
  return bytes;
}

std::vector<std::string> StringsOfEverySize() {
  std::vector<std::string> texts;
  for (size_t size = 0; size < 40; ++size) texts.emplace_back(size, static_cast<char>('a' + size % 26));
  return texts;
}

TEST(DecodePlainByteArrays, ReadsEverySize) {
  const auto texts = StringsOfEverySize();
  for (size_t count = 0; count <= texts.size(); ++count) {  // so that each size is the last one once
    const std::vector<std::string> some(texts.begin(), texts.begin() + static_cast<ptrdiff_t>(count));
    const Exactly bytes(PlainStrings(some));
    std::vector<StringRef> strings(count);
    ASSERT_TRUE(DecodePlainByteArrays(bytes, count, strings.data()).ok());
    EXPECT_EQ(Texts(strings), some);
  }
}

// Equal strings are equal as bytes, which comparisons and hashes of vectors rely on.
TEST(DecodePlainByteArrays, PadsShortStringsWithZeroes) {
  const Exactly bytes(PlainStrings({"abc", "xyzxyzxyzxyzxyz"}));
  std::vector<StringRef> strings(2);
  ASSERT_TRUE(DecodePlainByteArrays(bytes, 2, strings.data()).ok());
  const StringRef expected(std::string_view("abc"));
  EXPECT_EQ(std::memcmp(&strings[0], &expected, sizeof expected), 0);
}

TEST(DecodePlainByteArrays, RefusesEveryTruncation) {
  const auto texts = StringsOfEverySize();
  const ByteBuffer bytes = PlainStrings(texts);
  std::vector<StringRef> strings(texts.size());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const ByteBuffer cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(DecodePlainByteArrays(Exactly(cut), texts.size(), strings.data()).ok());
  }
}

template <typename T, typename Signed>
void CheckDelta(std::mt19937_64& random) {
  for (size_t count : {0, 1, 2, 32, 33, 128, 129, 1000}) {
    for (int bits = 0; bits <= static_cast<int>(sizeof(T) * 8); bits += 3) {
      std::vector<Signed> values(count);
      const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      for (Signed& value : values) value = static_cast<Signed>(random() & mask);
      ByteBuffer bytes;
      AppendDelta(std::span<const Signed>(values), &bytes);
      std::vector<T> decoded(count);
      size_t consumed = 0;
      const Status status = DecodeDeltaBinaryPacked(Exactly(bytes), count, decoded.data(), &consumed);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(consumed, bytes.size());
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(static_cast<Signed>(decoded[i]), values[i]);
    }
  }
}

TEST(DecodeDeltaBinaryPacked, ReadsBackWhatTheEncoderWrites) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  CheckDelta<uint32_t, int32_t>(random);
  CheckDelta<uint64_t, int64_t>(random);
}

TEST(DecodeDeltaBinaryPacked, ReadsTheFormatsExample) {
  // Encodings.md, example 2: 7, 5, 3, 1, 2, 3, 4, 5; least difference −2, widths 2 and three unused.
  const ByteBuffer bytes = {0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 0x02, 0xff, 0xee, 0xaa, 0xc0, 0x3f};
  std::vector<uint32_t> out(8);
  const Status status = DecodeDeltaBinaryPacked(Exactly(bytes), 8, out.data());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(out, ElementsAre(7, 5, 3, 1, 2, 3, 4, 5));
}

TEST(DecodeDeltaBinaryPacked, RefusesImpossibleHeaders) {
  std::vector<uint32_t> out(8);
  const auto message = [&](const ByteBuffer& bytes) {
    return DecodeDeltaBinaryPacked(Exactly(bytes), 8, out.data()).message();
  };
  EXPECT_THAT(message({0x80, 0x01, 0x04, 0x09, 0x0e}), HasSubstr("9 values where the page has 8"));
  EXPECT_THAT(message({0x80, 0x01, 0x00, 0x08, 0x0e}), HasSubstr("in 0 parts"));
  EXPECT_THAT(message({0x81, 0x01, 0x04, 0x08, 0x0e}), HasSubstr("blocks of 129"));
  EXPECT_THAT(message({0x20, 0x04, 0x08, 0x0e}), HasSubstr("blocks of 32"));
  EXPECT_THAT(message({0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 33, 0, 0, 0}), HasSubstr("33 bits"));
  EXPECT_THAT(message({0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 2, 0, 0, 0, 1}), HasSubstr("7 values too early"));
  EXPECT_THAT(message({0x80}), HasSubstr("cut off"));
}

template <typename Signed>
ByteBuffer Delta(const std::vector<Signed>& values) {
  ByteBuffer bytes;
  AppendDelta(std::span<const Signed>(values), &bytes);
  return bytes;
}

TEST(DecodeDeltaLengthByteArray, ReadsLengthsThenBytes) {
  const auto texts = StringsOfEverySize();
  std::vector<int32_t> lengths;
  for (const std::string& text : texts) lengths.push_back(static_cast<int32_t>(text.size()));
  ByteBuffer bytes = Delta(lengths);
  for (const std::string& text : texts) AppendBytes(bytes, AsBytes(text));
  const Exactly exact(bytes);
  std::vector<StringRef> strings(texts.size());
  ASSERT_TRUE(DecodeDeltaLengthByteArray(exact, texts.size(), strings.data()).ok());
  EXPECT_EQ(Texts(strings), texts);
  bytes.pop_back();
  EXPECT_THAT(DecodeDeltaLengthByteArray(Exactly(bytes), texts.size(), strings.data()).message(),
              HasSubstr("string 39 of 39 bytes"));
}

ByteBuffer DeltaStrings(const std::vector<int32_t>& prefixes, const std::vector<std::string>& suffixes) {
  std::vector<int32_t> lengths;
  for (const std::string& suffix : suffixes) lengths.push_back(static_cast<int32_t>(suffix.size()));
  ByteBuffer bytes = Delta(prefixes);
  AppendBytes(bytes, Delta(lengths));
  for (const std::string& suffix : suffixes) AppendBytes(bytes, AsBytes(suffix));
  return bytes;
}

TEST(DecodeDeltaByteArray, SharesPrefixes) {
  std::vector<StringRef> strings(4);
  ByteBuffer arena;
  const Status status = DecodeDeltaByteArray(
      Exactly(DeltaStrings({0, 4, 0, 15}, {"pathway to the sea", "ological", "axle and a wheel", " of iron"})), 4,
      strings.data(), &arena);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(Texts(strings),
              ElementsAre("pathway to the sea", "pathological", "axle and a wheel", "axle and a whee of iron"));
}

TEST(DecodeDeltaByteArray, RefusesAPrefixLongerThanTheStringBefore) {
  std::vector<StringRef> strings(2);
  ByteBuffer arena;
  EXPECT_THAT(DecodeDeltaByteArray(Exactly(DeltaStrings({0, 4}, {"abc", "d"})), 2, strings.data(), &arena).message(),
              HasSubstr("string 1 shares 4 bytes with one of 3"));
}

// Each string repeats all of the one before: a page of half a megabyte would become gigabytes.
TEST(DecodeDeltaByteArray, RefusesToExpandWithoutBound) {
  constexpr int32_t kCount = 50'000;
  std::vector<int32_t> prefixes(kCount);
  for (int32_t i = 0; i < kCount; ++i) prefixes[static_cast<size_t>(i)] = i;
  const std::vector<std::string> suffixes(kCount, "x");
  std::vector<StringRef> strings(kCount);
  ByteBuffer arena;
  EXPECT_THAT(DecodeDeltaByteArray(DeltaStrings(prefixes, suffixes), kCount, strings.data(), &arena).message(),
              HasSubstr("exceed"));
}

TEST(DecodeByteStreamSplit, JoinsStreamsOfEveryWidth) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (size_t width : {1, 2, 4, 7, 8, 12, 16}) {
    for (size_t count : {0, 1, 5, 16, 17, 100}) {
      ByteBuffer split(width * count);
      for (uint8_t& byte : split) byte = static_cast<uint8_t>(random());
      std::vector<uint8_t> joined(width * count);
      ASSERT_TRUE(DecodeByteStreamSplit(Exactly(split), width, count, joined.data()).ok());
      for (size_t i = 0; i < count; ++i) {
        for (size_t byte = 0; byte < width; ++byte) ASSERT_EQ(joined[i * width + byte], split[byte * count + i]);
      }
    }
  }
  std::vector<uint8_t> out(16);
  EXPECT_FALSE(DecodeByteStreamSplit(Exactly({1, 2, 3, 4, 5, 6, 7}), 4, 2, out.data()).ok());
}

}  // namespace
}  // namespace petalite::parquet
