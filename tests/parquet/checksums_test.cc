#include "parquet/checksums.h"

#include <gtest/gtest.h>

namespace petalite::parquet {
namespace {

FileChecksums Sample() { return {{1, 2, 3, 4, {5, 6}}, {0, 0, 7, 0, {}}}; }

TEST(Checksums, LayOutAsDocumented) {
  const ByteBuffer bytes = SerializeChecksums(Sample());
  ByteBuffer expected = {'P', 'C', 'S', '1'};
  for (const uint32_t word : {1, 2, 3, 4, 2, 5, 6, 0, 0, 7, 0, 0}) AppendLe(expected, word);
  EXPECT_EQ(bytes, expected);
}

TEST(Checksums, ReadBack) {
  const Result<FileChecksums> parsed = ParseChecksums(SerializeChecksums(Sample()), 2);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(*parsed, Sample());
}

TEST(Checksums, RefuseEveryOtherLength) {
  ByteBuffer bytes = SerializeChecksums(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(ParseChecksums(Bytes(bytes).first(size), 2).status().code(), StatusCode::kCorruption) << size;
  }
  bytes.push_back(0);
  EXPECT_FALSE(ParseChecksums(bytes, 2).ok());
  EXPECT_FALSE(ParseChecksums(SerializeChecksums(Sample()), 1).ok());
  EXPECT_FALSE(ParseChecksums(SerializeChecksums(Sample()), size_t{1} << 60).ok());
}

TEST(Checksums, RefuseAPageCountBeyondTheBytes) {
  ByteBuffer bytes = SerializeChecksums({{0, 0, 0, 0, {}}});
  StoreLe<uint32_t>(bytes.data() + bytes.size() - 4, 0xffffffffu);
  EXPECT_FALSE(ParseChecksums(bytes, 1).ok());
}

}  // namespace
}  // namespace petalite::parquet
