#include "base/mapped_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "temporary_folder.h"

namespace petalite {
namespace {

using ::testing::HasSubstr;

void Write(FileSystem& fs, const std::string& path, size_t bytes) {
  const auto writer = *fs.Create(path);
  ByteBuffer content(bytes);
  for (size_t i = 0; i < bytes; ++i) content[i] = static_cast<uint8_t>(i * 7);
  ASSERT_TRUE(writer->Append(content).ok() && writer->Close().ok());
}

TEST(MappedRangeTest, GivesTheBytesOfAFileWhereverTheyBegin) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  Write(PosixFileSystem(), path, 20'000);
  FaultFileSystem memory;
  Write(memory, "file", 20'000);
  for (const uint64_t offset : {0, 1, 4095, 4096, 8191, 19'999}) {
    const uint64_t length = std::min<uint64_t>(20'000 - offset, 5000);
    const auto mapped = MapRange(PosixFileSystem(), path, offset, length, true);
    const auto read = MapRange(memory, "file", offset, length, true);
    ASSERT_TRUE(mapped.ok() && read.ok());
    ASSERT_EQ((*mapped)->bytes().size(), length);
    EXPECT_EQ(AsText((*mapped)->bytes()), AsText((*read)->bytes()));
    EXPECT_EQ((*mapped)->bytes()[0], static_cast<uint8_t>(offset * 7));
  }
}

TEST(MappedRangeTest, WhatCannotBeMappedIsAnErrorThatNamesTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  Write(PosixFileSystem(), path, 100);
  const auto error = [&](const std::string& name, uint64_t offset, uint64_t length) {
    const auto mapped = MapRange(PosixFileSystem(), name, offset, length, false);
    EXPECT_FALSE(mapped.ok());
    EXPECT_THAT(mapped.status().message(), HasSubstr(name));
    return mapped.status();
  };
  EXPECT_EQ(error(path, 0, 101).code(), StatusCode::kCorruption);
  EXPECT_THAT(error(path, 101, 0).message(), HasSubstr("it ends at 100"));
  EXPECT_EQ(error(path, 1, UINT64_MAX).code(), StatusCode::kCorruption);
  EXPECT_THAT(error(path, 0, 0).message(), HasSubstr("cannot map"));  // of nothing
  EXPECT_FALSE(error(folder / "none", 0, 1).ok());
  FaultFileSystem memory;
  Write(memory, "file", 100);
  memory.FailReadAt(1);
  EXPECT_THAT(MapRange(memory, "file", 0, 10, false).status().message(), HasSubstr("Input/output error"));
  EXPECT_TRUE(MapRange(memory, "file", 0, 10, false).ok());
}

}  // namespace
}  // namespace petalite
