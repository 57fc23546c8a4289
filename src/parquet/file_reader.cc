#include <algorithm>
#include <charconv>

#include "base/checksum.h"
#include "parquet/checksums.h"
#include "parquet/chunk_pages.h"
#include "parquet/filter_read.h"
#include "parquet/footer.h"
#include "parquet/page_decoder.h"
#include "parquet/reader.h"
#include "parquet/zones.h"

namespace petalite::parquet {

size_t ChunkPages::PageOf(uint64_t row) const {
  const auto behind = std::upper_bound(
      locations.begin(), locations.end(), row,
      [](uint64_t wanted, const PageLocation& page) { return wanted < static_cast<uint64_t>(page.first_row_index); });
  CHECK(behind != locations.begin());
  return static_cast<size_t>(behind - locations.begin()) - 1;
}

size_t ChunkPages::memory_bytes() const {
  const auto heap_bytes = [](const Value& value) {
    const auto* text = std::get_if<std::string>(&value.storage());
    return text != nullptr ? text->capacity() : 0;
  };
  size_t bytes = sizeof(*this) + locations.capacity() * sizeof(PageLocation) + rows.capacity() * sizeof(uint32_t) +
                 zones.capacity() * sizeof(ZoneMap) + header_crcs.capacity() * sizeof(uint32_t);
  for (const ZoneMap& zone : zones) bytes += heap_bytes(zone.min) + heap_bytes(zone.max);
  return bytes;
}

namespace {

// What "petalite.<name>" in the footer says of a section.
struct SectionEntry {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint32_t crc = 0;
};

// Parses "<offset> <length> <CRC-32C in hex>".
bool ParseSectionEntry(std::string_view text, SectionEntry* entry) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](auto* value, int base) {
    const auto [next, error] = std::from_chars(at, end, *value, base);
    at = next;
    return error == std::errc();
  };
  const auto space = [&] { return at != end && *at++ == ' '; };
  return number(&entry->offset, 10) && space() && number(&entry->length, 10) && space() && number(&entry->crc, 16) &&
         at == end;
}

// Puts the caller's types in place of the file's. A leaf of milliseconds may be asked for in
// seconds; anything else must be what the file has.
Status ApplySchema(const Schema& schema, std::vector<LeafColumn>* leaves) {
  if (schema.size() != leaves->size()) {
    return InvalidArgument("{} columns expected, the file has {}", schema.size(), leaves->size());
  }
  for (size_t i = 0; i < schema.size(); ++i) {
    LeafColumn& leaf = (*leaves)[i];
    const Type& wanted = schema[i].type;
    const bool seconds_of_millis = wanted == Type::Timestamp(TimeUnit::kSecond) && leaf.logical.unit == 1 &&
                                   leaf.field.type == Type::Timestamp(TimeUnit::kMilli);
    if (wanted != leaf.field.type && !seconds_of_millis) {
      return InvalidArgument("column '{}' is expected to be {}, the file has {}", leaf.field.name, wanted.ToString(),
                             leaf.field.type.ToString());
    }
    leaf.field.type = wanted;
  }
  return Status::Ok();
}

class FileReaderImpl final : public FileReader {
 public:
  FileReaderImpl(std::unique_ptr<RandomFile> file, uint64_t size, Footer footer)
      : file_(std::move(file)), size_(size), metadata_(std::move(footer.metadata)), leaves_(std::move(footer.leaves)) {}

  Status Init(const ReaderOptions& options) {
    if (options.schema.has_value()) {
      RETURN_IF_ERROR(ApplySchema(*options.schema, &leaves_).WithContext(path()));
    }
    for (size_t i = 0; i < leaves_.size(); ++i) trust_.push_back(TrustOf(metadata_, leaves_[i], i));
    auto section = LoadSection(std::string(kChecksumsSection));
    if (section.status().code() == StatusCode::kNotFound) return Status::Ok();
    if (!section.ok()) return section.status();
    auto checksums = ParseChecksums(*section, metadata_.row_groups.size() * leaves_.size());
    if (!checksums.ok()) return checksums.status().WithContext(path());
    checksums_ = *std::move(checksums);
    return Status::Ok();
  }

  const std::string& path() const override { return file_->path(); }
  uint64_t file_size() const override { return size_; }
  const FileMetadata& metadata() const override { return metadata_; }
  const std::vector<LeafColumn>& columns() const override { return leaves_; }

  ZoneMap RowGroupZone(size_t row_group, size_t column) const override {
    return ZoneOfStatistics(leaves_[column], trust_[column], Chunk(row_group, column).statistics, rows(row_group));
  }

  Result<std::shared_ptr<const ChunkPages>> LoadPages(size_t row_group, size_t column) const override {
    auto pages = LoadPagesOf(Source(row_group, column), trust_[column]);
    if (!pages.ok()) return InColumn(pages.status(), column);
    return std::make_shared<const ChunkPages>(*std::move(pages));
  }

  Result<std::shared_ptr<const ColumnFilter>> LoadFilter(size_t row_group, size_t column) const override {
    return ReadFilter(Source(row_group, column));
  }

  Result<std::shared_ptr<const Dictionary>> LoadDictionary(size_t row_group, size_t column,
                                                           const ChunkPages& pages) const override {
    const FileRange range = DictionaryRange(Chunk(row_group, column), pages);
    auto dictionary = DecodeDictionary(row_group, column, range, pages.dictionary_header_crc);
    if (!dictionary.ok()) return InPage(dictionary.status(), column, range.offset);
    return dictionary;
  }

  Result<std::shared_ptr<const DecodedPage>> LoadPage(size_t row_group, size_t column, const ChunkPages& pages,
                                                      size_t page,
                                                      std::shared_ptr<const Dictionary> dictionary) const override {
    auto decoded = DecodePage(row_group, column, pages, page, std::move(dictionary));
    if (!decoded.ok()) return InPage(decoded.status(), column, static_cast<uint64_t>(pages.locations[page].offset));
    return decoded;
  }

  Status CheckPages(size_t row_group, size_t column) const override {
    ASSIGN_OR_RETURN(const auto pages, LoadPages(row_group, column));
    ByteBuffer raw;
    size_t header_size = 0;
    const auto check = [&](FileRange range) -> Status {
      const auto header = ReadPage(range, nullptr, &raw, &header_size);
      return header.ok() ? Status::Ok() : InPage(header.status(), column, range.offset);
    };
    const FileRange dictionary = DictionaryRange(Chunk(row_group, column), *pages);
    if (dictionary.size != 0) RETURN_IF_ERROR(check(dictionary));
    for (const PageLocation& page : pages->locations) {
      RETURN_IF_ERROR(check({static_cast<uint64_t>(page.offset), static_cast<uint64_t>(page.compressed_size)}));
    }
    return Status::Ok();
  }

  void ForgetPage(const ChunkPages& pages, size_t page) const override {
    const PageLocation& location = pages.locations[page];
    file_->Forget(static_cast<uint64_t>(location.offset), static_cast<uint64_t>(location.compressed_size));
  }

  Result<ByteBuffer> LoadSection(const std::string& name) const override {
    const std::string key = std::string(kSectionKeyPrefix) + name;
    const auto& pairs = metadata_.key_value;
    const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == key; });
    if (found == pairs.end()) return NotFound("{}: no section '{}'", path(), name);
    SectionEntry entry;
    const bool possible =
        ParseSectionEntry(found->second, &entry) && entry.offset <= size_ && entry.length <= size_ - entry.offset;
    if (!possible) return Corruption("{}: section '{}': its place '{}' cannot be", path(), name, found->second);
    ByteBuffer bytes(entry.length);
    RETURN_IF_ERROR(file_->Read(entry.offset, bytes));
    if (Crc32c(bytes) != entry.crc) {
      return Corruption("{}: section '{}' at offset {}: its checksum is wrong", path(), name, entry.offset);
    }
    return bytes;
  }

 private:
  const ColumnMetadata& Chunk(size_t row_group, size_t column) const {
    return metadata_.row_groups[row_group].columns[column];
  }

  ChunkSource Source(size_t row_group, size_t column) const {
    const ChunkChecksums* checksums =
        checksums_.has_value() ? &(*checksums_)[row_group * leaves_.size() + column] : nullptr;
    return {*file_, size_, leaves_[column], Chunk(row_group, column), rows(row_group), checksums};
  }

  Status InColumn(const Status& status, size_t column) const {
    return status.WithContext(fmt::format("{}: column '{}'", path(), leaves_[column].field.name));
  }
  Status InPage(const Status& status, size_t column, uint64_t offset) const {
    return InColumn(status.WithContext(fmt::format("page at offset {}", offset)), column);
  }

  static Result<ChunkPages> LoadPagesOf(const ChunkSource& source, BoundsTrust trust) {
    RETURN_IF_ERROR(source.leaf.support);
    ASSIGN_OR_RETURN(ChunkPages pages, LocatePages(source));
    ASSIGN_OR_RETURN(pages.zones, ReadPageZones(source, trust, pages.rows));
    if (source.checksums == nullptr) return pages;
    if (source.checksums->page_headers.size() != pages.locations.size()) {
      return Corruption("the section '{}' has {} pages, the chunk {}", kChecksumsSection,
                        source.checksums->page_headers.size(), pages.locations.size());
    }
    pages.header_crcs = source.checksums->page_headers;
    pages.dictionary_header_crc = source.checksums->dictionary_header;
    return pages;
  }

  // Reads header and body of one page with one read; `header_crc` is null where it is not known.
  Result<PageHeader> ReadPage(FileRange range, const uint32_t* header_crc, ByteBuffer* raw, size_t* header_size) const {
    if (range.offset > size_ || range.size > size_ - range.offset) {
      return Corruption("{} bytes in a file of {}", range.size, size_);
    }
    raw->resize(range.size);
    RETURN_IF_ERROR(file_->Read(range.offset, *raw));
    auto header = ParsePageHeader(*raw, header_size);
    if (!header.ok()) return header.status().WithContext("page header");
    if (header_crc != nullptr && Crc32c(Bytes(*raw).first(*header_size)) != *header_crc) {
      return Corruption("page header: its checksum is wrong");
    }
    const auto body_size = static_cast<size_t>(header->compressed_size);
    if (body_size > raw->size() - *header_size) {
      return Corruption("page header: a body of {} bytes where {} are", body_size, raw->size() - *header_size);
    }
    if (header->crc.has_value() && Crc32(Bytes(*raw).subspan(*header_size, body_size)) != *header->crc) {
      return Corruption("page: its checksum is wrong");
    }
    return header;
  }

  Result<std::shared_ptr<const Dictionary>> DecodeDictionary(size_t row_group, size_t column, FileRange range,
                                                             const std::optional<uint32_t>& header_crc) const {
    RETURN_IF_ERROR(leaves_[column].support);
    if (range.size == 0) return std::shared_ptr<const Dictionary>();
    ByteBuffer raw;
    size_t header_size = 0;
    ASSIGN_OR_RETURN(const PageHeader header,
                     ReadPage(range, header_crc.has_value() ? &*header_crc : nullptr, &raw, &header_size));
    if (header.type != PageType::kDictionaryPage) return std::shared_ptr<const Dictionary>();
    ASSIGN_OR_RETURN(const Codec* codec, DecoderFor(Chunk(row_group, column).codec));
    return PageDecoder(leaves_[column], *codec).DecodeDictionary(header, std::move(raw), header_size);
  }

  Result<std::shared_ptr<const DecodedPage>> DecodePage(size_t row_group, size_t column, const ChunkPages& pages,
                                                        size_t page,
                                                        std::shared_ptr<const Dictionary> dictionary) const {
    RETURN_IF_ERROR(leaves_[column].support);
    const PageLocation& location = pages.locations[page];
    const uint32_t* const header_crc = pages.header_crcs.empty() ? nullptr : &pages.header_crcs[page];
    ByteBuffer raw;
    size_t header_size = 0;
    ASSIGN_OR_RETURN(const PageHeader header,
                     ReadPage({static_cast<uint64_t>(location.offset), static_cast<uint64_t>(location.compressed_size)},
                              header_crc, &raw, &header_size));
    if (static_cast<uint32_t>(header.num_values) != pages.rows[page]) {
      return Corruption("page header: {} rows, the offset index has {}", header.num_values, pages.rows[page]);
    }
    ASSIGN_OR_RETURN(const Codec* codec, DecoderFor(Chunk(row_group, column).codec));
    return PageDecoder(leaves_[column], *codec)
        .DecodePage(header, std::move(raw), header_size, static_cast<uint64_t>(location.first_row_index),
                    std::move(dictionary));
  }

  std::unique_ptr<RandomFile> file_;
  uint64_t size_;
  FileMetadata metadata_;
  std::vector<LeafColumn> leaves_;
  std::vector<BoundsTrust> trust_;  // per leaf
  std::optional<FileChecksums> checksums_;
};

}  // namespace

Result<std::shared_ptr<const FileReader>> FileReader::Open(FileSystem& fs, const std::string& path,
                                                           const ReaderOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<RandomFile> file, fs.Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  auto footer = ReadFooter(*file, size, options.footer_crc);
  if (!footer.ok()) return footer.status().WithContext(path);
  auto reader = std::make_shared<FileReaderImpl>(std::move(file), size, *std::move(footer));
  RETURN_IF_ERROR(reader->Init(options));
  return std::shared_ptr<const FileReader>(std::move(reader));
}

}  // namespace petalite::parquet
