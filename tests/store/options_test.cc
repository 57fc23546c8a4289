#include "store/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace petalite::store {
namespace {

using ::testing::HasSubstr;

Schema TwoColumns() {
  Schema schema;
  schema.fields = {{.name = "a", .type = Type::Of(TypeId::kInt32)},
                   {.name = "comment", .type = Type::Of(TypeId::kString)}};
  return schema;
}

TEST(TableOptions, ValuesAreTheTablesOrAColumns) {
  TableOptions options(TwoColumns());
  ASSERT_TRUE(
      options.Apply(TwoColumns(), {{"codec", "lz4; comment = zstd:3"}, {"bloom_fpp", "a=0.001"}, {"bloom", "comment"}})
          .ok());
  EXPECT_EQ(options.columns()[0].codec.ToString(), "lz4");
  EXPECT_EQ(options.columns()[1].codec.ToString(), "zstd:3");
  EXPECT_EQ(options.columns()[0].bloom_fpp, 0.001);
  EXPECT_EQ(options.columns()[1].bloom_fpp, kDefaultBloomFpp);
  EXPECT_FALSE(options.columns()[0].bloom);
  EXPECT_TRUE(options.columns()[1].bloom);
}

TEST(TableOptions, MistakesAreNamedAndChangeNothing) {
  const std::pair<OptionList, const char*> cases[] = {
      {{{"bloom_fp", "0.1"}}, "the nearest is 'bloom_fpp'"},
      {{{"bloom_fpp", "0"}}, "must lie between 0 and 1"},
      {{{"bloom_fpp", "1"}}, "must lie between 0 and 1"},
      {{{"key_bloom_fpp", "x"}}, "must lie between 0 and 1"},
      {{{"codec", "lz5"}}, "lz4"},
      {{{"codec", "zstd:23"}}, "22"},
      {{{"codec", "lz4; coment = zstd"}}, "the nearest is 'comment'"},
      {{{"encoding", "dict"}}, "the nearest is"},
      {{{"encoding", "auto; comment = delta"}}, "column 'comment': delta encodes"},
      {{{"page_rows", "100"}}, "a multiple of 64"},
      {{{"skip_unchanged", "yes"}}, "'yes' must be on or off"},
      {{{"row_group_rows", "8256"}}, "multiple of page_rows"},
  };
  for (const auto& [given, message] : cases) {
    TableOptions options(TwoColumns());
    const Status status = options.Apply(TwoColumns(), given);
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_TRUE(options.given().empty());
  }
}

TEST(TableOptions, ATablesEncodingServesTheColumnsThatCanHaveIt) {
  TableOptions options(TwoColumns());
  ASSERT_TRUE(options.Apply(TwoColumns(), {{"encoding", "delta"}}).ok());
  EXPECT_EQ(options.columns()[0].encoding, parquet::EncodingChoice::kDelta);
  EXPECT_EQ(options.columns()[1].encoding, parquet::EncodingChoice::kAuto);
}

TEST(TableOptions, SizesAreCheckedTogetherWhateverTheirOrder) {
  TableOptions options(TwoColumns());
  EXPECT_TRUE(options.Apply(TwoColumns(), {{"row_group_rows", "256"}, {"page_rows", "64"}}).ok());
}

TEST(TableOptions, SkippingWhatIsUnchangedIsSwitchedOnAndOff) {
  TableOptions options(TwoColumns());
  EXPECT_FALSE(options.skip_unchanged());
  for (const auto& [text, on] : {std::pair("true", true), {"off", false}, {" ON ", true}, {"False", false}}) {
    ASSERT_TRUE(options.Apply(TwoColumns(), {{"skip_unchanged", text}}).ok()) << text;
    EXPECT_EQ(options.skip_unchanged(), on) << text;
  }
}

TEST(TableOptions, SplitsAtTheFirstEqualsSign) {
  const auto option = SplitOption("codec=lz4; l_comment=zstd:3");
  ASSERT_TRUE(option.ok());
  EXPECT_EQ(option->first, "codec");
  EXPECT_EQ(option->second, "lz4; l_comment=zstd:3");
  EXPECT_FALSE(SplitOption("codec").ok());
}

}  // namespace
}  // namespace petalite::store
