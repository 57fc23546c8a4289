// Writes one Parquet file: flat columns, data pages of version 2 (column_chunk_writer.h says why)
// that break at the same rows in all columns, statistics, column and offset index, page CRCs, a
// column filter for each column that asks for one. In the file's order: row groups, each with its
// filters behind it, sections, column indexes, offset indexes, footer. Memory: up to three row groups
// of rows (without a pool one), and until Finish the indexes of the whole file.
//
// Legal order of calls: Create, Append any number of times, AddSection any number of times, Finish.
// A writer destroyed before Finish succeeded removes its file. Not thread-safe; encodes on the
// options' pool, and in the calling thread when that has to wait: it may be one of the pool's.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "base/thread_pool.h"
#include "bloom/hyperloglog.h"
#include "codec/codec.h"
#include "column/predicate.h"
#include "petalite/column_view.h"
#include "petalite/schema.h"

namespace petalite::parquet {

enum class EncodingChoice : uint8_t { kAuto, kPlain, kDictionary, kDelta, kRle };

struct ColumnOptions {
  CodecSpec codec;
  bool bloom = true;        // never for bool and interval columns, whatever it says
  double bloom_fpp = 0.01;  // the filter's true FPP is at most this
  EncodingChoice encoding = EncodingChoice::kAuto;
};

// 98,304 rows to a group (fewer where a column of strings reaches 256 MiB), because a column of distinct values then
// just fills a 128 KiB filter at 1 % (10.53 bits a value); 8,192 rows to a page, four of DuckDB's vectors.
struct WriterOptions {
  std::vector<ColumnOptions> columns;                          // one per field
  uint32_t page_rows = 8192;                                   // a multiple of 64
  uint32_t row_group_rows = 98304;                             // a multiple of page_rows
  ThreadPool* pool = nullptr;                                  // null: encode in the calling thread
  std::vector<std::pair<std::string, std::string>> key_value;  // goes to the footer
};

// Whether a column can be written so; the error names the column and what does not fit.
Status CheckColumn(const Field& field, const ColumnOptions& options);

// What the whole file holds of one column.
struct ColumnSummary {
  ZoneMap zone;
  bloom::HyperLogLog distinct;
  uint64_t compressed_bytes = 0;  // pages, headers included
  uint64_t uncompressed_bytes = 0;
  uint64_t filter_bytes = 0;
};

struct WrittenFile {
  uint64_t bytes = 0;
  uint64_t rows = 0;
  uint64_t row_groups = 0;
  uint64_t footer_offset = 0;  // of the footer's Thrift bytes
  uint32_t footer_length = 0;
  uint32_t footer_crc = 0;  // CRC-32C over those bytes, the four of the length and the magic
  std::vector<ColumnSummary> columns;
};

class FileWriter {
 public:
  virtual ~FileWriter() = default;

  // Fails if the path exists, an option is out of range, or a type cannot be written.
  static Result<std::unique_ptr<FileWriter>> Create(FileSystem& fs, const std::string& path, const Schema& schema,
                                                    WriterOptions options);

  // Appends `rows` rows: one view per field, each of that size, copied before it returns. Values
  // are checked: a null in a required column, invalid UTF-8, a decimal outside its precision, a
  // timestamp that does not fit are errors that name column and row (counted from 0 in the file);
  // the writer is of no use after one.
  virtual Status Append(std::span<const ColumnView> columns, size_t rows) = 0;

  // Puts bytes of Petalite's own into the file, behind all rows, found through the key-value metadata
  // "petalite.<name>" = "<offset> <length> <CRC-32C in hex>". Other readers never look there. `rest`
  // goes behind `bytes`.
  virtual Status AddSection(const std::string& name, Bytes bytes, Bytes rest = {}) = 0;

  // Writes what is left, the indexes, filters, the section "checksums" (CRC-32C of everything that
  // Parquet does not checksum: page headers, indexes, filters; docs/format.md) and the footer;
  // syncs and closes the file.
  virtual Result<WrittenFile> Finish() = 0;

  // Bytes in the file so far: rows that still wait to be encoded are not among them.
  virtual uint64_t bytes() const = 0;

  // The first row of each row group so far: a group may end before it is full (WriterOptions).
  virtual const std::vector<uint64_t>& group_starts() const = 0;
};

}  // namespace petalite::parquet
