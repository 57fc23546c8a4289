#include "base/utf8.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace petalite {
namespace {

TEST(Utf8, AcceptsTheEndsOfEveryRange) {
  for (const std::string text : {"", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                 "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsValidUtf8(text)) << testing::PrintToString(text);
  }
  EXPECT_TRUE(IsValidUtf8(std::string_view("\0", 1)));
}

TEST(Utf8, RefusesWhatIsNotACodePoint) {
  for (const std::string bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc2", "\xe2\x82",
                                "\xf0\x9f\x98", "\xc2\x41", "\xe2\x82\x41", "\xf0\x9f\x98\x41"}) {
    // At every alignment within the vector steps, and before more text.
    for (size_t before = 0; before < 40; ++before) {
      const std::string text = std::string(before, 'a') + bad;
      EXPECT_EQ(Utf8ValidPrefix(text), before) << testing::PrintToString(text);
      EXPECT_EQ(Utf8ValidPrefix(text + std::string(before, 'b')), before) << testing::PrintToString(text);
    }
  }
}

TEST(Utf8, AcceptsAnyMixOfLengths) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const std::vector<std::string> points = {"a", "ä", "€", "😀", std::string(17, 'x')};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    while (text.size() < random() % 80) text += points[random() % points.size()];
    EXPECT_EQ(Utf8ValidPrefix(text), text.size()) << "seed " << seed << ": " << text;
  }
}

}  // namespace
}  // namespace petalite
