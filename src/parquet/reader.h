// Reads a Parquet file piece by piece: the footer at Open, then indexes, filters, dictionaries and
// pages as they are asked for. It keeps nothing but the footer; who asks twice keeps what he got
// (the store has a cache).
//
// A FileReader is immutable: any number of threads may use it. Errors name the file, the offset and
// the structure. Positions of rows count from 0 within a row group.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "bloom/split_block_filter.h"
#include "column/predicate.h"
#include "parquet/metadata.h"
#include "parquet/page.h"
#include "parquet/schema_mapping.h"

namespace petalite::parquet {

struct ReaderOptions {
  // The types to deliver, by position, where somebody knows them better than the file (timestamp(s)
  // stands in the file as milliseconds). Must be of the same leaves.
  std::optional<Schema> schema;
  // CRC-32C of the footer (WrittenFile::footer_crc), where known: checked at Open.
  std::optional<uint32_t> footer_crc;
};

// Where the pages of one chunk are, from the offset index or, without one, from a walk over the
// page headers; and what the column index says of each, if it can be trusted.
struct ChunkPages {
  std::vector<PageLocation> locations;  // data pages
  std::vector<uint32_t> rows;           // of each page
  std::vector<ZoneMap> zones;           // one per page, or empty: no usable column index
  std::vector<uint32_t> header_crcs;    // one per page, or empty; the dictionary's is dictionary_header_crc
  std::optional<uint32_t> dictionary_header_crc;

  // The page that holds a row of the row group.
  size_t PageOf(uint64_t row) const;
  size_t memory_bytes() const;
};

// A column filter, owned.
class ColumnFilter {
 public:
  explicit ColumnFilter(ByteBuffer bits) : bits_(std::move(bits)) {}
  bloom::FilterView view() const { return bloom::FilterView(bits_); }
  size_t memory_bytes() const { return sizeof(*this) + bits_.capacity(); }

 private:
  ByteBuffer bits_;
};

class FileReader {
 public:
  virtual ~FileReader() = default;

  static Result<std::shared_ptr<const FileReader>> Open(FileSystem& fs, const std::string& path,
                                                        const ReaderOptions& options = {});

  virtual const std::string& path() const = 0;
  virtual uint64_t file_size() const = 0;
  virtual const FileMetadata& metadata() const = 0;
  virtual const std::vector<LeafColumn>& columns() const = 0;
  size_t row_groups() const { return metadata().row_groups.size(); }
  uint64_t rows(size_t row_group) const { return static_cast<uint64_t>(metadata().row_groups[row_group].num_rows); }

  // What the footer says of a chunk; rows only, where statistics are absent or cannot be trusted.
  virtual ZoneMap RowGroupZone(size_t row_group, size_t column) const = 0;

  virtual Result<std::shared_ptr<const ChunkPages>> LoadPages(size_t row_group, size_t column) const = 0;
  // Null if the chunk has no filter, or one that is inconsistent in any way.
  virtual Result<std::shared_ptr<const ColumnFilter>> LoadFilter(size_t row_group, size_t column) const = 0;
  // Null if the chunk has no dictionary page.
  virtual Result<std::shared_ptr<const Dictionary>> LoadDictionary(size_t row_group, size_t column,
                                                                   const ChunkPages& pages) const = 0;
  // Decodes one page. `dictionary` is the chunk's (null if it has none); the page holds on to it
  // where it needs it. Checks the page's CRC, and its header's where the file has Petalite's
  // checksums.
  virtual Result<std::shared_ptr<const DecodedPage>> LoadPage(size_t row_group, size_t column, const ChunkPages& pages,
                                                              size_t page,
                                                              std::shared_ptr<const Dictionary> dictionary) const = 0;

  // Asks the system to keep nothing of a page in memory: for measuring what a page costs that is not there.
  virtual void ForgetPage(const ChunkPages& pages, size_t page) const = 0;

  // The bytes of FileWriter::AddSection, checked; kNotFound without such a section.
  virtual Result<ByteBuffer> LoadSection(const std::string& name) const = 0;

  // Reads a chunk's pages without decoding them: their CRCs, where the file has them, and their headers.
  virtual Status CheckPages(size_t row_group, size_t column) const = 0;
};

// False only if the filter proves that no value satisfies the predicate (equality and IN; others
// say nothing).
bool FilterMayMatch(const Predicate& predicate, const LeafColumn& leaf, const bloom::FilterView& filter);

}  // namespace petalite::parquet
