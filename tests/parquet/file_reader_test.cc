#include <gmock/gmock.h>

#include "base/checksum.h"
#include "memory_file_system.h"
#include "parquet/read_column.h"
#include "parquet/writer.h"

namespace petalite::parquet {
namespace {

using testing::HasSubstr;

constexpr size_t kRows = 1000;

// A file with one column "n" of the numbers 0…999, nullable, in pages of 64 and groups of 512.
class FileReaderTest : public testing::Test {
 protected:
  WrittenFile Write(const Type& type = Type::Of(TypeId::kInt64)) {
    std::vector<int64_t> numbers(kRows);
    for (size_t i = 0; i < kRows; ++i) numbers[i] = static_cast<int64_t>(i);
    const ColumnView view{.values = numbers.data(), .size = kRows};
    WriterOptions options{.columns = {{}}, .page_rows = 64, .row_group_rows = 512};
    options.columns[0].encoding = EncodingChoice::kPlain;
    auto writer = FileWriter::Create(files_, "f", Schema{{{"n", type}}}, options);
    CHECK(writer.ok());
    CHECK((*writer)->Append({&view, 1}, kRows).ok());
    CHECK((*writer)->AddSection("keys", AsBytes("section bytes")).ok());
    const auto written = (*writer)->Finish();
    CHECK(written.ok());
    return *written;
  }
  std::shared_ptr<const FileReader> Open(const ReaderOptions& options = {}) {
    auto reader = FileReader::Open(files_, "f", options);
    CHECK(reader.ok());
    return *reader;
  }
  std::string OpenError(const ReaderOptions& options = {}) {
    return FileReader::Open(files_, "f", options).status().message();
  }

  // Puts another footer at the file's end.
  void ReplaceFooter(const WrittenFile& written, const FileMetadata& metadata) {
    ByteBuffer& file = files_["f"];
    file.resize(written.footer_offset);
    SerializeFileMetadata(metadata, &file);
    AppendLe(file, static_cast<uint32_t>(file.size() - written.footer_offset));
    AppendBytes(file, AsBytes(kMagic));
  }

  MemoryFileSystem files_;
};

void ExpectCountingUp(const FileReader& reader) {
  const auto values = ReadColumn(reader, 0);
  ASSERT_TRUE(values.ok()) << values.status().message();
  ASSERT_EQ(values->size(), kRows);
  for (size_t i = 0; i < kRows; ++i) ASSERT_EQ((*values)[i], Value(static_cast<int64_t>(i)));
}

TEST_F(FileReaderTest, ReadsWhatTheWriterWrote) {
  const WrittenFile written = Write();
  const auto reader = Open({.footer_crc = written.footer_crc});
  EXPECT_EQ(reader->row_groups(), 2u);
  EXPECT_EQ(reader->rows(1), kRows - 512);
  ExpectCountingUp(*reader);
  const ZoneMap zone = reader->RowGroupZone(1, 0);
  EXPECT_EQ(zone.min, Value(int64_t{512}));
  EXPECT_EQ(zone.max, Value(int64_t{999}));
  EXPECT_TRUE(zone.min_exact);
  const auto filter = reader->LoadFilter(0, 0);
  ASSERT_TRUE(filter.ok());
  EXPECT_NE(*filter, nullptr);
}

TEST_F(FileReaderTest, FindsThePageOfARow) {
  Write();
  const auto pages = Open()->LoadPages(0, 0);
  ASSERT_TRUE(pages.ok());
  ASSERT_EQ((*pages)->locations.size(), 8u);
  ASSERT_EQ((*pages)->zones.size(), 8u);
  EXPECT_EQ((*pages)->header_crcs.size(), 8u);
  EXPECT_EQ((*pages)->zones[3].min, Value(int64_t{192}));
  EXPECT_EQ((*pages)->PageOf(0), 0u);
  EXPECT_EQ((*pages)->PageOf(63), 0u);
  EXPECT_EQ((*pages)->PageOf(64), 1u);
  EXPECT_EQ((*pages)->PageOf(511), 7u);
}

TEST_F(FileReaderTest, ChecksTheFooterWhereItsChecksumIsKnown) {
  const WrittenFile written = Write();
  EXPECT_THAT(OpenError({.footer_crc = written.footer_crc + 1}), HasSubstr("f: footer at offset"));
}

TEST_F(FileReaderTest, LoadsSectionsAndChecksThem) {
  Write();
  const auto section = Open()->LoadSection("keys");
  ASSERT_TRUE(section.ok()) << section.status().message();
  EXPECT_EQ(AsText(*section), "section bytes");
  EXPECT_EQ(Open()->LoadSection("other").status().code(), StatusCode::kNotFound);
  ByteBuffer& file = files_["f"];
  const std::string_view bytes = "section bytes";
  *std::search(file.begin(), file.end(), bytes.begin(), bytes.end()) ^= 1;
  EXPECT_THAT(Open()->LoadSection("keys").status().message(), HasSubstr("checksum"));
}

TEST_F(FileReaderTest, RefusesSectionsOutsideTheFile) {
  const WrittenFile written = Write();
  FileMetadata metadata = Open()->metadata();
  for (const char* place : {"4 99999999 0", "99999999 4 0", "x", "", "4 4", "4 4 zz", "18446744073709551615 4 0"}) {
    metadata.key_value = {{"petalite.keys", place}};
    ReplaceFooter(written, metadata);
    EXPECT_EQ(Open()->LoadSection("keys").status().code(), StatusCode::kCorruption) << place;
  }
}

TEST_F(FileReaderTest, NamesAPageWhoseHeaderOrBodyChanged) {
  Write();
  const auto pages = Open()->LoadPages(0, 0);
  const auto offset = static_cast<size_t>((*pages)->locations[2].offset);
  const std::string place = fmt::format("f: column 'n': page at offset {}", offset);
  files_["f"][offset + 1] ^= 2;
  EXPECT_THAT(ReadColumn(*Open(), 0).status().message(), HasSubstr(place + ": page header"));
  files_["f"][offset + 1] ^= 2;
  files_["f"][offset + static_cast<size_t>((*pages)->locations[2].compressed_size) - 1] ^= 2;
  EXPECT_THAT(ReadColumn(*Open(), 0).status().message(), HasSubstr(place + ": page: its checksum is wrong"));
}

TEST_F(FileReaderTest, WalksOverHeadersWhereTheOffsetIndexIsOfNoUse) {
  const WrittenFile written = Write();
  FileMetadata metadata = Open()->metadata();
  ColumnMetadata& chunk = metadata.row_groups[0].columns[0];
  const int64_t index_offset = chunk.offset_index_offset;
  chunk.offset_index_offset = 0;
  ReplaceFooter(written, metadata);
  ExpectCountingUp(*Open());
  chunk.offset_index_offset = index_offset;
  ReplaceFooter(written, metadata);
  ExpectCountingUp(*Open());
  files_["f"][static_cast<size_t>(index_offset) + 4] ^= 0x10;
  ExpectCountingUp(*Open());
  EXPECT_EQ((*Open()->LoadPages(0, 0))->locations.size(), 8u);
}

TEST_F(FileReaderTest, IgnoresAFilterAboutWhichThereIsDoubt) {
  const WrittenFile written = Write();
  const FileMetadata metadata = Open()->metadata();
  const auto filter_with = [&](int64_t offset, int32_t length) {
    FileMetadata changed = metadata;
    changed.key_value.clear();  // without Petalite's checksums
    changed.row_groups[0].columns[0].bloom_filter_offset = offset;
    changed.row_groups[0].columns[0].bloom_filter_length = length;
    ReplaceFooter(written, changed);
    const auto filter = Open()->LoadFilter(0, 0);
    CHECK(filter.ok());
    return *filter;
  };
  const int64_t offset = metadata.row_groups[0].columns[0].bloom_filter_offset;
  const int32_t length = metadata.row_groups[0].columns[0].bloom_filter_length;
  EXPECT_NE(filter_with(offset, length), nullptr);
  EXPECT_NE(filter_with(offset, 0), nullptr) << "the length may be absent";
  EXPECT_EQ(filter_with(offset, length + 1), nullptr);
  EXPECT_EQ(filter_with(offset, length - 1), nullptr);
  EXPECT_EQ(filter_with(offset + 1, length), nullptr);
  EXPECT_EQ(filter_with(0, length), nullptr);
  EXPECT_EQ(filter_with(-4, length), nullptr);
  EXPECT_EQ(filter_with(int64_t{1} << 40, length), nullptr);
  EXPECT_EQ(filter_with(4, INT32_MAX), nullptr);
}

TEST_F(FileReaderTest, IgnoresAFilterWhoseChecksumIsWrong) {
  Write();
  const auto offset = static_cast<size_t>(Open()->metadata().row_groups[0].columns[0].bloom_filter_offset);
  files_["f"][offset + 30] ^= 1;
  const auto filter = Open()->LoadFilter(0, 0);
  ASSERT_TRUE(filter.ok());
  EXPECT_EQ(*filter, nullptr);
}

TEST_F(FileReaderTest, DeliversSecondsWhereTheSchemaAsksForThem) {
  Write(Type::Timestamp(TimeUnit::kSecond));
  EXPECT_EQ(Open()->columns()[0].field.type, Type::Timestamp(TimeUnit::kMilli));
  ReaderOptions options;
  options.schema = Schema{{{"n", Type::Timestamp(TimeUnit::kSecond)}}};
  ExpectCountingUp(*Open(options));
  EXPECT_EQ(Open(options)->RowGroupZone(1, 0).max, Value(int64_t{999}));
  const auto filter = Open(options)->LoadFilter(0, 0);
  const auto seventh = Predicate::Compare(PredicateKind::kEqual, Value(int64_t{7}));
  EXPECT_TRUE(FilterMayMatch(seventh, Open(options)->columns()[0], (*filter)->view()));
}

TEST_F(FileReaderTest, RefusesASchemaOfOtherTypes) {
  Write();
  ReaderOptions options;
  options.schema = Schema{{{"n", Type::Of(TypeId::kInt32)}}};
  EXPECT_THAT(OpenError(options), HasSubstr("column 'n' is expected to be int32, the file has int64"));
  options.schema = Schema{};
  EXPECT_THAT(OpenError(options), HasSubstr("0 columns expected, the file has 1"));
}

TEST_F(FileReaderTest, RefusesWhatIsNoParquetFile) {
  EXPECT_EQ(FileReader::Open(files_, "none").status().code(), StatusCode::kNotFound);
  files_["f"] = {};
  EXPECT_THAT(OpenError(), HasSubstr("f: not a Parquet file: 0 bytes"));
  files_["f"] = ByteBuffer(100, 'x');
  EXPECT_THAT(OpenError(), HasSubstr("does not end in PAR1"));
  AppendLe(files_["f"], uint32_t{1000});
  AppendBytes(files_["f"], AsBytes("PAR1"));
  EXPECT_THAT(OpenError(), HasSubstr("1000 bytes of metadata in a file of 108"));
}

TEST_F(FileReaderTest, RefusesEncryptedFilesAndSaysSo) {
  const WrittenFile written = Write();
  FileMetadata metadata = Open()->metadata();
  files_["f"].back() = 'E';
  EXPECT_THAT(OpenError(), HasSubstr("encrypted"));
  metadata.row_groups[0].columns[0].file_path = "elsewhere.parquet";
  ReplaceFooter(written, metadata);
  EXPECT_THAT(OpenError(), HasSubstr("column 'n' lies in another file, elsewhere.parquet"));
}

TEST_F(FileReaderTest, RefusesAFooterThatContradictsItself) {
  const WrittenFile written = Write();
  const FileMetadata metadata = Open()->metadata();
  FileMetadata changed = metadata;
  changed.row_groups[0].columns.clear();
  ReplaceFooter(written, changed);
  EXPECT_THAT(OpenError(), HasSubstr("row group 0 has 0 columns, the schema 1"));
  changed = metadata;
  changed.row_groups[1].columns[0].type = PhysicalType::kInt32;
  ReplaceFooter(written, changed);
  EXPECT_THAT(OpenError(), HasSubstr("physical type"));
  changed = metadata;
  changed.row_groups[1].columns[0].num_values = 3;
  ReplaceFooter(written, changed);
  EXPECT_THAT(Open()->LoadPages(1, 0).status().message(), HasSubstr("3 values in a row group of 488 rows"));
  changed = metadata;
  changed.row_groups[1].columns[0].total_compressed_size = int64_t{1} << 40;
  ReplaceFooter(written, changed);
  EXPECT_EQ(Open()->LoadPages(1, 0).status().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace petalite::parquet
