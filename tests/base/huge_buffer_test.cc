#include "base/huge_buffer.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace petalite {
namespace {

TEST(HugeBuffer, IsZeroedAndAligned) {
  for (size_t size :
       {size_t{1}, size_t{32}, size_t{1000}, HugeBuffer::kHugePageSize, 3 * HugeBuffer::kHugePageSize + 5}) {
    HugeBuffer buffer(size);
    ASSERT_EQ(buffer.size(), size);
    const size_t alignment = size < HugeBuffer::kHugePageSize ? HugeBuffer::kCacheLine : HugeBuffer::kHugePageSize;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % alignment, 0u) << size;
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + size, [](uint8_t byte) { return byte == 0; }));
    std::fill_n(buffer.data(), size, uint8_t{0xFF});  // dirty what the next one may get
  }
}

TEST(HugeBuffer, MovesItsBytes) {
  HugeBuffer a(100);
  a.data()[99] = 7;
  const uint8_t* const data = a.data();
  HugeBuffer b(std::move(a));
  EXPECT_EQ(b.data(), data);
  HugeBuffer c(5);
  c = std::move(b);
  EXPECT_EQ(c.size(), 100u);
  EXPECT_EQ(c.bytes()[99], 7);
}

TEST(HugeBuffer, MayBeEmpty) {
  EXPECT_EQ(HugeBuffer(0).size(), 0u);
  EXPECT_TRUE(HugeBuffer().bytes().empty());
}

}  // namespace
}  // namespace petalite
