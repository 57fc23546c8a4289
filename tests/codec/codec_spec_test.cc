#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/codec.h"

namespace petalite {
namespace {

using ::testing::HasSubstr;

CodecSpec ParseOk(std::string_view text) {
  Result<CodecSpec> spec = CodecSpec::Parse(text);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.ok() ? *spec : CodecSpec{};
}

TEST(CodecSpec, ParsesEveryCodecOfTheOption) {
  EXPECT_EQ(ParseOk("uncompressed"), (CodecSpec{CodecId::kUncompressed, 0}));
  EXPECT_EQ(ParseOk("lz4"), (CodecSpec{CodecId::kLz4Raw, 0}));
  EXPECT_EQ(ParseOk("snappy"), (CodecSpec{CodecId::kSnappy, 0}));
  EXPECT_EQ(ParseOk("zstd"), (CodecSpec{CodecId::kZstd, 1}));
  EXPECT_EQ(ParseOk("zstd:-7"), (CodecSpec{CodecId::kZstd, -7}));
  EXPECT_EQ(ParseOk("zstd:22"), (CodecSpec{CodecId::kZstd, 22}));
  EXPECT_EQ(ParseOk("ZStd:3"), (CodecSpec{CodecId::kZstd, 3}));
  EXPECT_EQ(ParseOk("LZ4"), (CodecSpec{CodecId::kLz4Raw, 0}));
}

TEST(CodecSpec, PrintsWhatItParses) {
  for (std::string_view text : {"uncompressed", "lz4", "snappy", "zstd:1", "zstd:-7", "zstd:22"}) {
    EXPECT_EQ(ParseOk(text).ToString(), text);
  }
  EXPECT_EQ(ParseOk("zstd").ToString(), "zstd:1");
  EXPECT_EQ(CodecSpec{}.ToString(), "lz4");
}

TEST(CodecSpec, NamesTheNearestCodec) {
  const Status status = CodecSpec::Parse("snapy").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'snapy'"));
  EXPECT_THAT(status.message(), HasSubstr("nearest is 'snappy'"));
  EXPECT_THAT(CodecSpec::Parse("ZSTF:3").status().message(), HasSubstr("nearest is 'zstd'"));
  EXPECT_EQ(CodecSpec::Parse("").status().code(), StatusCode::kInvalidArgument);
}

TEST(CodecSpec, NamesTheRangeOfLevels) {
  for (std::string_view text : {"zstd:-8", "zstd:23", "zstd:", "zstd:fast", "zstd:3x", "zstd: 3", "zstd:99999999999"}) {
    SCOPED_TRACE(text);
    const Status status = CodecSpec::Parse(text).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("from -7 to 22"));
  }
}

TEST(CodecSpec, RefusesALevelWhereThereIsNone) {
  EXPECT_THAT(CodecSpec::Parse("lz4:3").status().message(), HasSubstr("only zstd takes a level"));
}

TEST(CodecSpec, MakesOnlyWhatCanBeWritten) {
  EXPECT_EQ(MakeCodec({CodecId::kLzo, 0}).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(MakeCodec({CodecId::kLz4Hadoop, 0}).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(MakeCodec({CodecId::kZstd, 23}).status().code(), StatusCode::kInvalidArgument);
}

TEST(CodecSpec, RefusesToReadLzoAndUnknownCodes) {
  EXPECT_EQ(DecoderFor(CodecId::kLzo).status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(DecoderFor(static_cast<CodecId>(8)).status().message(), HasSubstr("8"));
}

TEST(CodecSpec, NamesCodecsAsParquetSpellsThem) {
  EXPECT_EQ(CodecName(CodecId::kUncompressed), "UNCOMPRESSED");
  EXPECT_EQ(CodecName(CodecId::kLz4Hadoop), "LZ4");
  EXPECT_EQ(CodecName(CodecId::kLz4Raw), "LZ4_RAW");
}

}  // namespace
}  // namespace petalite
