// Every kernel gives the bits and answers of the scalar one and stays within its buffers, and
// PETALITE_FORCE_ISA decides which one runs.

#include "bloom/split_block_kernels.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/cpu.h"
#include "bloom/split_block_filter.h"
#include "guarded_buffer.h"
#include "test_seed.h"

namespace petalite::bloom {
namespace {

class EveryKernel : public ::testing::TestWithParam<Isa> {
 protected:
  const SplitBlockKernels& kernels() const { return KernelsFor(GetParam()); }
  const SplitBlockKernels& reference() const { return KernelsFor(Isa::kScalar); }
};

// Hashes in memory that ends at a guard page.
struct Hashes {
  Hashes(size_t count, std::mt19937_64& random) : buffer(count * sizeof(uint64_t)), size(count) {
    for (size_t i = 0; i < count; i++) StoreLe(buffer.data() + i * sizeof(uint64_t), uint64_t{random()});
  }
  const uint64_t* data() { return reinterpret_cast<const uint64_t*>(buffer.data()); }
  GuardedBuffer buffer;
  size_t size;
};

// Bits that end `gap` bytes before a guard page, in bytes that must keep their value.
constexpr uint8_t kCanary = 0xC5;
struct Bits {
  Bits(size_t blocks, size_t gap) : buffer(kBlockBytes + blocks * kBlockBytes + gap), blocks(blocks) {
    std::fill_n(buffer.data(), buffer.size(), kCanary);
    std::fill_n(data(), blocks * kBlockBytes, uint8_t{0});
  }
  uint8_t* data() { return buffer.data() + kBlockBytes; }
  bool CanariesLive() {
    uint8_t* const end = buffer.data() + buffer.size();
    const auto live = [](uint8_t byte) { return byte == kCanary; };
    return std::all_of(buffer.data(), data(), live) && std::all_of(data() + blocks * kBlockBytes, end, live);
  }
  GuardedBuffer buffer;
  size_t blocks;
};

// Batches of every length around those of vectors and of the window of fetched blocks, over small
// filters and over one that is too large for a cache and so has its blocks fetched.
struct Shape {
  size_t count;
  size_t blocks;
  size_t gap;
};
std::vector<Shape> Shapes(std::mt19937_64& random) {
  std::vector<Shape> shapes;
  for (size_t count = 0; count <= 100; count++) shapes.push_back({count, 1 + random() % 50, random() % 33});
  for (size_t count : {0, 1, 2, 63, 64, 65, 66, 100, 128, 129, 500}) shapes.push_back({count, 40'000, random() % 33});
  return shapes;
}

TEST_P(EveryKernel, GivesTheBitsOfTheScalarOne) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (const auto& [count, blocks, gap] : Shapes(random)) {
    SCOPED_TRACE(testing::Message() << count << " hashes, " << blocks << " blocks, gap " << gap);
    Hashes hashes(count, random);
    std::vector<uint8_t> expected(blocks * kBlockBytes);
    for (size_t i = 0; i < count; i++) reference().insert(expected.data(), blocks, hashes.data()[i]);

    Bits singly(blocks, gap);
    for (size_t i = 0; i < count; i++) kernels().insert(singly.data(), blocks, hashes.data()[i]);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), singly.data()));
    EXPECT_TRUE(singly.CanariesLive());

    Bits batched(blocks, gap);
    kernels().insert_batch(batched.data(), blocks, hashes.data(), count);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batched.data()));
    EXPECT_TRUE(batched.CanariesLive());
  }
}

TEST_P(EveryKernel, GivesTheAnswersOfTheScalarOne) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (const auto& [count, blocks, gap] : Shapes(random)) {
    SCOPED_TRACE(testing::Message() << count << " hashes, " << blocks << " blocks, gap " << gap);
    // So full that about half of all probes find their bits, and every bit of a miss matters.
    Bits bits(blocks, gap);
    for (size_t i = 0; i < blocks * kBlockBytes; i += sizeof(uint64_t)) {
      StoreLe<uint64_t>(bits.data() + i, random() | random() | random() | random());
    }
    Hashes hashes(count, random);
    std::vector<uint8_t> expected(count);
    for (size_t i = 0; i < count; i++) {
      expected[i] = reference().probe(bits.data(), blocks, hashes.data()[i]);
      EXPECT_EQ(kernels().probe(bits.data(), blocks, hashes.data()[i]), expected[i] != 0);
    }
    GuardedBuffer results(count);
    kernels().probe_batch(bits.data(), blocks, hashes.data(), count, results.data());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), results.data()));
    EXPECT_EQ(kernels().probe_any(bits.data(), blocks, hashes.data(), count),
              std::find(expected.begin(), expected.end(), 1) != expected.end());
    EXPECT_TRUE(bits.CanariesLive());
  }
}

TEST_P(EveryKernel, MissesByOneBitInAnyWord) {
  const uint64_t hash = 0x26c7827d889f6da3;
  uint8_t full[kBlockBytes] = {};
  kernels().insert(full, 1, hash);
  ASSERT_TRUE(kernels().probe(full, 1, hash));
  for (size_t word = 0; word < 8; word++) {
    uint8_t block[kBlockBytes];
    std::copy_n(full, kBlockBytes, block);
    std::fill_n(block + 4 * word, 4, uint8_t{0});
    const std::vector<uint64_t> hashes(10, hash);
    std::vector<uint8_t> results(10, 1);
    EXPECT_FALSE(kernels().probe(block, 1, hash)) << word;
    EXPECT_FALSE(kernels().probe_any(block, 1, hashes.data(), hashes.size())) << word;
    kernels().probe_batch(block, 1, hashes.data(), hashes.size(), results.data());
    EXPECT_EQ(std::count(results.begin(), results.end(), 0), 10) << word;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel, ::testing::ValuesIn(SupportedIsas()),
                         [](const auto& info) { return std::string(IsaName(info.param)); });

// Says which kernel a probe ran, to the parent process of the tests below.
TEST(ForcedIsaChild, ReportsTheKernelThatRan) {
  SplitBlockFilter filter(1);
  filter.Insert(1);
  ASSERT_TRUE(filter.view().MayContain(1));
  for (Isa isa : SupportedIsas()) {
    const bool single = internal::probe.load() == KernelsFor(isa).probe;
    EXPECT_EQ(single, &ActiveKernels() == &KernelsFor(isa));
    if (single) std::printf("kernel=%s\n", IsaName(isa).data());
  }
}

struct ChildRun {
  std::string output;
  int exit_status = -1;
};
ChildRun RunChild(std::string_view isa) {
  char self[4096];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
  CHECK(length > 0);
  const std::string command = "PETALITE_FORCE_ISA=" + std::string(isa) + " '" + std::string(self, length) +
                              "' --gtest_filter=ForcedIsaChild.* 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  CHECK(pipe != nullptr);
  ChildRun run;
  char chunk[4096];
  for (size_t got; (got = std::fread(chunk, 1, sizeof chunk, pipe)) > 0;) run.output.append(chunk, got);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) run.exit_status = WEXITSTATUS(status);
  return run;
}

TEST(ForcedIsa, DecidesWhichKernelRuns) {
  for (Isa isa : SupportedIsas()) {
    const ChildRun run = RunChild(IsaName(isa));
    EXPECT_EQ(run.exit_status, 0) << run.output;
    EXPECT_NE(run.output.find("kernel=" + std::string(IsaName(isa)) + "\n"), std::string::npos) << run.output;
  }
}

TEST(ForcedIsa, IsRefusedWhenUnknown) {
  const ChildRun run = RunChild("mmx");
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_NE(run.output.find("PETALITE_FORCE_ISA=mmx"), std::string::npos) << run.output;
}

}  // namespace
}  // namespace petalite::bloom
