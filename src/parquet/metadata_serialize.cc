#include <limits>

#include "parquet/metadata.h"
#include "parquet/thrift_writer.h"

namespace petalite::parquet {
namespace {

using Element = ThriftWriter::ElementType;

template <typename Enum>
int32_t Number(Enum value) {
  return static_cast<int32_t>(value);
}

void WriteTimeUnit(int16_t id, uint8_t unit, ThriftWriter* w) {
  w->BeginStruct(id);
  w->EmptyStruct(unit);
  w->EndStruct();
}

// The union LogicalType, in a field of its parent.
void WriteLogical(int16_t id, const LogicalAnnotation& logical, ThriftWriter* w) {
  if (logical.kind == LogicalKind::kNone || logical.kind == LogicalKind::kUnknown) return;
  w->BeginStruct(id);
  w->BeginStruct(static_cast<int16_t>(logical.kind));
  switch (logical.kind) {
    case LogicalKind::kDecimal:
      w->I32(1, logical.scale);
      w->I32(2, logical.precision);
      break;
    case LogicalKind::kTime:
    case LogicalKind::kTimestamp:
      w->Bool(1, logical.utc);
      WriteTimeUnit(2, logical.unit, w);
      break;
    case LogicalKind::kInteger:
      w->I8(1, static_cast<int8_t>(logical.bit_width));
      w->Bool(2, logical.is_signed);
      break;
    default:
      break;  // the choice says it all
  }
  w->EndStruct();
  w->EndStruct();
}

void WriteSchemaElement(const SchemaElement& element, ThriftWriter* w) {
  w->BeginElementStruct();
  if (element.type) w->I32(1, Number(*element.type));
  if (element.type_length != 0) w->I32(2, element.type_length);
  if (element.repetition) w->I32(3, Number(*element.repetition));
  w->Binary(4, element.name);
  if (!element.type) w->I32(5, element.num_children);
  if (element.converted != Converted::kNone) w->I32(6, Number(element.converted));
  if (element.converted == Converted::kDecimal) {
    w->I32(7, element.scale);
    w->I32(8, element.precision);
  }
  if (element.field_id != 0) w->I32(9, element.field_id);
  WriteLogical(10, element.logical, w);
  w->EndStruct();
}

void WriteStatistics(int16_t id, const Statistics& statistics, ThriftWriter* w) {
  w->BeginStruct(id);
  if (statistics.legacy_max) w->Binary(1, *statistics.legacy_max);
  if (statistics.legacy_min) w->Binary(2, *statistics.legacy_min);
  if (statistics.null_count) w->I64(3, *statistics.null_count);
  if (statistics.distinct_count) w->I64(4, *statistics.distinct_count);
  if (statistics.max_value) w->Binary(5, *statistics.max_value);
  if (statistics.min_value) w->Binary(6, *statistics.min_value);
  if (statistics.is_max_value_exact) w->Bool(7, *statistics.is_max_value_exact);
  if (statistics.is_min_value_exact) w->Bool(8, *statistics.is_min_value_exact);
  w->EndStruct();
}

void WriteColumnMetadata(int16_t id, const ColumnMetadata& column, ThriftWriter* w) {
  w->BeginStruct(id);
  w->I32(1, Number(column.type));
  w->BeginList(2, Element::kI32, column.encodings.size());
  for (const Encoding encoding : column.encodings) w->ElementI32(Number(encoding));
  w->BeginList(3, Element::kBinary, column.path.size());
  for (const std::string& name : column.path) w->ElementBinary(name);
  w->I32(4, Number(column.codec));
  w->I64(5, column.num_values);
  w->I64(6, column.total_uncompressed_size);
  w->I64(7, column.total_compressed_size);
  w->I64(9, column.data_page_offset);
  if (column.dictionary_page_offset != 0) w->I64(11, column.dictionary_page_offset);
  WriteStatistics(12, column.statistics, w);
  if (column.bloom_filter_offset > 0) {
    w->I64(14, column.bloom_filter_offset);
    if (column.bloom_filter_length > 0) w->I32(15, column.bloom_filter_length);
  }
  w->EndStruct();
}

void WriteColumnChunk(const ColumnMetadata& column, ThriftWriter* w) {
  w->BeginElementStruct();
  if (!column.file_path.empty()) w->Binary(1, column.file_path);
  w->I64(2, 0);  // file_offset: deprecated, to be 0
  WriteColumnMetadata(3, column, w);
  if (column.offset_index_offset > 0) {
    w->I64(4, column.offset_index_offset);
    w->I32(5, column.offset_index_length);
  }
  if (column.column_index_offset > 0) {
    w->I64(6, column.column_index_offset);
    w->I32(7, column.column_index_length);
  }
  w->EndStruct();
}

void WriteRowGroup(const RowGroup& group, size_t ordinal, ThriftWriter* w) {
  w->BeginElementStruct();
  w->BeginList(1, Element::kStruct, group.columns.size());
  for (const ColumnMetadata& column : group.columns) WriteColumnChunk(column, w);
  w->I64(2, group.total_byte_size);
  w->I64(3, group.num_rows);
  if (!group.columns.empty()) {
    const ColumnMetadata& first = group.columns.front();
    w->I64(5, first.dictionary_page_offset != 0 ? first.dictionary_page_offset : first.data_page_offset);
  }
  w->I64(6, group.total_compressed_size);
  if (ordinal <= size_t{std::numeric_limits<int16_t>::max()}) w->I16(7, static_cast<int16_t>(ordinal));
  w->EndStruct();
}

}  // namespace

void SerializeFileMetadata(const FileMetadata& metadata, ByteBuffer* out) {
  ThriftWriter w(out);
  w.I32(1, metadata.version);
  w.BeginList(2, Element::kStruct, metadata.schema.size());
  for (const SchemaElement& element : metadata.schema) WriteSchemaElement(element, &w);
  w.I64(3, metadata.num_rows);
  w.BeginList(4, Element::kStruct, metadata.row_groups.size());
  for (size_t i = 0; i < metadata.row_groups.size(); ++i) WriteRowGroup(metadata.row_groups[i], i, &w);
  if (!metadata.key_value.empty()) {
    w.BeginList(5, Element::kStruct, metadata.key_value.size());
    for (const auto& [key, value] : metadata.key_value) {
      w.BeginElementStruct();
      w.Binary(1, key);
      w.Binary(2, value);
      w.EndStruct();
    }
  }
  if (!metadata.created_by.empty()) w.Binary(6, metadata.created_by);
  if (!metadata.type_ordered.empty()) {
    w.BeginList(7, Element::kStruct, metadata.type_ordered.size());
    for (const bool type_ordered : metadata.type_ordered) {
      w.BeginElementStruct();
      if (type_ordered) w.EmptyStruct(1);
      w.EndStruct();
    }
  }
  w.EndStruct();
}

void SerializePageHeader(const PageHeader& header, ByteBuffer* out) {
  ThriftWriter w(out);
  w.I32(1, Number(header.type));
  w.I32(2, header.uncompressed_size);
  w.I32(3, header.compressed_size);
  if (header.crc) w.I32(4, static_cast<int32_t>(*header.crc));
  switch (header.type) {
    case PageType::kDataPage:
      w.BeginStruct(5);
      w.I32(1, header.num_values);
      w.I32(2, Number(header.encoding));
      w.I32(3, Number(header.definition_level_encoding));
      w.I32(4, Number(header.repetition_level_encoding));
      w.EndStruct();
      break;
    case PageType::kDictionaryPage:
      w.BeginStruct(7);
      w.I32(1, header.num_values);
      w.I32(2, Number(header.encoding));
      w.EndStruct();
      break;
    case PageType::kDataPageV2:
      w.BeginStruct(8);
      w.I32(1, header.num_values);
      w.I32(2, header.num_nulls);
      w.I32(3, header.num_rows);
      w.I32(4, Number(header.encoding));
      w.I32(5, header.definition_levels_byte_length);
      w.I32(6, header.repetition_levels_byte_length);
      w.Bool(7, header.is_compressed);
      w.EndStruct();
      break;
    case PageType::kIndexPage:
      w.EmptyStruct(6);
      break;
  }
  w.EndStruct();
}

void SerializeOffsetIndex(const OffsetIndex& index, ByteBuffer* out) {
  ThriftWriter w(out);
  w.BeginList(1, Element::kStruct, index.pages.size());
  for (const PageLocation& page : index.pages) {
    w.BeginElementStruct();
    w.I64(1, page.offset);
    w.I32(2, page.compressed_size);
    w.I64(3, page.first_row_index);
    w.EndStruct();
  }
  w.EndStruct();
}

void SerializeColumnIndex(const ColumnIndex& index, ByteBuffer* out) {
  ThriftWriter w(out);
  w.BeginList(1, Element::kBool, index.null_pages.size());
  for (const bool null_page : index.null_pages) w.ElementBool(null_page);
  w.BeginList(2, Element::kBinary, index.min_values.size());
  for (const std::string& value : index.min_values) w.ElementBinary(value);
  w.BeginList(3, Element::kBinary, index.max_values.size());
  for (const std::string& value : index.max_values) w.ElementBinary(value);
  w.I32(4, Number(index.boundary_order));
  if (!index.null_counts.empty()) {
    w.BeginList(5, Element::kI64, index.null_counts.size());
    for (const int64_t count : index.null_counts) w.ElementI64(count);
  }
  w.EndStruct();
}

void SerializeBloomFilterHeader(const BloomFilterHeader& header, ByteBuffer* out) {
  ThriftWriter w(out);
  w.I32(1, header.num_bytes);
  for (const int16_t id : {2, 3, 4}) {  // algorithm BLOCK, hash XXHASH, compression UNCOMPRESSED
    w.BeginStruct(id);
    w.EmptyStruct(1);
    w.EndStruct();
  }
  w.EndStruct();
}

}  // namespace petalite::parquet
