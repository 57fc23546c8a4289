// A log that is damaged below its end: the error says where, and a salvage keeps what is whole in front of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "store_testing.h"

namespace petalite::store {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

DatabaseOptions Options(FileSystem& fs) {
  return {.create = true, .write_bytes = 8 << 20, .threads = 1, .background = false, .fs = &fs};
}

Status InsertOne(Database& database, int64_t key) {
  WriteBatch batch{.op = WriteOp::kInsert, .rows = 1};
  batch.columns = {{.values = &key, .size = 1}};
  return database.Write({"main", "t"}, batch).status();
}

TEST(SalvageTest, KeepsWhatIsWholeInFrontOfTheDamage) {
  FaultFileSystem fs;
  std::vector<uint64_t> ends;
  {
    auto database = *Database::Open("db", Options(fs));
    const auto transaction = database->Begin();
    TableDefinition definition{.name = {"main", "t"}, .key = {"k"}};
    definition.schema.fields = {{.name = "k", .type = Type::Of(TypeId::kInt64)}};
    ASSERT_TRUE(transaction->CreateTable(definition).ok());
    ASSERT_TRUE(transaction->Commit().ok());
    for (int64_t key = 0; key < 20; ++key) {
      ASSERT_TRUE(InsertOne(*database, key).ok());
      ends.push_back(database->log().wal().end());
    }
    fs.FailFrom(1, Fault::kIoError);
    database = nullptr;
    fs.Crash(1);
  }
  const std::string segment = "db/wal/00000000000000000000.log";
  const auto file = *fs.Open(segment, OpenMode::kReadWrite);
  uint8_t byte;
  ASSERT_TRUE(file->Read(ends[9] + 40, {&byte, 1}).ok());  // within the record of key 10
  byte ^= 4;
  ASSERT_TRUE(file->Write(ends[9] + 40, {&byte, 1}).ok());
  ASSERT_TRUE(file->Sync().ok());

  const auto damaged = Database::Open("db", Options(fs));
  ASSERT_FALSE(damaged.ok());
  EXPECT_THAT(damaged.status().message(), HasSubstr(segment));
  EXPECT_THAT(damaged.status().message(), HasSubstr(fmt::format("{}", ends[9])));
  EXPECT_THAT(*SalvageLog("db", Options(fs)), SizeIs(1));
  EXPECT_THAT(*SalvageLog("db", Options(fs)), SizeIs(0));
  const auto database = *Database::Open("db", Options(fs));
  EXPECT_EQ(ViewOf(*database, "t")->exact_rows(), 10u);
  ExpectSound(*database);
  ASSERT_TRUE(InsertOne(*database, 10).ok());
  EXPECT_TRUE(*fs.Exists(segment + ".damaged"));
}

}  // namespace
}  // namespace petalite::store
