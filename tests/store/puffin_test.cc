#include "store/puffin.h"

#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "base/fault_file_system.h"
#include "memory_file_system.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr const char* kFile = "1.puffin";

// The worked example of docs/format.md.
DeleteLogContents Example() {
  return {.dead = DeleteVector::Of(std::vector<uint32_t>{1, 2, 5, 7, 9}),
          .young = {{5, 12}, {9, 12}, {7, 300}},
          .settled_at = 10};
}

struct Written {
  std::vector<DeleteLogLocation> locations;
  PuffinFileInfo info;
};

Result<Written> Write(FileSystem& fs, const std::vector<DeleteLogContents>& logs) {
  Written written;
  ASSIGN_OR_RETURN(const auto writer, PuffinWriter::Create(fs, kFile));
  for (size_t i = 0; i < logs.size(); ++i) {
    ASSIGN_OR_RETURN(const auto location, writer->AddDeleteLog(fmt::format("data/1/{}.parquet", i + 4), logs[i]));
    written.locations.push_back(location);
  }
  ASSIGN_OR_RETURN(written.info, writer->Finish());
  return written;
}

std::vector<uint32_t> Dead(const DeleteLogContents& contents) {
  return contents.dead == nullptr ? std::vector<uint32_t>() : contents.dead->ToVector();
}

void ExpectLoads(FileSystem& fs, const DeleteLogLocation& location, const DeleteLogContents& expected) {
  const auto log = LoadDeleteLog(fs, kFile, location);
  ASSERT_TRUE(log.ok()) << log.status().message();
  const DeleteLogContents contents = (*log)->ContentsAt(UINT64_MAX);
  EXPECT_EQ(Dead(contents), Dead(expected));
  EXPECT_EQ(contents.young, expected.young);
  EXPECT_EQ(contents.settled_at, expected.settled_at);
  EXPECT_EQ((*log)->settled_at(), expected.settled_at);
}

// A later death and an earlier read go on as if nothing had happened between.
TEST(PuffinTest, ALogComesBackAndGoesOn) {
  MemoryFileSystem fs;
  const auto written = Write(fs, {Example()});
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->info.bytes, fs.bytes(kFile).size());
  ExpectLoads(fs, written->locations[0], Example());
  const auto log = *LoadDeleteLog(fs, kFile, written->locations[0]);
  EXPECT_EQ(log->count(), 5u);
  EXPECT_EQ(log->young(), 3u);
  EXPECT_THAT(log->At(10)->ToVector(), ElementsAre(1, 2));
  EXPECT_THAT(log->At(12)->ToVector(), ElementsAre(1, 2, 5, 9));
  EXPECT_EQ(log->DeathOf(7), 300u);
  log->Append(std::vector<Death>{{4, 300}});
  EXPECT_THAT(log->Since(5), ElementsAre(Death{4, 300}));
}

TEST(PuffinTest, HoldsManyLogsOfAnyKind) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  std::vector<DeleteLogContents> logs(1);  // the first without a death
  for (int i = 0; i < 20; ++i) {
    DeleteLog log;
    std::vector<Death> deaths;
    std::set<uint32_t> positions;
    uint64_t commit = 1;
    for (uint64_t n = random() % 2000; n > 0; --n) {
      const auto position = static_cast<uint32_t>(random() >> (32 + random() % 25));
      if (positions.insert(position).second) deaths.push_back({position, commit += random() >> random() % 64 >> 20});
    }
    log.Append(deaths);
    if (i % 3 != 0 && !deaths.empty()) log.Settle(deaths[random() % deaths.size()].commit);
    logs.push_back(log.ContentsAt(UINT64_MAX));
  }
  MemoryFileSystem fs;
  const auto written = Write(fs, logs);
  ASSERT_TRUE(written.ok()) << written.status().message();
  for (size_t i = 0; i < logs.size(); ++i) ExpectLoads(fs, written->locations[i], logs[i]);
  const auto footer = ReadPuffinFooter(fs, kFile, written->info.footer_crc);
  ASSERT_TRUE(footer.ok()) << footer.status().message();
  size_t blobs = 0;
  for (const DeleteLogLocation& location : written->locations) {
    for (const BlobLocation& blob : {location.dead, location.commits}) {
      if (blob.length == 0) continue;
      EXPECT_EQ(footer->blobs[blobs].offset, blob.offset);
      EXPECT_EQ(footer->blobs[blobs++].length, blob.length);
    }
  }
  EXPECT_EQ(footer->blobs.size(), blobs);
}

// Hexadecimal blocks are bytes, and the one that begins with a brace is text without its line ends.
ByteBuffer ExampleOfTheDocument() {
  std::ifstream document(std::string(PETALITE_TEST_DATA) + "/../../docs/format.md");
  std::string line;
  while (std::getline(document, line) && line != "### Example of a Puffin file") {
  }
  ByteBuffer bytes;
  bool inside = false;
  bool text = false;
  while (std::getline(document, line) && !line.starts_with("#")) {
    if (line.starts_with("```")) {
      inside = !inside;
      text = false;
      continue;
    }
    if (!inside) continue;
    text = text || line.starts_with("{");
    if (text) {
      AppendBytes(bytes, AsBytes(line));
      continue;
    }
    std::istringstream words(line.substr(0, line.find("  ")));  // two spaces before the explanation
    for (std::string word; words >> word;) {
      for (size_t i = 0; i < word.size(); i += 2) {
        bytes.push_back(static_cast<uint8_t>(std::stoul(word.substr(i, 2), nullptr, 16)));
      }
    }
  }
  return bytes;
}

TEST(PuffinTest, TheDocumentsExampleIsWhatIsWritten) {
  MemoryFileSystem fs;
  const auto written = Write(fs, {Example()});
  ASSERT_TRUE(written.ok());
  const ByteBuffer example = ExampleOfTheDocument();
  EXPECT_EQ(fs.bytes(kFile), example);

  fs[kFile] = example;
  const auto footer = ReadPuffinFooter(fs, kFile);
  ASSERT_TRUE(footer.ok()) << footer.status().message();
  ASSERT_EQ(footer->blobs.size(), 2u);
  EXPECT_EQ(footer->blobs[0].type, "deletion-vector-v1");
  EXPECT_THAT(footer->blobs[0].properties,
              UnorderedElementsAre(Pair("referenced-data-file", "data/1/4.parquet"), Pair("cardinality", "5")));
  EXPECT_EQ(footer->blobs[1].type, "petalite-delete-commits-v1");
  DeleteLogLocation location{.cardinality = 5, .settled_at = 10};
  BlobLocation* parts[] = {&location.dead, &location.commits};
  for (size_t i = 0; i < 2; ++i) {
    const PuffinBlob& blob = footer->blobs[i];
    *parts[i] = {blob.offset, blob.length, Crc32c(Bytes(example).subspan(blob.offset, blob.length))};
  }
  ExpectLoads(fs, location, Example());
  EXPECT_EQ(location, written->locations[0]);
}

TEST(PuffinTest, EveryFlippedBitIsDetected) {
  MemoryFileSystem fs;
  const auto written = Write(fs, {Example(), {.dead = DeleteVector::Of(std::vector<uint32_t>{70'000})}});
  ASSERT_TRUE(written.ok());
  ByteBuffer& bytes = fs[kFile];
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= 1 << (bit % 8);
    Status found = ReadPuffinFooter(fs, kFile, written->info.footer_crc).status();
    for (const DeleteLogLocation& location : written->locations) {
      if (found.ok()) found = LoadDeleteLog(fs, kFile, location).status();
    }
    ASSERT_FALSE(found.ok()) << "bit " << bit;
    ASSERT_THAT(found.message(), HasSubstr("1.puffin: offset "));
    bytes[bit / 8] ^= 1 << (bit % 8);
  }
}

TEST(PuffinTest, EveryMissingByteIsDetected) {
  MemoryFileSystem fs;
  const auto written = Write(fs, {Example()});
  ASSERT_TRUE(written.ok());
  ByteBuffer& bytes = fs[kFile];
  while (!bytes.empty()) {
    bytes.pop_back();
    EXPECT_FALSE(ReadPuffinFooter(fs, kFile).ok());
  }
  EXPECT_THAT(LoadDeleteLog(fs, kFile, written->locations[0]).status().message(),
              HasSubstr("1.puffin: offset 4: deletion vector: "));
}

TEST(PuffinTest, ABlobIsHeldAgainstTheOtherAndTheCatalog) {
  MemoryFileSystem fs;
  const auto load = [&fs](const DeleteLogContents& contents, uint64_t cardinality, uint64_t settled_at) {
    (void)fs.Remove(kFile);
    auto location = Write(fs, {contents})->locations[0];
    location.cardinality = cardinality;
    location.settled_at = settled_at;
    return LoadDeleteLog(fs, kFile, location).status().message();
  };
  EXPECT_EQ(load(Example(), 5, 10), "");
  EXPECT_THAT(load(Example(), 6, 10), HasSubstr("offset 4: deletion vector: 5 positions, and the catalog says 6"));
  EXPECT_THAT(load(Example(), 5, 12), HasSubstr("offset 54: delete commits: commit 12 is settled"));
  DeleteLogContents contents = Example();
  contents.young[1].position = 8;
  EXPECT_THAT(load(contents, 5, 10), HasSubstr("row 8 is not dead"));
  contents.young[1].position = 5;
  EXPECT_THAT(load(contents, 5, 10), HasSubstr("row 5 died twice"));
}

// With the checksums put right, so that the form itself is what is checked.
TEST(PuffinTest, RefusesMalformedBlobs) {
  const auto vector = [](ByteBuffer body) {
    ByteBuffer blob = {0, 0, 0, static_cast<uint8_t>(body.size()), 0, 0, 0, 0};
    blob.insert(blob.begin() + 4, body.begin(), body.end());
    StoreLe<uint32_t>(blob.data() + 4 + body.size(), __builtin_bswap32(Crc32(body)));
    return DecodeDeletionVector(blob).status().message();
  };
  EXPECT_EQ(vector({0xd1, 0xd3, 0x39, 0x64, 0, 0, 0, 0, 0, 0, 0, 0}), "");
  EXPECT_THAT(vector({0xd1, 0xd3, 0x39, 0x65, 0, 0, 0, 0, 0, 0, 0, 0}), HasSubstr("magic"));
  EXPECT_THAT(vector({0xd1, 0xd3, 0x39, 0x64, 0, 0, 0, 0, 0, 0, 0, 0, 0}), HasSubstr("too many"));
  EXPECT_THAT(vector({0xd1, 0xd3, 0x39, 0x64, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}), HasSubstr("beyond 2^32"));
  EXPECT_THAT(vector({0xd1, 0xd3, 0x39, 0x64, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), HasSubstr("beyond 2^32"));
  EXPECT_THAT(vector({0xd1, 0xd3, 0x39, 0x64, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), HasSubstr("no header"));

  const auto commits = [](std::vector<uint8_t> body) {
    ByteBuffer blob = {'P', 'D', 'C', '1'};
    AppendBytes(blob, body);
    AppendLe<uint32_t>(blob, Crc32c(blob));
    return DecodeDeleteCommits(blob).status().message();
  };
  EXPECT_EQ(commits({0}), "");
  EXPECT_EQ(commits({1, 9, 1, 4, 0, 0, 0}), "");
  EXPECT_THAT(commits({}), HasSubstr("malformed header"));
  EXPECT_THAT(commits({2, 9, 1, 4, 0, 0, 0}), HasSubstr("malformed header"));
  EXPECT_THAT(commits({1, 0, 1, 4, 0, 0, 0}), HasSubstr("malformed run"));  // at commit 0
  EXPECT_THAT(commits({1, 9, 0, 4, 0, 0, 0}), HasSubstr("malformed run"));
  EXPECT_THAT(commits({1, 9, 2, 4, 0, 0, 0}), HasSubstr("malformed run"));
  EXPECT_THAT(commits({1, 9, 1, 4, 0, 0, 0, 0}), HasSubstr("1 bytes too many"));
  EXPECT_THAT(commits({1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 4, 0, 0, 0}),
              HasSubstr("malformed run"));
}

void PutFooter(MemoryFileSystem& fs, std::string_view payload, uint32_t flags = 0) {
  ByteBuffer& bytes = fs[kFile] = ByteBuffer{'P', 'F', 'A', '1', 7, 'P', 'F', 'A', '1'};
  AppendBytes(bytes, AsBytes(payload));
  AppendLe<uint32_t>(bytes, static_cast<uint32_t>(payload.size()));
  AppendLe<uint32_t>(bytes, flags);
  AppendBytes(bytes, AsBytes("PFA1"));
}

TEST(PuffinTest, ReadsFootersOfOthersAndRefusesMalformedOnes) {
  MemoryFileSystem fs;
  const std::string blob = R"("type":"x","fields":[1,2],"snapshot-id":3,"sequence-number":4,"offset":4)";
  PutFooter(fs, R"({"blobs":[{"new":null,"length":1,"compression-codec":"zstd",)" + blob + "}]}");
  const auto footer = ReadPuffinFooter(fs, kFile);
  ASSERT_TRUE(footer.ok()) << footer.status().message();
  EXPECT_EQ(footer->offset, 5u);
  EXPECT_THAT(footer->blobs[0].fields, ElementsAre(1, 2));
  EXPECT_EQ(footer->blobs[0].compression_codec, "zstd");
  EXPECT_THAT(footer->blobs[0].properties, IsEmpty());

  const auto error = [&fs](const std::string& payload) {
    PutFooter(fs, payload);
    return ReadPuffinFooter(fs, kFile).status().message();
  };
  EXPECT_THAT(error("nonsense"), HasSubstr("1.puffin: offset 5: Puffin footer: not the JSON"));
  EXPECT_THAT(error(R"({"blobs":{}})"), HasSubstr("not the JSON"));
  EXPECT_THAT(error(R"({"blobs":[]})"), HasSubstr("1 bytes before it belong to no blob"));
  EXPECT_THAT(error(R"({"blobs":[],"properties":{"a":1}})"), HasSubstr("not the JSON"));
  EXPECT_THAT(error(R"({"blobs":[{"length":2,)" + blob + "}]}"), HasSubstr("where offset 4 is next"));
  EXPECT_THAT(error(R"({"blobs":[{"length":-1,)" + blob + "}]}"), HasSubstr("malformed blob 0"));
  EXPECT_THAT(error(R"({"blobs":[{"length":18446744073709551615,)" + blob + "}]}"), HasSubstr("malformed blob 0"));
  EXPECT_THAT(error(R"({"blobs":[{"length":1}]})"), HasSubstr("malformed blob 0"));
  PutFooter(fs, R"({"blobs":[]})", 1);
  EXPECT_EQ(ReadPuffinFooter(fs, kFile).status().code(), StatusCode::kUnsupported);
}

TEST(PuffinTest, AFileIsSyncedWhenItIsFinishedAndEveryFailureIsTold) {
  for (uint64_t call = 1;; ++call) {
    FaultFileSystem fs(call);
    fs.FailAt(call, Fault::kShortWrite);
    const auto written = Write(fs, {Example()});
    if (written.ok()) {
      EXPECT_GT(call, 5u);
      fs.Heal();
      ASSERT_TRUE(fs.SyncDirectory(".").ok());
      fs.Crash(call);
      ExpectLoads(fs, written->locations[0], Example());
      fs.FailReadAt(1);
      EXPECT_THAT(LoadDeleteLog(fs, kFile, written->locations[0]).status().message(), HasSubstr("1.puffin"));
      return;
    }
    EXPECT_THAT(written.status().message(), HasSubstr(kFile));
  }
}

}  // namespace
}  // namespace petalite::store
