#include "store/sqlite_vfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "store/sqlite_statement.h"
#include "temporary_folder.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;
using Mode = SqliteConnection::Mode;

constexpr const char* kPath = "catalog.sqlite";

Status Execute(SqliteConnection& connection, const char* sql) { return SqliteExecute(connection.db(), kPath, sql); }

Result<int64_t> Number(SqliteConnection& connection, const char* sql) {
  const std::string path = kPath;
  SqliteStatement select(connection.db(), path, sql);
  ASSIGN_OR_RETURN(const bool row, select.Step());
  return row ? select.Int(0) : -1;
}

// A table t of 1000 rows, over some dozens of pages.
void MustFill(FileSystem& fs, const std::string& path = kPath) {
  const auto connection = *SqliteConnection::Open(fs, path, Mode::kCreate);
  const Status filled = Execute(*connection,
                                "CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB);"
                                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
                                "INSERT INTO t SELECT i, zeroblob(100) FROM n");
  ASSERT_TRUE(filled.ok()) << filled.message();
}

Result<int64_t> Sum(FileSystem& fs, Mode mode) {
  ASSIGN_OR_RETURN(const auto connection, SqliteConnection::Open(fs, kPath, mode));
  return Number(*connection, "SELECT sum(k + length(v)) FROM t");
}
constexpr int64_t kSum = 500'500 + 100'000;

TEST(SqliteVfsTest, RowsComeBackAndPagesAreWhole) {
  FaultFileSystem fs;
  MustFill(fs);
  EXPECT_EQ(*Sum(fs, Mode::kWrite), kSum);
  EXPECT_EQ(*Sum(fs, Mode::kRead), kSum);
  const ByteBuffer bytes = *fs.ReadAll(kPath);
  EXPECT_EQ(bytes.size() % kCatalogPageSize, 0u);
  EXPECT_EQ(bytes[20], kPageChecksumSize);
  EXPECT_EQ(Sum(fs, Mode::kCreate).ok(), true);
}

TEST(SqliteVfsTest, AnySqliteReadsTheFile) {
  const TemporaryFolder folder;
  MustFill(PosixFileSystem(), folder / kPath);
  sqlite3* db = nullptr;
  const std::string path = folder / kPath;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  {
    SqliteStatement select(db, path, "SELECT count(*) FROM t");
    ASSERT_TRUE(*select.Step());
    EXPECT_EQ(select.Int(0), 1000);
  }
  sqlite3_close(db);
}

TEST(SqliteVfsTest, AFlippedBitIsNamedWithItsPage) {
  FaultFileSystem fs;
  MustFill(fs);
  const uint64_t pages = *fs.FileSize(kPath) / kCatalogPageSize;
  for (uint64_t page = 0; page < pages; ++page) {
    auto file = *fs.Open(kPath, OpenMode::kReadWrite);
    uint8_t byte;
    const uint64_t at = page * kCatalogPageSize + 2000;
    ASSERT_TRUE(file->Read(at, {&byte, 1}).ok());
    const uint8_t flipped = byte ^ 4;
    ASSERT_TRUE(file->Write(at, {&flipped, 1}).ok());
    for (const Mode mode : {Mode::kRead, Mode::kWrite}) {
      const auto sum = Sum(fs, mode);
      ASSERT_FALSE(sum.ok()) << "page " << page;
      EXPECT_EQ(sum.status().code(), StatusCode::kCorruption);
      EXPECT_THAT(sum.status().message(),
                  HasSubstr("catalog.sqlite: offset " + std::to_string(page * kCatalogPageSize) + ": page checksum"));
    }
    ASSERT_TRUE(file->Write(at, {&byte, 1}).ok());
  }
  EXPECT_EQ(*Sum(fs, Mode::kRead), kSum);
}

TEST(SqliteVfsTest, ACopyOfAnotherPageIsDamage) {
  FaultFileSystem fs;
  MustFill(fs);
  auto file = *fs.Open(kPath, OpenMode::kReadWrite);
  ByteBuffer page(kCatalogPageSize);
  ASSERT_TRUE(file->Read(5 * kCatalogPageSize, page).ok());
  ASSERT_TRUE(file->Write(6 * kCatalogPageSize, page).ok());
  EXPECT_THAT(Sum(fs, Mode::kRead).status().message(), HasSubstr("page checksum"));
}

TEST(SqliteVfsTest, AFileThatEndsWithinAPageIsDamage) {
  FaultFileSystem fs;
  MustFill(fs);
  const uint64_t size = *fs.FileSize(kPath);
  for (const uint64_t lost : {1, 100, 4095, 4096, 5000}) {
    auto file = *fs.Open(kPath, OpenMode::kReadWrite);
    ASSERT_TRUE(file->Truncate(size - lost).ok());
    EXPECT_FALSE(Sum(fs, Mode::kRead).ok()) << lost;
  }
}

TEST(SqliteVfsTest, TheDiskReasonReachesTheMessage) {
  FaultFileSystem fs;
  MustFill(fs);
  const auto connection = *SqliteConnection::Open(fs, kPath, Mode::kWrite);
  fs.FailFrom(1, Fault::kNoSpace);
  EXPECT_THAT(Execute(*connection, "DELETE FROM t").message(), HasSubstr("No space left on device"));
  fs.Heal();
  fs.FailReadAt(1);
  EXPECT_THAT(Sum(fs, Mode::kWrite).status().message(), HasSubstr("Input/output error"));
}

TEST(SqliteVfsTest, AReaderRollsBackInMemoryAndChangesNothingOnDisk) {
  FaultFileSystem fs;
  MustFill(fs);
  bool hot = false;
  for (uint64_t n = 1; n < 300 && !hot; ++n) {
    auto connection = *SqliteConnection::Open(fs, kPath, Mode::kWrite);
    fs.FailFrom(n, Fault::kIoError);
    const Status changed = Execute(*connection, "UPDATE t SET k = -k WHERE v IS NOT NULL");
    connection.reset();
    fs.Heal();
    if (changed.ok()) break;
    const ByteBuffer before = *fs.ReadAll(kPath);
    const bool has_journal = *fs.Exists("catalog.sqlite-journal");
    const uint64_t mutations = fs.mutations();
    const auto sum = Sum(fs, Mode::kRead);
    ASSERT_TRUE(sum.ok()) << sum.status().message();
    EXPECT_EQ(*sum, kSum) << n;
    EXPECT_EQ(fs.mutations(), mutations);
    // A writer rolls back on disk; where that changes the file, the reader had to roll back too.
    EXPECT_EQ(*Sum(fs, Mode::kWrite), kSum) << n;
    hot = has_journal && *fs.ReadAll(kPath) != before;
  }
  EXPECT_TRUE(hot);
}

TEST(SqliteVfsTest, NothingStaysRegistered) {
  FaultFileSystem fs;
  MustFill(fs);
  for (sqlite3_vfs* vfs = sqlite3_vfs_find(nullptr); vfs != nullptr; vfs = vfs->pNext) {
    EXPECT_FALSE(std::string_view(vfs->zName).starts_with("petalite"));
  }
}

}  // namespace
}  // namespace petalite::store
