// The structures of a Parquet footer, as far as Petalite uses them (parquet-format 2.13,
// parquet.thrift). Field names are the format's in snake case; enums carry the format's numbers.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "codec/codec.h"

namespace petalite::parquet {

enum class PhysicalType : uint8_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kInt96 = 3,
  kFloat = 4,
  kDouble = 5,
  kByteArray = 6,
  kFixedLenByteArray = 7,
};

enum class Encoding : uint8_t {
  kPlain = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kBitPacked = 4,
  kDeltaBinaryPacked = 5,
  kDeltaLengthByteArray = 6,
  kDeltaByteArray = 7,
  kRleDictionary = 8,
  kByteStreamSplit = 9,
};

enum class Repetition : uint8_t { kRequired = 0, kOptional = 1, kRepeated = 2 };

enum class PageType : uint8_t { kDataPage = 0, kIndexPage = 1, kDictionaryPage = 2, kDataPageV2 = 3 };

// The union LogicalType, flattened. kUnknown is also what a number from the future becomes.
enum class LogicalKind : uint8_t {
  kNone = 0,
  kString = 1,
  kMap = 2,
  kList = 3,
  kEnum = 4,
  kDecimal = 5,
  kDate = 6,
  kTime = 7,
  kTimestamp = 8,
  kInteger = 10,
  kNull = 11,  // parquet.thrift's UNKNOWN: always null
  kJson = 12,
  kBson = 13,
  kUuid = 14,
  kFloat16 = 15,
  kVariant = 16,
  kGeometry = 17,
  kGeography = 18,
  kUnknown = 255,
};

struct LogicalAnnotation {
  LogicalKind kind = LogicalKind::kNone;
  int32_t scale = 0;      // decimal
  int32_t precision = 0;  // decimal
  uint8_t unit = 0;       // time and timestamp: 1 millis, 2 micros, 3 nanos (the union's field ids)
  bool utc = false;       // time and timestamp
  uint8_t bit_width = 0;  // integer
  bool is_signed = true;  // integer
};

// ConvertedType's numbers; -1 where there is none.
enum class Converted : int8_t {
  kNone = -1,
  kUtf8 = 0,
  kMap = 1,
  kMapKeyValue = 2,
  kList = 3,
  kEnum = 4,
  kDecimal = 5,
  kDate = 6,
  kTimeMillis = 7,
  kTimeMicros = 8,
  kTimestampMillis = 9,
  kTimestampMicros = 10,
  kUint8 = 11,
  kUint16 = 12,
  kUint32 = 13,
  kUint64 = 14,
  kInt8 = 15,
  kInt16 = 16,
  kInt32 = 17,
  kInt64 = 18,
  kJson = 19,
  kBson = 20,
  kInterval = 21,
};

struct SchemaElement {
  std::optional<PhysicalType> type;  // absent on groups
  int32_t type_length = 0;           // fixed-length byte arrays
  std::optional<Repetition> repetition;
  std::string name;
  int32_t num_children = 0;
  Converted converted = Converted::kNone;
  int32_t scale = 0;  // of converted decimals
  int32_t precision = 0;
  int32_t field_id = 0;  // 0: none
  LogicalAnnotation logical;
};

// Bounds are the PLAIN bytes of the physical value, without a length prefix.
struct Statistics {
  std::optional<std::string> legacy_max;  // fields 1 and 2
  std::optional<std::string> legacy_min;
  std::optional<int64_t> null_count;
  std::optional<int64_t> distinct_count;
  std::optional<std::string> max_value;
  std::optional<std::string> min_value;
  std::optional<bool> is_max_value_exact;
  std::optional<bool> is_min_value_exact;
};

struct ColumnMetadata {
  PhysicalType type = PhysicalType::kBoolean;
  std::vector<Encoding> encodings;
  std::vector<std::string> path;
  CodecId codec = CodecId::kUncompressed;
  int64_t num_values = 0;
  int64_t total_uncompressed_size = 0;
  int64_t total_compressed_size = 0;
  int64_t data_page_offset = 0;
  int64_t dictionary_page_offset = 0;  // 0: none given
  Statistics statistics;
  int64_t bloom_filter_offset = 0;  // ≤ 0: none
  int32_t bloom_filter_length = 0;  // 0: not given
  // From ColumnChunk:
  int64_t offset_index_offset = 0;  // ≤ 0: none
  int32_t offset_index_length = 0;
  int64_t column_index_offset = 0;  // ≤ 0: none
  int32_t column_index_length = 0;
  bool encrypted = false;  // crypto_metadata or encrypted_column_metadata present
  std::string file_path;   // another file: not supported
};

struct RowGroup {
  std::vector<ColumnMetadata> columns;
  int64_t total_byte_size = 0;
  int64_t num_rows = 0;
  int64_t total_compressed_size = 0;
};

struct FileMetadata {
  int32_t version = 0;
  std::vector<SchemaElement> schema;  // depth first, root first
  int64_t num_rows = 0;
  std::vector<RowGroup> row_groups;
  std::vector<std::pair<std::string, std::string>> key_value;
  std::string created_by;
  std::vector<bool> type_ordered;  // per leaf column: column_orders says TYPE_ORDER; empty: no column_orders
  bool encrypted = false;          // encryption_algorithm present in a plaintext footer
};

struct PageHeader {
  PageType type = PageType::kDataPage;
  int32_t uncompressed_size = 0;
  int32_t compressed_size = 0;
  std::optional<uint32_t> crc;
  int32_t num_values = 0;  // rows of flat columns, nulls included; entries of a dictionary
  Encoding encoding = Encoding::kPlain;
  // v1:
  Encoding definition_level_encoding = Encoding::kRle;
  Encoding repetition_level_encoding = Encoding::kRle;
  // v2:
  int32_t num_nulls = 0;
  int32_t num_rows = 0;
  int32_t definition_levels_byte_length = 0;
  int32_t repetition_levels_byte_length = 0;
  bool is_compressed = true;
};

struct PageLocation {
  int64_t offset = 0;           // of the page header
  int32_t compressed_size = 0;  // header included
  int64_t first_row_index = 0;  // within the row group
};

struct OffsetIndex {
  std::vector<PageLocation> pages;
};

enum class BoundaryOrder : uint8_t { kUnordered = 0, kAscending = 1, kDescending = 2 };

struct ColumnIndex {
  std::vector<bool> null_pages;
  std::vector<std::string> min_values;
  std::vector<std::string> max_values;
  BoundaryOrder boundary_order = BoundaryOrder::kUnordered;
  std::vector<int64_t> null_counts;  // empty: not given
};

struct BloomFilterHeader {
  int32_t num_bytes = 0;
  bool supported = true;  // block split, XXHASH, uncompressed
};

inline constexpr std::string_view kMagic = "PAR1";
inline constexpr std::string_view kEncryptedMagic = "PARE";

// Thrift compact protocol. Parsers take bytes that begin with the structure and report through
// `consumed`, where given, how many it took; they fail with kCorruption ("thrift: …", to which the
// caller adds file and offset), never read past the end, bound every allocation by the bytes there
// are, and skip fields they do not know.
Result<FileMetadata> ParseFileMetadata(Bytes bytes);
Result<PageHeader> ParsePageHeader(Bytes bytes, size_t* consumed);
Result<OffsetIndex> ParseOffsetIndex(Bytes bytes);
Result<ColumnIndex> ParseColumnIndex(Bytes bytes);
Result<BloomFilterHeader> ParseBloomFilterHeader(Bytes bytes, size_t* consumed);

// Append to `out`. They write LogicalType and ConvertedType, both kinds of statistics fields as
// given, and leave absent what is none.
void SerializeFileMetadata(const FileMetadata& metadata, ByteBuffer* out);
void SerializePageHeader(const PageHeader& header, ByteBuffer* out);
void SerializeOffsetIndex(const OffsetIndex& index, ByteBuffer* out);
void SerializeColumnIndex(const ColumnIndex& index, ByteBuffer* out);
void SerializeBloomFilterHeader(const BloomFilterHeader& header, ByteBuffer* out);

}  // namespace petalite::parquet
