#include "parquet/bounds.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "test_seed.h"

namespace petalite::parquet {
namespace {

std::string Repeat(std::string_view piece, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(ShortenBounds, KeepsWhatFits) {
  std::string bound(64, 'x');
  EXPECT_TRUE(ShortenMin(true, &bound));
  EXPECT_TRUE(ShortenMax(true, &bound));
  EXPECT_EQ(bound, std::string(64, 'x'));
}

TEST(ShortenBounds, CutsTextBetweenCodePoints) {
  const std::string text = std::string("x") + Repeat("é", 40);  // 64 would fall into the 32nd é
  std::string min = text;
  std::string max = text;
  EXPECT_FALSE(ShortenMin(true, &min));
  EXPECT_FALSE(ShortenMax(true, &max));
  EXPECT_EQ(min, std::string("x") + Repeat("é", 31));
  EXPECT_EQ(max, std::string("x") + Repeat("é", 30) + std::string("ê"));
}

TEST(ShortenBounds, RaisesPastWhatCannotBeRaised) {
  std::string max = std::string("a") + Repeat("\xf4\x8f\xbf\xbf", 30);  // U+10FFFF has no successor
  EXPECT_FALSE(ShortenMax(true, &max));
  EXPECT_EQ(max, "b");
  max = Repeat("\xed\x9f\xbf", 30);  // U+D7FF: surrogates follow
  EXPECT_FALSE(ShortenMax(true, &max));
  EXPECT_EQ(max, Repeat("\xed\x9f\xbf", 20) + std::string("\xee\x80\x80"));
  max = std::string("a") + std::string(100, '\xff');
  EXPECT_FALSE(ShortenMax(false, &max));
  EXPECT_EQ(max, "b");
}

TEST(ShortenBounds, StoresWholeWhatHasNoSuccessor) {
  std::string max = std::string(100, '\xff');
  EXPECT_TRUE(ShortenMax(false, &max));
  EXPECT_EQ(max.size(), 100u);
  max = Repeat("\xf4\x8f\xbf\xbf", 30);
  EXPECT_TRUE(ShortenMax(true, &max));
  EXPECT_EQ(max.size(), 120u);
}

TEST(ShortenBounds, EncloseTheValueAndStayText) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  const std::string points[] = {"\x7f", "\xdf\xbf", "\xef\xbf\xbf", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "a", "€"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    while (text.size() < 60 + random() % 20) text += points[random() % std::size(points)];
    for (const bool utf8 : {true, false}) {
      std::string min = text;
      std::string max = text;
      const bool min_exact = ShortenMin(utf8, &min);
      const bool max_exact = ShortenMax(utf8, &max);
      ASSERT_LE(min, text);
      ASSERT_GE(max, text);
      ASSERT_EQ(min == text, min_exact);
      ASSERT_EQ(max == text, max_exact);
      ASSERT_TRUE(!utf8 || (IsValidUtf8(min) && IsValidUtf8(max)));
      ASSERT_TRUE(max_exact || max.size() <= kMaxBoundBytes + 1);  // U+07FF → U+0800 grows by a byte
    }
  }
}

class ScanBoundsTest : public testing::Test {
 protected:
  template <typename T>
  static BoundsScan Scan(const Type& type, const std::vector<T>& values) {
    ColumnBuffer buffer({.name = "c", .type = type}, 64);
    const Status status = buffer.Append({.values = values.data(), .size = values.size()}, 0, values.size(), 0);
    EXPECT_TRUE(status.ok()) << status.message();
    return ScanBounds(buffer, OrderOf(type), 0, values.size());
  }
  template <typename T>
  static std::pair<Value, Value> BoundsOf(const Type& type, const std::vector<T>& values) {
    const BoundsScan scan = Scan(type, values);
    return {BoundValue(type, scan.bounds->min), BoundValue(type, scan.bounds->max)};
  }
};

TEST_F(ScanBoundsTest, ObeysTheSignOfTheType) {
  EXPECT_EQ(BoundsOf<int8_t>(Type::Of(TypeId::kInt8), {5, -128, 127}),
            (std::pair{Value(int64_t{-128}), Value(int64_t{127})}));
  EXPECT_EQ(BoundsOf<uint32_t>(Type::Of(TypeId::kUInt32), {7, 0xffffffffu}),
            (std::pair{Value(uint64_t{7}), Value(uint64_t{0xffffffffu})}));
  EXPECT_EQ(BoundsOf<uint64_t>(Type::Of(TypeId::kUInt64), {~uint64_t{0}, 1}),
            (std::pair{Value(uint64_t{1}), Value(~uint64_t{0})}));
}

TEST_F(ScanBoundsTest, ComparesWideDecimalsAsNumbers) {
  const Type type = Type::Decimal(25, 0);
  const std::vector<Int128> values = {FromNative(3), FromNative(-7), FromNative(-int128_t{1} << 70), FromNative(5)};
  EXPECT_EQ(BoundsOf(type, values), (std::pair{Value(FromNative(-int128_t{1} << 70)), Value(FromNative(5))}));
}

TEST_F(ScanBoundsTest, ComparesUuidsAsTheirBytes) {
  const Type type = Type::Of(TypeId::kUuid);
  const std::vector<Int128> values = {{1, 0}, {0, INT64_MIN}, {2, INT64_MAX}};
  EXPECT_EQ(BoundsOf(type, values), (std::pair{Value(Int128{0, INT64_MIN}), Value(Int128{2, INT64_MAX})}));
}

TEST_F(ScanBoundsTest, ComparesStringsBytewise) {
  const Type type = Type::Of(TypeId::kBinary);
  const std::vector<StringRef> values = {StringRef("abcdefgh\xff"), StringRef("abcdefgh"), StringRef("\x80"),
                                         StringRef("b")};
  EXPECT_EQ(BoundsOf(type, values), (std::pair{Value(std::string("abcdefgh")), Value(std::string("\x80"))}));
  EXPECT_EQ(BoundsOf<StringRef>(type, {StringRef("a"), StringRef("")}).first, Value(std::string()));
  const std::string zeros("\0\0", 2);
  EXPECT_EQ(BoundsOf<StringRef>(type, {StringRef(zeros), StringRef("")}),
            (std::pair{Value(std::string()), Value(zeros)}));
}

TEST_F(ScanBoundsTest, LeavesOutNanAndWidensZeros) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Type type = Type::Of(TypeId::kDouble);
  std::vector<double> values(20, nan);
  EXPECT_FALSE(Scan(type, values).bounds.has_value());
  EXPECT_TRUE(Scan(type, values).has_nan);
  values[3] = 0.0;
  values[19] = -0.0;
  const BoundsScan scan = Scan(type, values);
  EXPECT_TRUE(scan.has_zero);
  EXPECT_EQ(BoundValue(type, scan.bounds->min), Value(-0.0));
  EXPECT_EQ(BoundValue(type, scan.bounds->max), Value(0.0));
}

TEST_F(ScanBoundsTest, GivesIntervalsNone) {
  EXPECT_FALSE(Scan<Interval>(Type::Of(TypeId::kInterval), {{1, 2, 3000}}).bounds.has_value());
}

TEST_F(ScanBoundsTest, SecondsComeBackAsSeconds) {
  const Type type = Type::Timestamp(TimeUnit::kSecond);
  EXPECT_EQ(BoundsOf<int64_t>(type, {-5, 9}), (std::pair{Value(int64_t{-5}), Value(int64_t{9})}));
}

}  // namespace
}  // namespace petalite::parquet
