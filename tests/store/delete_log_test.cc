#include "store/delete_log.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_seed.h"

namespace petalite::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<uint32_t> LiveRows(const DeleteVector& vector, uint32_t begin, uint32_t end) {
  std::vector<uint32_t> rows(end - begin);
  rows.resize(vector.LiveRows(begin, end, rows.data()));
  return rows;
}

void ExpectIs(const DeleteVector& vector, const std::set<uint32_t>& dead, std::mt19937_64& random) {
  ASSERT_EQ(vector.count(), dead.size());
  EXPECT_EQ(vector.ToVector(), std::vector<uint32_t>(dead.begin(), dead.end()));
  std::vector<uint32_t> visited;
  vector.ForEach([&](uint32_t position) { visited.push_back(position); });
  EXPECT_EQ(visited, vector.ToVector());
  for (int i = 0; i < 20; ++i) {
    const auto begin = static_cast<uint32_t>(random() % 200'000);
    const auto end = static_cast<uint32_t>(begin + random() % (i % 4 == 0 ? 100'000 : 2048));
    std::vector<uint32_t> live;
    for (uint32_t at = begin; at < end; ++at) {
      if (!dead.contains(at)) live.push_back(at - begin);
    }
    ASSERT_EQ(LiveRows(vector, begin, end), live);
    EXPECT_EQ(vector.CountRange(begin, end), end - begin - live.size());
    EXPECT_EQ(vector.Contains(begin), dead.contains(begin));
  }
}

// Sets that Roaring keeps as arrays, bitsets and runs.
std::set<uint32_t> RandomSet(std::mt19937_64& random) {
  std::set<uint32_t> set;
  const uint32_t one_in = std::vector<uint32_t>{2, 3, 20, 1000, 50'000}[random() % 5];
  for (uint32_t at = 0; at < 200'000; ++at) {
    if (random() % one_in == 0) set.insert(at);
  }
  if (random() % 2 == 0) {
    const auto begin = static_cast<uint32_t>(random() % 150'000);
    for (uint32_t at = begin; at < begin + random() % 80'000; ++at) set.insert(set.end(), at);
  }
  return set;
}

TEST(DeleteVectorTest, AnswersAsASetDoes) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 6; ++round) {
    const std::set<uint32_t> set = RandomSet(random);
    std::vector<uint32_t> positions(set.begin(), set.end());
    std::shuffle(positions.begin(), positions.end(), random);
    const auto vector = DeleteVector::Of(positions);
    ExpectIs(*vector, set, random);
    const auto parsed = DeleteVector::Parse(vector->Serialize());
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    ExpectIs(**parsed, set, random);
    const std::set<uint32_t> more = RandomSet(random);
    std::set<uint32_t> both = set;
    both.insert(more.begin(), more.end());
    const auto with = DeleteVector::With(vector.get(), std::vector<uint32_t>(more.begin(), more.end()));
    ExpectIs(*with, both, random);
    for (const uint32_t position : more) both.erase(position);
    ExpectIs(*DeleteVector::Without(*with, std::vector<uint32_t>(more.begin(), more.end())), both, random);
    ExpectIs(*vector, set, random);
  }
}

TEST(DeleteVectorTest, KnowsTheEndsOfItsDomain) {
  const uint32_t positions[] = {0, UINT32_MAX - 1, UINT32_MAX};
  const auto vector = DeleteVector::Of(positions);
  EXPECT_THAT(LiveRows(*vector, 0, 3), ElementsAre(1, 2));
  EXPECT_THAT(LiveRows(*vector, UINT32_MAX - 2, UINT32_MAX), ElementsAre(0));
  EXPECT_THAT(LiveRows(*vector, 7, 7), IsEmpty());
  EXPECT_EQ(vector->CountRange(0, UINT32_MAX), 2u);
  EXPECT_TRUE(vector->Contains(UINT32_MAX));
  const auto empty = DeleteVector::Of({});
  EXPECT_THAT(LiveRows(*empty, 5, 8), ElementsAre(0, 1, 2));
  EXPECT_EQ((*DeleteVector::Parse(empty->Serialize()))->count(), 0u);
}

TEST(DeleteVectorTest, RefusesBytesThatBreakTheForm) {
  std::vector<uint32_t> positions = {1, 2, 3, 70'000, 140'000, 140'002, 500'000};  // a run and arrays, with offsets
  for (uint32_t at = 1'000'000; at < 1'030'000; at += 2) positions.push_back(at);  // a bitset
  for (uint32_t at = 2'000'000; at < 2'003'000; ++at) positions.push_back(at);
  const ByteBuffer bytes = DeleteVector::Of(positions)->Serialize();
  ASSERT_TRUE(DeleteVector::Parse(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(DeleteVector::Parse(Bytes(bytes).first(size)).status().code(), StatusCode::kCorruption) << size;
  }
  ByteBuffer longer = bytes;
  longer.push_back(0);
  EXPECT_THAT(DeleteVector::Parse(longer).status().message(), HasSubstr("1 bytes too many"));
  // Many flips make another valid set; what is accepted must at least answer alike in all ways.
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    ByteBuffer flipped = bytes;
    flipped[bit / 8] ^= 1 << (bit % 8);
    const auto parsed = DeleteVector::Parse(flipped);
    if (!parsed.ok()) continue;
    const auto values = (*parsed)->ToVector();
    ASSERT_TRUE(std::is_sorted(values.begin(), values.end())) << bit;
    ASSERT_EQ(std::set<uint32_t>(values.begin(), values.end()).size(), (*parsed)->count()) << bit;
  }
  // An array out of order, and a position twice.
  EXPECT_FALSE(DeleteVector::Parse(ByteBuffer{0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 5, 0, 4, 0}).ok());
  EXPECT_FALSE(DeleteVector::Parse(ByteBuffer{0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 5, 0, 5, 0}).ok());
  EXPECT_TRUE(DeleteVector::Parse(ByteBuffer{0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 5, 0, 6, 0}).ok());
}

TEST(DeleteLogTest, TellsWhoWasDeadWhen) {
  DeleteLog log;
  EXPECT_EQ(log.At(100), nullptr);
  EXPECT_EQ(log.DeathOf(3), kNeverDied);
  log.Append(std::vector<Death>{{3, 10}, {1, 10}, {7, 20}});
  log.Append(std::vector<Death>{{2, 20}, {9, 30}});
  EXPECT_EQ(log.DeathOf(3), 10u);
  EXPECT_EQ(log.DeathOf(9), 30u);
  EXPECT_EQ(log.DeathOf(4), kNeverDied);
  EXPECT_FALSE(log.IsDead(7, 19));
  EXPECT_TRUE(log.IsDead(7, 20));
  EXPECT_FALSE(log.IsDead(4, UINT64_MAX));
  EXPECT_EQ(log.At(9), nullptr);
  EXPECT_THAT(log.At(19)->ToVector(), ElementsAre(1, 3));
  EXPECT_THAT(log.At(UINT64_MAX)->ToVector(), ElementsAre(1, 2, 3, 7, 9));
  EXPECT_THAT(log.At(20)->ToVector(), ElementsAre(1, 2, 3, 7));
  EXPECT_EQ(log.CountAt(20), 4u);
  EXPECT_THAT(log.Since(3), ElementsAre(Death{2, 20}, Death{9, 30}));
  EXPECT_THAT(log.Since(5), IsEmpty());

  log.Settle(19);
  EXPECT_EQ(log.settled_at(), 19u);
  EXPECT_EQ(log.DeathOf(3), 0u);
  EXPECT_TRUE(log.IsDead(3, 19));
  EXPECT_EQ(log.young(), 3u);
  EXPECT_EQ(log.count(), 5u);
  EXPECT_THAT(log.At(19)->ToVector(), ElementsAre(1, 3));
  EXPECT_THAT(log.Since(2), ElementsAre(Death{7, 20}, Death{2, 20}, Death{9, 30}));
  const DeleteLogContents contents = log.ContentsAt(20);
  EXPECT_THAT(contents.dead->ToVector(), ElementsAre(1, 2, 3, 7));
  EXPECT_THAT(contents.young, ElementsAre(Death{7, 20}, Death{2, 20}));
  EXPECT_EQ(contents.settled_at, 19u);
}

TEST(DeleteLogTest, KeepsWhatItBuilt) {
  DeleteLog log;
  log.Append(std::vector<Death>{{3, 10}, {1, 20}});
  const auto newest = log.At(20);
  const auto older = log.At(10);
  EXPECT_EQ(log.At(25), newest);
  EXPECT_EQ(log.At(10), older);
  log.Append(std::vector<Death>{{2, 30}});
  EXPECT_EQ(log.At(20), newest);
  const auto after = log.At(30);
  EXPECT_EQ(after->count(), 3u);
  EXPECT_EQ(log.At(10), older);
  EXPECT_EQ(log.At(20)->count(), 2u);
  log.Settle(20);
  EXPECT_EQ(log.At(30), after);
}

TEST(DeleteLogDeathTest, ChecksItsCallers) {
  DeleteLog log;
  log.Append(std::vector<Death>{{3, 10}, {1, 20}});
  EXPECT_DEATH(log.Append(std::vector<Death>{{2, 19}}), "commit >= last_commit_");
  EXPECT_DEATH(log.Append(std::vector<Death>{{3, 20}}), "kEmpty");
  log.Settle(10);
  EXPECT_DEATH(log.Append(std::vector<Death>{{3, 20}}), "Contains");
  EXPECT_DEATH((void)log.At(9), "settled_at");
  EXPECT_DEATH((void)log.Since(0), "count >= settled");
}

TEST(DeleteLogTest, AgreesWithAModel) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 10; ++round) {
    DeleteLog log;
    std::map<uint32_t, uint64_t> model;
    std::vector<Death> order;
    uint64_t commit = 1;
    for (int step = 0; step < 200; ++step) {
      std::vector<Death> batch;
      for (uint64_t i = random() % 40; i > 0; --i) {
        const auto position = static_cast<uint32_t>(random() % 100'000);
        commit += random() % 3;
        if (model.emplace(position, commit).second) batch.push_back({position, commit});
      }
      log.Append(batch);
      order.insert(order.end(), batch.begin(), batch.end());
      if (random() % 10 == 0) log.Settle(log.settled_at() + random() % (commit - log.settled_at() + 1));
      commit = std::max(commit, log.settled_at() + 1);
      const uint64_t at = log.settled_at() + random() % (commit - log.settled_at() + 2);
      std::vector<uint32_t> dead;
      for (const auto& [position, died] : model) {
        if (died <= at) dead.push_back(position);
      }
      const auto vector = log.At(at);
      ASSERT_EQ(vector == nullptr ? std::vector<uint32_t>() : vector->ToVector(), dead);
      ASSERT_EQ(log.CountAt(at), dead.size());
      ASSERT_EQ(log.count(), model.size());
      const auto since = log.Since(log.CountAt(at));
      ASSERT_EQ(since, std::vector<Death>(order.begin() + dead.size(), order.end()));
      for (int i = 0; i < 20; ++i) {
        const auto position = static_cast<uint32_t>(random() % 100'000);
        const auto found = model.find(position);
        ASSERT_EQ(log.IsDead(position, at), found != model.end() && found->second <= at);
        const uint64_t death = log.DeathOf(position);
        const uint64_t expected = found == model.end()                ? kNeverDied
                                  : found->second <= log.settled_at() ? 0
                                                                      : found->second;
        ASSERT_EQ(death, expected);
      }
    }
  }
}

TEST(DeleteLogTest, TakesLittleMemory) {
  constexpr uint32_t kDeaths = 200'000;
  DeleteLog log;
  std::vector<Death> deaths(kDeaths);
  for (uint32_t i = 0; i < kDeaths; ++i) deaths[i] = {i * 16, 1 + i / 10};  // scattered: 4096 to a container
  log.Append(deaths);
  EXPECT_LE(log.memory_bytes(), 24u * kDeaths);
  log.Settle(kDeaths);
  EXPECT_LE(log.memory_bytes(), 2u * kDeaths + 8192);
  EXPECT_LT(DeleteLog().memory_bytes(), 1024u);
}

// A writer appends and settles; readers ask at commits that were published, as transactions do. Position 2c + i dies at
// commit c.
TEST(DeleteLogTest, ReadersSeeWholeCommitsWhileTheWriterGoesOn) {
  constexpr uint64_t kCommits = 3000;
  DeleteLog log;
  std::atomic<uint64_t> published{0};
  std::atomic<uint64_t> held[2] = {UINT64_MAX, UINT64_MAX};  // by readers, 0 while they choose
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (auto& hold : held) {
    readers.emplace_back([&] {
      uint64_t at = 0;
      while (at < kCommits) {
        hold = 0;
        at = published;
        hold = at;
        const auto dead = log.At(at);
        wrong += (dead == nullptr ? 0 : dead->count()) != 2 * at || log.CountAt(at) != 2 * at;
        if (at > 0) wrong += !log.IsDead(static_cast<uint32_t>(2 * at), at) || !dead->Contains(2 * at + 1);
        wrong += log.IsDead(static_cast<uint32_t>(2 * at + 2), at);
        for (const Death& death : log.Since(2 * at)) wrong += death.commit <= at || death.position / 2 != death.commit;
        const DeleteLogContents contents = log.ContentsAt(at);
        wrong += (contents.dead == nullptr ? 0 : contents.dead->count()) != 2 * at;
        for (const Death& death : contents.young) wrong += death.commit <= contents.settled_at || death.commit > at;
        hold = UINT64_MAX;
      }
    });
  }
  for (uint64_t commit = 1; commit <= kCommits; ++commit) {
    const auto position = static_cast<uint32_t>(2 * commit);
    log.Append(std::vector<Death>{{position, commit}, {position + 1, commit}});
    published = commit;
    if (commit % 50 == 0) log.Settle(std::min({commit - 1, held[0].load(), held[1].load()}));
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace petalite::store
