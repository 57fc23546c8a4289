#include "base/append_only_vector.h"

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace petalite {
namespace {

TEST(AppendOnlyVectorTest, KeepsWhatWasAppendedWhereItIs) {
  AppendOnlyVector<std::string> vector;
  EXPECT_TRUE(vector.empty());
  std::vector<const std::string*> places;
  for (size_t i = 0; i < 5000; ++i) {
    vector.Append(std::to_string(i));
    ASSERT_EQ(vector.size(), i + 1);
    places.push_back(&vector[i]);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(&vector[i], places[i]);
    EXPECT_EQ(vector[i], std::to_string(i));
  }
}

TEST(AppendOnlyVectorTest, RunsCoverEveryRange) {
  AppendOnlyVector<uint32_t> vector;
  std::vector<uint32_t> values(1000);
  for (uint32_t i = 0; i < values.size(); ++i) values[i] = i;
  vector.Append(std::span<const uint32_t>(values).first(7));
  vector.Append(std::span<const uint32_t>(values).subspan(7));
  for (size_t begin = 0; begin < 1000; begin += 37) {
    for (size_t end = begin + 1; end <= 1000; end += 61) {
      size_t at = begin;
      while (at < end) {
        for (const uint32_t value : vector.Run(at, end)) EXPECT_EQ(value, at++);
      }
      EXPECT_EQ(at, end);
    }
  }
}

TEST(AppendOnlyVectorTest, DestroysEachElementOnce) {
  const auto counted = std::make_shared<int>(0);
  {
    AppendOnlyVector<std::shared_ptr<int>> vector;
    for (int i = 0; i < 100; ++i) vector.Append(counted);
    EXPECT_EQ(counted.use_count(), 101);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(AppendOnlyVectorTest, CountsTheMemoryThatIsUsed) {
  AppendOnlyVector<uint64_t> vector;
  EXPECT_LT(vector.memory_bytes(), 1024u);
  for (uint64_t i = 0; i < 100'000; ++i) vector.Append(i);
  EXPECT_GE(vector.memory_bytes(), 800'000u);
  EXPECT_LT(vector.memory_bytes(), 820'000u);
}

// What a reader sees under a size is complete, and batches appear whole; ThreadSanitizer watches the rest.
TEST(AppendOnlyVectorTest, ReadersSeeWholeElementsWhileItGrows) {
  constexpr size_t kBatches = 20'000;
  AppendOnlyVector<std::pair<uint64_t, std::unique_ptr<uint64_t>>> single;
  AppendOnlyVector<uint64_t> batched;
  std::atomic<size_t> broken{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      size_t seen = 0;
      while (seen < kBatches) {
        const size_t size = single.size();
        broken += size < seen;
        for (; seen < size; ++seen) broken += single[seen].first != seen || *single[seen].second != seen;
        const size_t in_batches = batched.size();
        broken += in_batches % 3 != 0;
        if (in_batches > 0) broken += batched[in_batches - 1] != in_batches - 1;
      }
    });
  }
  for (uint64_t i = 0; i < kBatches; ++i) {
    const uint64_t batch[] = {3 * i, 3 * i + 1, 3 * i + 2};
    batched.Append(batch);
    single.Append({i, std::make_unique<uint64_t>(i)});
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(broken, 0u);
}

}  // namespace
}  // namespace petalite
