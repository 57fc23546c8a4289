// A process that is killed while it writes: whatever it was told is done is there when the database is opened again.

#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "number_tables.h"
#include "temporary_folder.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

constexpr int64_t kBatch = 10;

DatabaseOptions Options(bool background) {
  return {.create = true,
          .cache_bytes = 1 << 20,
          .write_bytes = 1 << 20,
          .threads = 1,
          .wal_segment_bytes = 1 << 16,
          .background = background};
}

// Commit n: ten new rows in one table, the number in the other, and an old row goes.
Status WriteCommit(Database& database, int64_t number) {
  const auto transaction = database.Begin();
  NumberRows rows;
  for (int64_t i = 0; i < kBatch; ++i) rows.emplace_back(number * kBatch + i, number);
  RETURN_IF_ERROR(WriteNumbers(*transaction, "rows", WriteOp::kInsert, rows));
  RETURN_IF_ERROR(WriteNumbers(*transaction, "rows", WriteOp::kDelete, {{number / 2 * kBatch, 0}}));
  RETURN_IF_ERROR(WriteNumbers(*transaction, "last", WriteOp::kUpsert, {{0, number}}));
  return transaction->Commit();
}

NumberTables StateAfter(int64_t commits) {
  NumberTables tables = {{"last", {}}, {"rows", {}}};
  for (int64_t number = 0; number < commits; ++number) {
    for (int64_t i = 0; i < kBatch; ++i) tables["rows"][number * kBatch + i] = number;
    tables["rows"].erase(number / 2 * kBatch);
    tables["last"][0] = number;
  }
  return tables;
}

// The child: writes commits from `next` on until it is killed, and says which are done.
[[noreturn]] void WriteUntilKilled(const std::string& path, int64_t next, int pipe) {
  auto database = Database::Open(path, Options(true));
  if (!database.ok()) _exit(2);
  for (;; ++next) {
    if (!WriteCommit(**database, next).ok()) _exit(3);
    if (next % 50 == 49 && !(*database)->Checkpoint().ok()) _exit(4);
    if (write(pipe, &next, sizeof next) != sizeof next) _exit(5);
  }
}

// Runs a child and kills it at some moment; how many commits were acknowledged in all.
int64_t RunAndKill(const std::string& path, int64_t next, std::chrono::microseconds lifetime) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    WriteUntilKilled(path, next, ends[1]);
  }
  close(ends[1]);
  int64_t acknowledged = next - 1;
  // The clock starts when it has written something, if it is to.
  if (lifetime.count() % 4 != 0) {
    EXPECT_EQ(read(ends[0], &acknowledged, sizeof acknowledged), sizeof acknowledged);
  }
  std::this_thread::sleep_for(lifetime);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended with status " << WEXITSTATUS(status);
  int64_t number = 0;
  while (read(ends[0], &number, sizeof number) == sizeof number) acknowledged = number;
  close(ends[0]);
  return acknowledged + 1;
}

void KillOften(int kills) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  const TemporaryFolder folder;
  const std::string path = folder / "db";
  {
    const auto database = Database::Open(path, Options(false));
    ASSERT_TRUE(database.ok()) << database.status().message();
    ASSERT_TRUE(CreateNumberTables(**database, {{"rows", 3}, {"last", 1}}).ok());
  }
  int64_t next = 0;
  for (int kill = 0; kill < kills; ++kill) {
    SCOPED_TRACE(fmt::format("kill {}", kill));
    const int64_t acknowledged = RunAndKill(path, next, std::chrono::microseconds(random() % 60'000));
    const auto database = Database::Open(path, Options(false));
    ASSERT_TRUE(database.ok()) << database.status().message();
    const auto contents = ReadAllNumbers(**database);
    ASSERT_TRUE(contents.ok()) << contents.status().message();
    const auto last = contents->at("last").find(0);
    next = last == contents->at("last").end() ? 0 : last->second + 1;
    ASSERT_TRUE(next == acknowledged || next == acknowledged + 1) << next << " of " << acknowledged;
    ASSERT_EQ(*contents, StateAfter(next));
    ExpectSound(**database);
  }
}

TEST(KillTest, AcknowledgedCommitsSurviveAKilledProcess) { KillOften(10); }

// A new database every now and then, because a large one is long in comparing.
TEST(KillTest, LongAcknowledgedCommitsSurviveFiveHundredKills) {
  for (int i = 0; i < 20 && !HasFailure(); ++i) KillOften(25);
}

}  // namespace
}  // namespace petalite::store
