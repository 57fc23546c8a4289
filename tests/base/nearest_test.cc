#include "base/nearest.h"

#include <array>

#include <gtest/gtest.h>

namespace petalite {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"codec", "bloom", "bloom_fpp", "encoding"};

TEST(NearestName, FindsWhatWasMistyped) {
  EXPECT_EQ(NearestName("codex", kNames), "codec");           // one letter replaced
  EXPECT_EQ(NearestName("blom", kNames), "bloom");            // one missing
  EXPECT_EQ(NearestName("bloom_fppp", kNames), "bloom_fpp");  // one too many
  EXPECT_EQ(NearestName("enocding", kNames), "encoding");     // two swapped
  EXPECT_EQ(NearestName("bloom_fpp", kNames), "bloom_fpp");   // exact beats its prefix
}

TEST(NearestName, IgnoresCase) { EXPECT_EQ(NearestName("CODEC", kNames), "codec"); }

TEST(NearestName, PrefersTheFirstOfEquals) {
  constexpr std::array<std::string_view, 2> names = {"ab", "ac"};
  EXPECT_EQ(NearestName("a", names), "ab");
  EXPECT_EQ(NearestName("", names), "ab");
}

TEST(NearestName, HasNoAnswerAmongNoNames) { EXPECT_EQ(NearestName("codec", {}), ""); }

}  // namespace
}  // namespace petalite
