// Encodes the rows of one column buffer as a column chunk: pages, statistics, page index, filter.
//
// Data pages are of version 2: their levels are not compressed, so that a reader learns null counts
// and positions without decompressing a page; the header names the count of nulls and rows; and a
// page that does not shrink is stored as it is, which version 1 cannot say. A page without nulls
// still has its definition levels where the column is nullable (a run of three bytes).

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "codec/codec.h"
#include "parquet/checksums.h"
#include "parquet/column_buffer.h"
#include "parquet/metadata.h"
#include "parquet/writer.h"

namespace petalite::parquet {

struct ChunkOptions {
  std::shared_ptr<const Codec> codec;
  bool bloom = true;
  double bloom_fpp = 0.01;
  EncodingChoice encoding = EncodingChoice::kAuto;
  uint32_t page_rows = 0;
};

// Offsets count from the start of `pages`.
struct EncodedChunk {
  ByteBuffer pages;  // dictionary page and data pages with their headers
  ColumnMetadata metadata;
  OffsetIndex offset_index;
  ByteBuffer column_index;   // serialized; empty: none
  ByteBuffer filter;         // header and bits; empty: none
  ChunkChecksums checksums;  // but for the offset index
  ColumnSummary summary;
};

// Thread-safe. Fails only if the codec does.
Result<EncodedChunk> EncodeColumnChunk(const ColumnBuffer& buffer, const ChunkOptions& options);

}  // namespace petalite::parquet
