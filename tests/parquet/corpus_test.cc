// The Parquet project's public corpus, against what pyarrow reads of it
// (tests/python/make_corpus_expectations.py).

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "parquet/read_column.h"
#include "parquet/value_json.h"

namespace petalite::parquet {
namespace {

using std::filesystem::path;

const path kCorpus = path(PETALITE_TEST_DATA) / "parquet-testing";

std::vector<std::string> CorpusFiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus / "expected")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The file's readable columns as {name: [type, values]}.
std::string Render(const FileReader& reader, size_t column) {
  const Type& type = reader.columns()[column].field.type;
  const auto values = ReadColumn(reader, column);
  if (!values.ok()) return values.status().message();
  std::string text = "[";
  for (const Value& value : *values)
    text += fmt::format("{}{}", text.size() == 1 ? "" : ",", ToJson(type, value));
  text.push_back(']');
  return text;
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, ReadsAsPyarrowReadsIt) {
  const auto reader = FileReader::Open(PosixFileSystem(), kCorpus / (GetParam() + ".parquet"));
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  std::ifstream file(kCorpus / "expected" / (GetParam() + ".json"));
  const auto expected = nlohmann::ordered_json::parse(file);
  size_t readable = 0;
  for (size_t i = 0; i < (*reader)->columns().size(); ++i) {
    const LeafColumn& leaf = (*reader)->columns()[i];
    if (!leaf.support.ok()) continue;
    ++readable;
    ASSERT_TRUE(expected.contains(leaf.field.name)) << leaf.field.name;
    const auto& column = expected[leaf.field.name];
    EXPECT_EQ(leaf.field.type.ToString(), column[0].get<std::string>()) << leaf.field.name;
    EXPECT_EQ(nlohmann::ordered_json::parse(Render(**reader, i)), column[1]) << leaf.field.name;
  }
  EXPECT_EQ(readable, expected.size());
}

INSTANTIATE_TEST_SUITE_P(Files, Corpus, testing::ValuesIn(CorpusFiles()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

// Opens a file and reads all of its columns; the first error.
Status ReadAll(const path& file) {
  ASSIGN_OR_RETURN(const auto reader, FileReader::Open(PosixFileSystem(), file));
  for (size_t i = 0; i < reader->columns().size(); ++i) RETURN_IF_ERROR(ReadColumn(*reader, i).status());
  return Status::Ok();
}

TEST(BadCorpus, IsRefusedAndSaysWhy) {
  const auto message = [](const char* name) { return ReadAll(kCorpus / name).message(); };
  EXPECT_THAT(message("bad/ARROW-GH-41317.parquet"), testing::HasSubstr("footer at offset 35530: thrift"));
  EXPECT_THAT(message("bad/ARROW-RS-GH-6229-LEVELS.parquet"), testing::HasSubstr("lies in a group"));
  EXPECT_THAT(message("bad/PARQUET-1481.parquet"), testing::HasSubstr("enumeration value"));
  EXPECT_THAT(message("bad/encrypt_columns_and_footer.parquet.encrypted"), testing::HasSubstr("encrypted"));
  EXPECT_THAT(message("bad/uniform_encryption.parquet.encrypted"), testing::HasSubstr("encrypted"));
  EXPECT_THAT(message("datapage_v1-corrupt-checksum.parquet"),
              testing::HasSubstr("column 'a': page at offset 4: page: its checksum is wrong"));
}

// Indices of width 0 without a run header: what an older reader could not read.
TEST(BadCorpus, IndicesOfWidthZeroNeedNoRuns) {
  EXPECT_EQ(ReadAll(kCorpus / "bad/ARROW-GH-43605.parquet").message(), "");
}

TEST(CorpusFilter, OfParquetJavaIsUsed) {
  const auto reader = FileReader::Open(PosixFileSystem(), kCorpus / "data_index_bloom_encoding_stats.parquet");
  ASSERT_TRUE(reader.ok());
  const auto filter = (*reader)->LoadFilter(0, 0);
  ASSERT_TRUE(filter.ok());
  ASSERT_NE(*filter, nullptr);
  const auto may_match = [&](const char* text) {
    const auto predicate = Predicate::Compare(PredicateKind::kEqual, Value(std::string(text)));
    return FilterMayMatch(predicate, (*reader)->columns()[0], (*filter)->view());
  };
  EXPECT_TRUE(may_match("Hello"));
  EXPECT_FALSE(may_match("Hello_Not_Exists"));
}

}  // namespace
}  // namespace petalite::parquet
