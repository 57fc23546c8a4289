#include "base/fault_file_system.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace petalite {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void MustWrite(FileSystem& fs, const std::string& path, std::string_view text, bool sync) {
  auto writer = *fs.Create(path);
  ASSERT_TRUE(writer->Append(AsBytes(text)).ok());
  if (sync) {
    ASSERT_TRUE(writer->Sync().ok());
  }
  ASSERT_TRUE(writer->Close().ok());
}

std::string Content(FileSystem& fs, const std::string& path) {
  const auto bytes = fs.ReadAll(path);
  return bytes.ok() ? std::string(AsText(*bytes)) : bytes.status().message();
}

TEST(FaultFileSystemTest, BehavesAsAFileSystem) {
  FaultFileSystem fs;
  EXPECT_EQ(fs.Create("a/file").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(fs.CreateDirectories("a/b/c").ok());
  ASSERT_TRUE(fs.CreateDirectories("a/b").ok());
  MustWrite(fs, "a/b/file", "text", false);
  EXPECT_EQ(fs.Create("a/b/file").status().code(), StatusCode::kAlreadyExists);
  EXPECT_FALSE(fs.CreateDirectories("a/b/file/d").ok());
  EXPECT_THAT(*fs.List("a/b"), ElementsAre("c", "file"));
  EXPECT_THAT(*fs.List("."), ElementsAre("a"));
  EXPECT_FALSE(fs.List("a/b/file").ok());
  EXPECT_EQ(*fs.FileSize("a/b/file"), 4u);
  EXPECT_FALSE(fs.RemoveDirectory("a/b").ok());
  ASSERT_TRUE(fs.Rename("a/b/file", "a/moved").ok());
  EXPECT_FALSE(*fs.Exists("a/b/file"));
  EXPECT_TRUE(*fs.Exists("a/moved"));

  auto file = *fs.Open("a/moved", OpenMode::kReadWrite);
  ASSERT_TRUE(file->Write(6, AsBytes("!")).ok());
  EXPECT_EQ(Content(fs, "a/moved"), std::string("text\0\0!", 7));
  ASSERT_TRUE(file->Truncate(2).ok());
  uint8_t bytes[3];
  EXPECT_THAT(file->Read(0, bytes).message(), HasSubstr("the file ends at offset 2, 1 bytes early"));
  ASSERT_TRUE(fs.Remove("a/moved").ok());
  EXPECT_EQ(*file->Size(), 2u);  // an open file outlives its name
  EXPECT_EQ(fs.Open("a/moved", OpenMode::kRead).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(fs.Open("a/moved", OpenMode::kCreate).ok());
  EXPECT_EQ((*fs.Open("a/moved", OpenMode::kRead))->Write(0, AsBytes("x")).code(), StatusCode::kReadOnly);
  ASSERT_TRUE(fs.RemoveDirectory("a/b/c").ok());
}

TEST(FaultFileSystemTest, LocksExcludeUntilTheyGo) {
  FaultFileSystem fs;
  auto first = *fs.Lock("LOCK", LockMode::kShared);
  auto second = *fs.Lock("LOCK", LockMode::kShared);
  EXPECT_EQ(fs.Lock("LOCK", LockMode::kExclusive).status().code(), StatusCode::kBusy);
  first.reset();
  second.reset();
  auto exclusive = *fs.Lock("LOCK", LockMode::kExclusive);
  EXPECT_THAT(fs.Lock("LOCK", LockMode::kShared).status().message(), HasSubstr("held by process"));
  fs.Crash(1);
  auto after = *fs.Lock("LOCK", LockMode::kExclusive);
  exclusive.reset();  // one from before the crash releases nothing
  EXPECT_FALSE(fs.Lock("LOCK", LockMode::kShared).ok());
}

TEST(FaultFileSystemTest, FailsTheCallItIsTold) {
  FaultFileSystem fs;
  fs.FailAt(2, Fault::kNoSpace);
  auto writer = *fs.Create("file");
  EXPECT_THAT(writer->Append(AsBytes("abcd")).message(), HasSubstr("file: cannot write: No space left on device"));
  ASSERT_TRUE(writer->Append(AsBytes("abcd")).ok());
  fs.FailAt(1, Fault::kShortWrite);
  EXPECT_FALSE(writer->Append(AsBytes("efgh")).ok());
  EXPECT_EQ(Content(fs, "file"), "abcdef");
  fs.FailFrom(2, Fault::kIoError);
  EXPECT_TRUE(writer->Sync().ok());
  EXPECT_THAT(fs.Rename("file", "other").message(), HasSubstr("Input/output error"));
  EXPECT_THAT(fs.SyncDirectory(".").message(), HasSubstr("Input/output error"));
  EXPECT_FALSE(fs.CreateDirectories("folder").ok());
  EXPECT_FALSE(fs.Remove("file").ok());
  fs.Heal();
  EXPECT_TRUE(fs.Rename("file", "other").ok());
  fs.FailReadAt(2);
  EXPECT_TRUE(fs.ReadAll("other").ok());
  EXPECT_THAT(fs.ReadAll("other").status().message(), HasSubstr("other: cannot read: Input/output error"));
  EXPECT_TRUE(fs.ReadAll("other").ok());
}

TEST(FaultFileSystemTest, ACrashKeepsWhatWasSyncedAndAnythingOfTheRest) {
  std::set<std::string> contents;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    FaultFileSystem fs;
    MustWrite(fs, "file", std::string(1024, 'a'), true);
    ASSERT_TRUE(fs.SyncDirectory(".").ok());
    auto file = *fs.Open("file", OpenMode::kReadWrite);
    ASSERT_TRUE(file->Write(0, AsBytes(std::string(1024, 'b'))).ok());
    fs.Crash(seed);
    EXPECT_FALSE(file->Size().ok());
    contents.insert(Content(fs, "file"));
  }
  EXPECT_EQ(contents, (std::set<std::string>{std::string(1024, 'a'), std::string(1024, 'b'),
                                             std::string(512, 'b') + std::string(512, 'a')}));
}

TEST(FaultFileSystemTest, ACrashTakesEntriesOfFoldersThatWereNotSynced) {
  std::set<bool> kept;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FaultFileSystem fs;
    ASSERT_TRUE(fs.CreateDirectories("a/b").ok());
    MustWrite(fs, "a/b/file", "text", true);
    ASSERT_TRUE(fs.SyncDirectory("a/b").ok());
    ASSERT_TRUE(fs.SyncDirectory("a").ok());
    fs.Crash(seed);  // "a" itself was never synced
    kept.insert(*fs.Exists("a/b/file"));
    if (*fs.Exists("a")) {
      EXPECT_EQ(Content(fs, "a/b/file"), "text");
    }
  }
  EXPECT_EQ(kept, (std::set<bool>{false, true}));
}

TEST(FaultFileSystemTest, ACrashTakesRenamingsWholeOrNot) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FaultFileSystem fs;
    MustWrite(fs, "old", "1", true);
    MustWrite(fs, "new", "2", true);
    ASSERT_TRUE(fs.SyncDirectory(".").ok());
    ASSERT_TRUE(fs.Rename("new", "old").ok());
    fs.Crash(seed);
    EXPECT_EQ(Content(fs, "old"), *fs.Exists("new") ? "1" : "2");
  }
}

TEST(FaultFileSystemTest, WhatAFailedSyncLostComesBackWithNoLaterSync) {
  std::set<std::string> contents;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    FaultFileSystem fs;
    auto writer = *fs.Create("file");
    ASSERT_TRUE(fs.SyncDirectory(".").ok());
    for (uint64_t i = 0; i <= seed; ++i) ASSERT_TRUE(writer->Append(AsBytes("x")).ok());
    fs.FailAt(1, Fault::kIoError);
    ASSERT_FALSE(writer->Sync().ok());
    ASSERT_TRUE(writer->Sync().ok());
    const std::string live = Content(fs, "file");
    EXPECT_EQ(live, std::string(seed + 1, 'x'));
    fs.Crash(seed);
    contents.insert(Content(fs, "file"));
    if (Content(fs, "file") != live) return;
  }
  FAIL() << "no failed sync lost anything";
}

}  // namespace
}  // namespace petalite
