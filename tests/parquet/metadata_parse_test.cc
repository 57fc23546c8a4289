#include <gmock/gmock.h>

#include "parquet/metadata.h"
#include "parquet/thrift_reader.h"

namespace petalite::parquet {
namespace {

// A footer with every structure in it.
FileMetadata Example() {
  FileMetadata file;
  file.version = 1;
  file.num_rows = 7;
  file.created_by = "petalite test";
  file.type_ordered = {true};
  file.key_value = {{"key", "value"}, {"", ""}};
  file.schema = {{.name = "root", .num_children = 1},
                 {.type = PhysicalType::kInt64,
                  .repetition = Repetition::kOptional,
                  .name = "t",
                  .converted = Converted::kTimestampMicros,
                  .field_id = 5,
                  .logical = {.kind = LogicalKind::kTimestamp, .unit = 2}}};
  ColumnMetadata chunk;
  chunk.type = PhysicalType::kInt64;
  chunk.encodings = {Encoding::kPlain, Encoding::kRle};
  chunk.path = {"t"};
  chunk.codec = CodecId::kZstd;
  chunk.num_values = 7;
  chunk.total_uncompressed_size = 100;
  chunk.total_compressed_size = 90;
  chunk.data_page_offset = 4;
  chunk.statistics.null_count = 2;
  chunk.statistics.min_value = "12345678";
  chunk.statistics.max_value = "22345678";
  chunk.statistics.is_min_value_exact = true;
  chunk.bloom_filter_offset = int64_t{1} << 40;
  chunk.bloom_filter_length = 47;
  chunk.offset_index_offset = 94;
  chunk.offset_index_length = 10;
  file.row_groups = {{.columns = {chunk}, .total_byte_size = 100, .num_rows = 7}};
  return file;
}

ByteBuffer Serialized(const FileMetadata& file) {
  ByteBuffer bytes;
  SerializeFileMetadata(file, &bytes);
  return bytes;
}

TEST(ParseFileMetadata, ReadsWhatTheWriterWrites) {
  const auto parsed = ParseFileMetadata(Serialized(Example()));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->num_rows, 7);
  EXPECT_EQ(parsed->created_by, "petalite test");
  EXPECT_EQ(parsed->key_value, Example().key_value);
  EXPECT_EQ(parsed->type_ordered, std::vector<bool>{true});
  ASSERT_EQ(parsed->schema.size(), 2u);
  EXPECT_EQ(parsed->schema[1].logical.kind, LogicalKind::kTimestamp);
  EXPECT_EQ(parsed->schema[1].logical.unit, 2);
  EXPECT_EQ(parsed->schema[1].field_id, 5);
  const ColumnMetadata& chunk = parsed->row_groups.at(0).columns.at(0);
  EXPECT_EQ(chunk.codec, CodecId::kZstd);
  EXPECT_EQ(chunk.bloom_filter_offset, int64_t{1} << 40);
  EXPECT_EQ(chunk.statistics.max_value, "22345678");
  EXPECT_EQ(chunk.statistics.is_min_value_exact, true);
  EXPECT_EQ(chunk.statistics.is_max_value_exact, std::nullopt);
  EXPECT_EQ(chunk.statistics.legacy_min, std::nullopt);
}

TEST(ParseFileMetadata, RefusesEveryTruncation) {
  const ByteBuffer bytes = Serialized(Example());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto parsed = ParseFileMetadata(Bytes(bytes).first(size));
    EXPECT_EQ(parsed.status().code(), StatusCode::kCorruption) << size;
  }
}

TEST(ParseFileMetadata, NamesAMissingField) {
  const ByteBuffer nothing = {0};
  EXPECT_THAT(ParseFileMetadata(nothing).status().message(), testing::HasSubstr("required field of FileMetaData"));
}

// Field 9 of a page header, which nobody knows: a structure with one of every type in it.
TEST(ParsePageHeader, SkipsFieldsThatItDoesNotKnow) {
  const ByteBuffer bytes = {0x15, 0x04,                                // 1: i32 2, a dictionary page
                            0x15, 0x14, 0x15, 0x16,                    // 2, 3: i32 10, 11
                            0x4c, 0x15, 0x06, 0x15, 0x00,              // 7: {1: i32 3, 2: i32 0 …
                            0x12, 0x00,                                //     3: false}
                            0x2c,                                      // 9: {
                            0x11, 0x12, 0x13, 0x7f,                    //   true, false, byte
                            0x14, 0x02, 0x16, 0x80, 0x01,              //   i16, i64
                            0x17, 1,    2,    3,    4,    5, 6, 7, 8,  //   double
                            0x18, 0x02, 'a',  'b',                     //   binary
                            0x19, 0x21, 0x01, 0x02,                    //   list of two bools
                            0x1a, 0x15, 0x02,                          //   set of one i32
                            0x1b, 0x01, 0x58, 0x02, 0x00,              //   map of one i32 to an empty string
                            0x1b, 0x00,                                //   empty map
                            0x1c, 0x00,                                //   empty structure
                            0x05, 0x80, 0x02, 0x02,                    //   id 128 in the long form: i32
                            0x00, 0x00};
  size_t consumed = 0;
  const auto header = ParsePageHeader(bytes, &consumed);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(consumed, bytes.size());
  EXPECT_EQ(header->type, PageType::kDictionaryPage);
  EXPECT_EQ(header->compressed_size, 11);
  EXPECT_EQ(header->num_values, 3);
}

TEST(ParsePageHeader, AbsentIsCompressedMeansCompressed) {
  const ByteBuffer bytes = {0x15, 0x06, 0x15, 0x00, 0x15, 0x00, 0x5c, 0x15, 0x02, 0x00, 0x00};
  const auto header = ParsePageHeader(bytes, nullptr);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_TRUE(header->is_compressed);
}

TEST(ParsePageHeader, RefusesNegativeSizes) {
  const ByteBuffer bytes = {0x15, 0x06, 0x15, 0x01, 0x15, 0x00, 0x5c, 0x15, 0x02, 0x00, 0x00};
  EXPECT_THAT(ParsePageHeader(bytes, nullptr).status().message(), testing::HasSubstr("negative"));
}

TEST(ParsePageHeader, AsksForThePartOfItsType) {
  const ByteBuffer bytes = {0x15, 0x06, 0x15, 0x00, 0x15, 0x00, 0x00};
  EXPECT_FALSE(ParsePageHeader(bytes, nullptr).ok());
}

TEST(ThriftReader, RefusesBottomlessNesting) {
  const ByteBuffer structs(100'000, 0x1c);
  EXPECT_THAT(ParseFileMetadata(structs).status().message(), testing::HasSubstr("unexpected type"));
  ThriftReader nested{Bytes(structs)};
  nested.Skip(ThriftReader::Wire::kStruct);
  EXPECT_THAT(nested.status().message(), testing::HasSubstr("nested too deeply"));
}

// A list says that it has 2^31 row groups, or strings, in a handful of bytes.
TEST(ThriftReader, RefusesListsAndStringsLargerThanItsBytes) {
  const ByteBuffer list = {0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07};
  EXPECT_THAT(ParseFileMetadata(list).status().message(), testing::HasSubstr("list longer"));
  const ByteBuffer string = {0x68, 0xff, 0xff, 0xff, 0xff, 0x07};
  EXPECT_THAT(ParseFileMetadata(string).status().message(), testing::HasSubstr("string longer"));
}

TEST(ThriftReader, ReadsNumbersToTheirLimits) {
  ByteBuffer bytes;
  const std::vector<uint64_t> numbers = {0, 1, 127, 128, uint64_t{1} << 35, ~uint64_t{0}};
  for (const uint64_t number : numbers) AppendVarint(bytes, number);
  ThriftReader in{Bytes(bytes)};
  for (const uint64_t number : numbers) EXPECT_EQ(in.Varint(), number);
  EXPECT_TRUE(in.ok());
  const ByteBuffer too_long(11, 0xff);
  ThriftReader endless{Bytes(too_long)};
  EXPECT_EQ(endless.Varint(), 0u);
  EXPECT_FALSE(endless.ok());
}

TEST(ThriftReader, RefusesNumbersBeyond32BitsWhereTheFormatHas32) {
  ByteBuffer bytes;
  AppendVarint(bytes, uint64_t{1} << 33);
  ThriftReader in{Bytes(bytes)};
  EXPECT_EQ(in.I32(), 0);
  EXPECT_THAT(in.status().message(), testing::HasSubstr("32 bits"));
}

// The example of PARQUET.md's filter headers, of 32 bytes of bits.
TEST(ParseBloomFilterHeader, ReadsTheFormatsExample) {
  ByteBuffer bytes = {0x15, 0x40, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x1c, 0x1c, 0x00, 0x00, 0x00};
  size_t consumed = 0;
  const auto header = ParseBloomFilterHeader(bytes, &consumed);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(consumed, bytes.size());
  EXPECT_EQ(header->num_bytes, 32);
  EXPECT_TRUE(header->supported);
  bytes[7] = 0x2c;  // another hash
  EXPECT_FALSE(ParseBloomFilterHeader(bytes, nullptr)->supported);
}

TEST(ParseIndexes, ReadWhatTheWriterWrites) {
  ByteBuffer bytes;
  SerializeOffsetIndex({.pages = {{4, 100, 0}, {104, 50, 20}}}, &bytes);
  const auto offsets = ParseOffsetIndex(bytes);
  ASSERT_TRUE(offsets.ok());
  ASSERT_EQ(offsets->pages.size(), 2u);
  EXPECT_EQ(offsets->pages[1].offset, 104);
  EXPECT_EQ(offsets->pages[1].compressed_size, 50);
  EXPECT_EQ(offsets->pages[1].first_row_index, 20);
  bytes.clear();
  SerializeColumnIndex({.null_pages = {false, true},
                        .min_values = {"a", ""},
                        .max_values = {"b", ""},
                        .boundary_order = BoundaryOrder::kAscending,
                        .null_counts = {0, 20}},
                       &bytes);
  const auto columns = ParseColumnIndex(bytes);
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(columns->null_pages, (std::vector<bool>{false, true}));
  EXPECT_EQ(columns->max_values, (std::vector<std::string>{"b", ""}));
  EXPECT_EQ(columns->null_counts, (std::vector<int64_t>{0, 20}));
  EXPECT_EQ(columns->boundary_order, BoundaryOrder::kAscending);
}

}  // namespace
}  // namespace petalite::parquet
