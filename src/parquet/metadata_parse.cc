// Thrift structures into metadata.h's. Field numbers are those of parquet.thrift.

#include <algorithm>

#include "parquet/metadata.h"
#include "parquet/thrift_reader.h"

namespace petalite::parquet {
namespace {

using Wire = ThriftReader::Wire;

// How many elements of a list to make room for before they are seen. A structure in the file is
// never much smaller than `bytes_each`, so a size that lies costs no more memory than the file has.
size_t Reservation(const ThriftReader& in, size_t count, size_t bytes_each) {
  return std::min(count, in.remaining() / bytes_each + 1);
}

// Enumerations that grow (encodings, codecs, page types) keep numbers they do not know.
template <typename E>
E GrowingEnum(ThriftReader& in, int32_t value) {
  if (value < 0 || value > 254) in.Fail("holds an enumeration value that cannot be");
  return static_cast<E>(value);
}

template <typename E>
E ClosedEnum(ThriftReader& in, int32_t value, E last) {
  if (value < 0 || value > static_cast<int32_t>(last)) {
    in.Fail("holds an enumeration value that does not exist");
    return E{};
  }
  return static_cast<E>(value);
}

// Which member of a union is set; 0 if none.
int UnionMember(ThriftReader& in) {
  int member = 0;
  for (ThriftStruct fields(in); fields.Next();) member = fields.id();
  return member;
}

void Require(ThriftReader& in, bool present, const char* failure) {
  if (!present) in.Fail(failure);
}

void ParseDecimal(ThriftReader& in, LogicalAnnotation* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() == 1) out->scale = fields.I32();
    if (fields.id() == 2) out->precision = fields.I32();
  }
}

void ParseTime(ThriftReader& in, LogicalAnnotation* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() == 1) out->utc = fields.Bool();
    if (fields.id() == 2) out->unit = static_cast<uint8_t>(std::clamp(UnionMember(fields.Struct()), 0, 255));
  }
}

void ParseInteger(ThriftReader& in, LogicalAnnotation* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() == 1) out->bit_width = static_cast<uint8_t>(fields.I8());
    if (fields.id() == 2) out->is_signed = fields.Bool();
  }
}

void ParseLogicalType(ThriftReader& in, LogicalAnnotation* out) {
  out->kind = LogicalKind::kUnknown;
  for (ThriftStruct fields(in); fields.Next();) {
    const int member = fields.id();
    const bool known = member >= 1 && member <= static_cast<int>(LogicalKind::kGeography) && member != 9;
    out->kind = known ? static_cast<LogicalKind>(member) : LogicalKind::kUnknown;
    switch (out->kind) {
      case LogicalKind::kDecimal:
        ParseDecimal(fields.Struct(), out);
        break;
      case LogicalKind::kTime:
      case LogicalKind::kTimestamp:
        ParseTime(fields.Struct(), out);
        break;
      case LogicalKind::kInteger:
        ParseInteger(fields.Struct(), out);
        break;
      default:
        break;
    }
  }
}

void ParseSchemaElement(ThriftReader& in, SchemaElement* out) {
  bool unknown_converted = false;
  for (ThriftStruct fields(in); fields.Next();) {
    switch (fields.id()) {
      case 1:
        out->type = ClosedEnum(in, fields.I32(), PhysicalType::kFixedLenByteArray);
        break;
      case 2:
        out->type_length = fields.I32();
        break;
      case 3:
        out->repetition = ClosedEnum(in, fields.I32(), Repetition::kRepeated);
        break;
      case 4:
        out->name = fields.Binary();
        break;
      case 5:
        out->num_children = fields.I32();
        break;
      case 6: {
        const int32_t value = fields.I32();
        unknown_converted = value < 0 || value > static_cast<int32_t>(Converted::kInterval);
        if (!unknown_converted) out->converted = static_cast<Converted>(value);
        break;
      }
      case 7:
        out->scale = fields.I32();
        break;
      case 8:
        out->precision = fields.I32();
        break;
      case 9:
        out->field_id = fields.I32();
        break;
      case 10:
        ParseLogicalType(fields.Struct(), &out->logical);
        break;
    }
  }
  if (unknown_converted && out->logical.kind == LogicalKind::kNone) out->logical.kind = LogicalKind::kUnknown;
}

void ParseStatistics(ThriftReader& in, Statistics* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    switch (fields.id()) {
      case 1:
        out->legacy_max = fields.Binary();
        break;
      case 2:
        out->legacy_min = fields.Binary();
        break;
      case 3:
        out->null_count = fields.I64();
        break;
      case 4:
        out->distinct_count = fields.I64();
        break;
      case 5:
        out->max_value = fields.Binary();
        break;
      case 6:
        out->min_value = fields.Binary();
        break;
      case 7:
        out->is_max_value_exact = fields.Bool();
        break;
      case 8:
        out->is_min_value_exact = fields.Bool();
        break;
    }
  }
}

void ParseColumnMetadata(ThriftReader& in, ColumnMetadata* out) {
  unsigned seen = 0;
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() > 0 && fields.id() < 16) seen |= 1u << fields.id();
    switch (fields.id()) {
      case 1:
        out->type = ClosedEnum(in, fields.I32(), PhysicalType::kFixedLenByteArray);
        break;
      case 2: {
        const size_t count = fields.ListOf(Wire::kI32);
        out->encodings.clear();
        out->encodings.reserve(Reservation(in, count, 1));
        for (size_t i = 0; i < count && in.ok(); ++i) out->encodings.push_back(GrowingEnum<Encoding>(in, in.I32()));
        break;
      }
      case 3: {
        const size_t count = fields.ListOf(Wire::kBinary);
        out->path.clear();
        out->path.reserve(Reservation(in, count, sizeof(std::string)));
        for (size_t i = 0; i < count && in.ok(); ++i) out->path.emplace_back(in.Binary());
        break;
      }
      case 4:
        out->codec = GrowingEnum<CodecId>(in, fields.I32());
        break;
      case 5:
        out->num_values = fields.I64();
        break;
      case 6:
        out->total_uncompressed_size = fields.I64();
        break;
      case 7:
        out->total_compressed_size = fields.I64();
        break;
      case 9:
        out->data_page_offset = fields.I64();
        break;
      case 11:
        out->dictionary_page_offset = fields.I64();
        break;
      case 12:
        ParseStatistics(fields.Struct(), &out->statistics);
        break;
      case 14:
        out->bloom_filter_offset = fields.I64();
        break;
      case 15:
        out->bloom_filter_length = fields.I32();
        break;
    }
  }
  constexpr unsigned kRequired = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 9;
  Require(in, (seen & kRequired) == kRequired, "lacks a required field of ColumnMetaData");
}

void ParseColumnChunk(ThriftReader& in, ColumnMetadata* out) {
  bool has_metadata = false;
  for (ThriftStruct fields(in); fields.Next();) {
    switch (fields.id()) {
      case 1:
        out->file_path = fields.Binary();
        break;
      case 3:
        ParseColumnMetadata(fields.Struct(), out);
        has_metadata = true;
        break;
      case 4:
        out->offset_index_offset = fields.I64();
        break;
      case 5:
        out->offset_index_length = fields.I32();
        break;
      case 6:
        out->column_index_offset = fields.I64();
        break;
      case 7:
        out->column_index_length = fields.I32();
        break;
      case 8:
      case 9:
        out->encrypted = true;
        break;
    }
  }
  Require(in, has_metadata || out->encrypted, "lacks the metadata of a column chunk");
}

void ParseRowGroup(ThriftReader& in, RowGroup* out) {
  bool has_columns = false;
  bool has_rows = false;
  for (ThriftStruct fields(in); fields.Next();) {
    switch (fields.id()) {
      case 1: {
        const size_t count = fields.ListOf(Wire::kStruct);
        has_columns = true;
        out->columns.clear();
        out->columns.reserve(Reservation(in, count, 32));
        for (size_t i = 0; i < count && in.ok(); ++i) ParseColumnChunk(in, &out->columns.emplace_back());
        break;
      }
      case 2:
        out->total_byte_size = fields.I64();
        break;
      case 3:
        out->num_rows = fields.I64();
        has_rows = true;
        break;
      case 6:
        out->total_compressed_size = fields.I64();
        break;
    }
  }
  Require(in, has_columns && has_rows, "lacks a required field of RowGroup");
}

void ParseKeyValue(ThriftReader& in, std::pair<std::string, std::string>* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() == 1) out->first = fields.Binary();
    if (fields.id() == 2) out->second = fields.Binary();
  }
}

// Parses a list of structures, one by one, into a vector.
template <typename T>
void ParseStructs(ThriftReader& in, size_t count, size_t bytes_each, std::vector<T>* out,
                  void (*parse)(ThriftReader&, T*)) {
  out->clear();
  out->reserve(Reservation(in, count, bytes_each));
  for (size_t i = 0; i < count && in.ok(); ++i) parse(in, &out->emplace_back());
}

void ParseFooter(ThriftReader& in, FileMetadata* out) {
  unsigned seen = 0;
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() > 0 && fields.id() < 16) seen |= 1u << fields.id();
    switch (fields.id()) {
      case 1:
        out->version = fields.I32();
        break;
      case 2:
        ParseStructs(in, fields.ListOf(Wire::kStruct), 4, &out->schema, ParseSchemaElement);
        break;
      case 3:
        out->num_rows = fields.I64();
        break;
      case 4:
        ParseStructs(in, fields.ListOf(Wire::kStruct), 8, &out->row_groups, ParseRowGroup);
        break;
      case 5:
        ParseStructs(in, fields.ListOf(Wire::kStruct), 4, &out->key_value, ParseKeyValue);
        break;
      case 6:
        out->created_by = fields.Binary();
        break;
      case 7: {
        const size_t count = fields.ListOf(Wire::kStruct);
        out->type_ordered.clear();
        for (size_t i = 0; i < count && in.ok(); ++i) out->type_ordered.push_back(UnionMember(in) == 1);
        break;
      }
      case 8:
        out->encrypted = true;
        break;
    }
  }
  constexpr unsigned kRequired = 1u << 2 | 1u << 3 | 1u << 4;
  Require(in, (seen & kRequired) == kRequired, "lacks a required field of FileMetaData");
}

void ParseDataPageV1(ThriftReader& in, PageHeader* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    switch (fields.id()) {
      case 1:
        out->num_values = fields.I32();
        break;
      case 2:
        out->encoding = GrowingEnum<Encoding>(in, fields.I32());
        break;
      case 3:
        out->definition_level_encoding = GrowingEnum<Encoding>(in, fields.I32());
        break;
      case 4:
        out->repetition_level_encoding = GrowingEnum<Encoding>(in, fields.I32());
        break;
    }
  }
}

void ParseDictionaryPage(ThriftReader& in, PageHeader* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() == 1) out->num_values = fields.I32();
    if (fields.id() == 2) out->encoding = GrowingEnum<Encoding>(in, fields.I32());
  }
}

void ParseDataPageV2(ThriftReader& in, PageHeader* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    switch (fields.id()) {
      case 1:
        out->num_values = fields.I32();
        break;
      case 2:
        out->num_nulls = fields.I32();
        break;
      case 3:
        out->num_rows = fields.I32();
        break;
      case 4:
        out->encoding = GrowingEnum<Encoding>(in, fields.I32());
        break;
      case 5:
        out->definition_levels_byte_length = fields.I32();
        break;
      case 6:
        out->repetition_levels_byte_length = fields.I32();
        break;
      case 7:
        out->is_compressed = fields.Bool();
        break;
    }
  }
}

// Whether the header has the part that its type asks for.
bool HasDetails(PageType type, unsigned seen) {
  switch (type) {
    case PageType::kDataPage:
      return (seen & 1u << 5) != 0;
    case PageType::kDictionaryPage:
      return (seen & 1u << 7) != 0;
    case PageType::kDataPageV2:
      return (seen & 1u << 8) != 0;
    default:
      return true;
  }
}

void ParsePage(ThriftReader& in, PageHeader* out) {
  unsigned seen = 0;
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() > 0 && fields.id() < 16) seen |= 1u << fields.id();
    switch (fields.id()) {
      case 1:
        out->type = GrowingEnum<PageType>(in, fields.I32());
        break;
      case 2:
        out->uncompressed_size = fields.I32();
        break;
      case 3:
        out->compressed_size = fields.I32();
        break;
      case 4:
        out->crc = static_cast<uint32_t>(fields.I32());
        break;
      case 5:
        ParseDataPageV1(fields.Struct(), out);
        break;
      case 7:
        ParseDictionaryPage(fields.Struct(), out);
        break;
      case 8:
        ParseDataPageV2(fields.Struct(), out);
        break;
    }
  }
  constexpr unsigned kRequired = 1u << 1 | 1u << 2 | 1u << 3;
  Require(in, (seen & kRequired) == kRequired && HasDetails(out->type, seen), "lacks a required field of PageHeader");
  const bool sizes_possible = out->uncompressed_size >= 0 && out->compressed_size >= 0 && out->num_values >= 0 &&
                              out->definition_levels_byte_length >= 0 && out->repetition_levels_byte_length >= 0;
  Require(in, sizes_possible, "holds a negative size");
}

void ParseLocation(ThriftReader& in, PageLocation* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() == 1) out->offset = fields.I64();
    if (fields.id() == 2) out->compressed_size = fields.I32();
    if (fields.id() == 3) out->first_row_index = fields.I64();
  }
}

void ParseBinaries(ThriftReader& in, size_t count, std::vector<std::string>* out) {
  out->clear();
  out->reserve(Reservation(in, count, 1));
  for (size_t i = 0; i < count && in.ok(); ++i) out->emplace_back(in.Binary());
}

void ParseIndex(ThriftReader& in, ColumnIndex* out) {
  for (ThriftStruct fields(in); fields.Next();) {
    switch (fields.id()) {
      case 1: {
        const size_t count = fields.ListOf(Wire::kTrue);
        out->null_pages.clear();
        for (size_t i = 0; i < count && in.ok(); ++i) out->null_pages.push_back(in.Bool());
        break;
      }
      case 2:
        ParseBinaries(in, fields.ListOf(Wire::kBinary), &out->min_values);
        break;
      case 3:
        ParseBinaries(in, fields.ListOf(Wire::kBinary), &out->max_values);
        break;
      case 4:
        out->boundary_order = ClosedEnum(in, fields.I32(), BoundaryOrder::kDescending);
        break;
      case 5: {
        const size_t count = fields.ListOf(Wire::kI64);
        out->null_counts.clear();
        for (size_t i = 0; i < count && in.ok(); ++i) out->null_counts.push_back(in.I64());
        break;
      }
    }
  }
}

void ParseFilterHeader(ThriftReader& in, BloomFilterHeader* out) {
  unsigned supported_parts = 0;
  for (ThriftStruct fields(in); fields.Next();) {
    if (fields.id() == 1) out->num_bytes = fields.I32();
    // Algorithm, hash and compression are unions with one known member each, the first.
    if (fields.id() >= 2 && fields.id() <= 4 && UnionMember(fields.Struct()) == 1) {
      supported_parts |= 1u << fields.id();
    }
  }
  out->supported = supported_parts == (1u << 2 | 1u << 3 | 1u << 4);
}

template <typename T>
Result<T> Parse(Bytes bytes, size_t* consumed, void (*parse)(ThriftReader&, T*)) {
  ThriftReader in(bytes);
  T value;
  parse(in, &value);
  if (!in.ok()) return in.status();
  if (consumed != nullptr) *consumed = in.position();
  return value;
}

}  // namespace

Result<FileMetadata> ParseFileMetadata(Bytes bytes) { return Parse(bytes, nullptr, ParseFooter); }
Result<PageHeader> ParsePageHeader(Bytes bytes, size_t* consumed) { return Parse(bytes, consumed, ParsePage); }
Result<OffsetIndex> ParseOffsetIndex(Bytes bytes) {
  return Parse<OffsetIndex>(bytes, nullptr, [](ThriftReader& in, OffsetIndex* out) {
    for (ThriftStruct fields(in); fields.Next();) {
      if (fields.id() == 1) ParseStructs(in, fields.ListOf(Wire::kStruct), 4, &out->pages, ParseLocation);
    }
  });
}
Result<ColumnIndex> ParseColumnIndex(Bytes bytes) { return Parse(bytes, nullptr, ParseIndex); }
Result<BloomFilterHeader> ParseBloomFilterHeader(Bytes bytes, size_t* consumed) {
  return Parse(bytes, consumed, ParseFilterHeader);
}

}  // namespace petalite::parquet
