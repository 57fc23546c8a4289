#include "base/checksum.h"

#include <gtest/gtest.h>

namespace petalite {
namespace {

// Check values of the CRC catalogue for "123456789".
TEST(Checksum, KnownAnswers) {
  EXPECT_EQ(Crc32(AsBytes("123456789")), 0xcbf43926u);
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
}

TEST(Checksum, ContinuesFromASeed) {
  EXPECT_EQ(Crc32(AsBytes("6789"), Crc32(AsBytes("12345"))), 0xcbf43926u);
  EXPECT_EQ(Crc32c(AsBytes("6789"), Crc32c(AsBytes("12345"))), 0xe3069283u);
}

}  // namespace
}  // namespace petalite
