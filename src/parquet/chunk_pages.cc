#include "parquet/chunk_pages.h"

#include <algorithm>
#include <limits>

#include "base/checksum.h"

namespace petalite::parquet {
namespace {

// Where the chunk begins. dictionary_page_offset may be 0, or the same as data_page_offset, or
// (from writers that never set it) stand behind it.
uint64_t ChunkBegin(const ColumnMetadata& chunk) {
  const int64_t dictionary = chunk.dictionary_page_offset;
  if (dictionary > 0 && dictionary < chunk.data_page_offset) return static_cast<uint64_t>(dictionary);
  return static_cast<uint64_t>(chunk.data_page_offset);
}

Result<FileRange> ChunkRange(const ChunkSource& source) {
  const ColumnMetadata& chunk = source.chunk;
  const bool possible = chunk.data_page_offset >= 0 && chunk.total_compressed_size >= 0 &&
                        ChunkBegin(chunk) <= source.file_size &&
                        static_cast<uint64_t>(chunk.total_compressed_size) <= source.file_size - ChunkBegin(chunk);
  if (!possible) {
    return Corruption("column chunk at offset {}: {} bytes in a file of {}", chunk.data_page_offset,
                      chunk.total_compressed_size, source.file_size);
  }
  if (static_cast<uint64_t>(chunk.num_values) != source.rows) {
    return Corruption("column chunk at offset {}: {} values in a row group of {} rows", ChunkBegin(chunk),
                      chunk.num_values, source.rows);
  }
  return FileRange{ChunkBegin(chunk), static_cast<uint64_t>(chunk.total_compressed_size)};
}

// Whether the locations are what an offset index promises, within the chunk. Sets `rows` of each.
bool IsConsistent(const std::vector<PageLocation>& locations, const ColumnMetadata& chunk, FileRange range,
                  uint64_t chunk_rows, std::vector<uint32_t>* rows) {
  if (locations.empty() || locations[0].first_row_index != 0) return false;
  const uint64_t end = range.offset + range.size;
  const bool dictionary_among_them = locations[0].offset == chunk.dictionary_page_offset;
  if (dictionary_among_them) return false;
  uint64_t behind = range.offset;  // where the previous page ends
  for (size_t i = 0; i < locations.size(); ++i) {
    const PageLocation& page = locations[i];
    const auto next_row =
        i + 1 < locations.size() ? static_cast<uint64_t>(locations[i + 1].first_row_index) : chunk_rows;
    const auto offset = static_cast<uint64_t>(page.offset);
    const auto first_row = static_cast<uint64_t>(page.first_row_index);
    if (page.compressed_size <= 0 || offset < behind || offset > end) return false;
    if (static_cast<uint64_t>(page.compressed_size) > end - offset) return false;
    if (next_row <= first_row || next_row - first_row > std::numeric_limits<int32_t>::max()) return false;
    behind = offset + static_cast<uint64_t>(page.compressed_size);
    rows->push_back(static_cast<uint32_t>(next_row - first_row));
  }
  return true;
}

// Reads a structure that the footer names, if its range is possible and its checksum right.
Result<bool> ReadIndex(const ChunkSource& source, int64_t offset, int32_t length, const uint32_t* crc,
                       ByteBuffer* bytes) {
  const bool there = offset > 0 && length > 0 && static_cast<uint64_t>(offset) < source.file_size &&
                     static_cast<uint64_t>(length) <= source.file_size - static_cast<uint64_t>(offset);
  if (!there) return false;
  bytes->resize(static_cast<size_t>(length));
  RETURN_IF_ERROR(source.file.Read(static_cast<uint64_t>(offset), *bytes));
  return crc == nullptr || Crc32c(*bytes) == *crc;
}

// Whether it found a usable offset index.
Result<bool> LocateByIndex(const ChunkSource& source, FileRange range, ChunkPages* pages) {
  const uint32_t* crc = source.checksums != nullptr ? &source.checksums->offset_index : nullptr;
  ByteBuffer bytes;
  ASSIGN_OR_RETURN(const bool read,
                   ReadIndex(source, source.chunk.offset_index_offset, source.chunk.offset_index_length, crc, &bytes));
  if (!read) return false;
  auto index = ParseOffsetIndex(bytes);
  if (!index.ok() || !IsConsistent(index->pages, source.chunk, range, source.rows, &pages->rows)) {
    pages->rows.clear();
    return false;
  }
  pages->locations = std::move(index->pages);
  return true;
}

// Reads page headers one after another, each with no more of the file than it needs: headers are
// about thirty bytes, but may hold statistics of any size.
class HeaderWalk {
 public:
  HeaderWalk(const RandomFile& file, FileRange range)
      : file_(file), at_(range.offset), end_(range.offset + range.size) {}

  bool done() const { return at_ == end_; }
  uint64_t offset() const { return at_; }

  // Reads the header at offset(), and moves behind its page. `size`: of header and body.
  Result<PageHeader> Next(size_t* size) {
    for (uint64_t want = kWindow;; want *= 8) {
      RETURN_IF_ERROR(Fill(want));
      size_t header_size = 0;
      auto header = ParsePageHeader(Bytes(window_).subspan(at_ - window_begin_), &header_size);
      if (header.ok()) {
        *size = header_size + static_cast<size_t>(header->compressed_size);
        if (*size > end_ - at_)
          return Corruption("page header: {} bytes in a chunk that has {} left", *size, end_ - at_);
        at_ += *size;
        return header;
      }
      if (window_begin_ + window_.size() == end_) return header.status().WithContext("page header");
    }
  }

 private:
  static constexpr uint64_t kWindow = 4096;

  // Makes the window hold `want` bytes from at_, or all there are. The first time a window that
  // has some of them will do.
  Status Fill(uint64_t want) {
    const uint64_t window_end = window_begin_ + window_.size();
    const uint64_t least = std::min(want == kWindow ? kTypicalHeader : want, end_ - at_);
    if (at_ >= window_begin_ && at_ + least <= window_end) return Status::Ok();
    window_.resize(std::min(want, end_ - at_));
    window_begin_ = at_;
    return file_.Read(at_, window_);
  }

  static constexpr uint64_t kTypicalHeader = 256;

  const RandomFile& file_;
  uint64_t at_;
  uint64_t end_;
  uint64_t window_begin_ = 0;
  ByteBuffer window_;
};

bool IsDataPage(const PageHeader& header) {
  return header.type == PageType::kDataPage || header.type == PageType::kDataPageV2;
}

Status LocateByHeaders(const ChunkSource& source, FileRange range, ChunkPages* pages) {
  HeaderWalk walk(source.file, range);
  uint64_t rows = 0;
  while (rows < source.rows && !walk.done()) {
    const uint64_t offset = walk.offset();
    size_t size = 0;
    auto header = walk.Next(&size);
    if (!header.ok()) return header.status().WithContext(fmt::format("at offset {}", offset));
    if (!IsDataPage(*header) || header->num_values == 0) continue;
    if (size > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return Corruption("page at offset {}: has {} bytes", offset, size);
    }
    pages->locations.push_back({static_cast<int64_t>(offset), static_cast<int32_t>(size), static_cast<int64_t>(rows)});
    pages->rows.push_back(static_cast<uint32_t>(header->num_values));
    rows += static_cast<uint64_t>(header->num_values);
  }
  if (rows != source.rows) {
    return Corruption("column chunk at offset {}: {} rows in its pages, {} in the row group", range.offset, rows,
                      source.rows);
  }
  return Status::Ok();
}

}  // namespace

Result<ChunkPages> LocatePages(const ChunkSource& source) {
  ChunkPages pages;
  if (source.rows == 0) return pages;
  ASSIGN_OR_RETURN(const FileRange range, ChunkRange(source));
  ASSIGN_OR_RETURN(const bool by_index, LocateByIndex(source, range, &pages));
  if (!by_index) RETURN_IF_ERROR(LocateByHeaders(source, range, &pages));
  return pages;
}

Result<std::vector<ZoneMap>> ReadPageZones(const ChunkSource& source, BoundsTrust trust,
                                           std::span<const uint32_t> rows) {
  if (!trust.current) return std::vector<ZoneMap>();
  const uint32_t* crc = source.checksums != nullptr ? &source.checksums->column_index : nullptr;
  ByteBuffer bytes;
  ASSIGN_OR_RETURN(const bool read,
                   ReadIndex(source, source.chunk.column_index_offset, source.chunk.column_index_length, crc, &bytes));
  if (!read) return std::vector<ZoneMap>();
  const auto index = ParseColumnIndex(bytes);
  return index.ok() ? ZonesOfColumnIndex(source.leaf, trust, *index, rows) : std::vector<ZoneMap>();
}

FileRange DictionaryRange(const ColumnMetadata& chunk, const ChunkPages& pages) {
  if (pages.locations.empty()) return {};
  const uint64_t begin = ChunkBegin(chunk);
  return {begin, static_cast<uint64_t>(pages.locations[0].offset) - begin};
}

}  // namespace petalite::parquet
