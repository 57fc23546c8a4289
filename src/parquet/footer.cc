#include "parquet/footer.h"

#include <algorithm>

#include "base/checksum.h"

namespace petalite::parquet {
namespace {

constexpr size_t kTailBytes = 8;            // four of the length, four of the magic
constexpr uint64_t kFirstRead = 64 * 1024;  // most footers fit, so that one read gets them

// The metadata and the tail, as they lie at the file's end.
Result<ByteBuffer> ReadFooterBytes(const RandomFile& file, uint64_t file_size) {
  if (file_size < kMagic.size() + kTailBytes) {
    return Corruption("not a Parquet file: {} bytes are too few", file_size);
  }
  ByteBuffer bytes(std::min(file_size, kFirstRead));
  RETURN_IF_ERROR(file.Read(file_size - bytes.size(), bytes));
  const std::string_view magic = AsText(Bytes(bytes).last(kMagic.size()));
  if (magic == kEncryptedMagic) {
    return Unsupported("the file is encrypted (its magic is {}); Petalite does not read encrypted files", magic);
  }
  if (magic != kMagic) return Corruption("not a Parquet file, or cut off: it does not end in {}", kMagic);
  const uint64_t length = LoadLe<uint32_t>(bytes.data() + bytes.size() - kTailBytes);
  if (length > file_size - kTailBytes - kMagic.size()) {
    return Corruption("footer at offset {}: {} bytes of metadata in a file of {}", file_size - kTailBytes, length,
                      file_size);
  }
  const size_t wanted = length + kTailBytes;
  if (wanted <= bytes.size()) {
    bytes.erase(bytes.begin(), bytes.end() - static_cast<ptrdiff_t>(wanted));
    return bytes;
  }
  bytes.resize(wanted);
  RETURN_IF_ERROR(file.Read(file_size - wanted, bytes));
  return bytes;
}

Status CheckChunk(const ColumnMetadata& chunk, const LeafColumn& leaf) {
  if (chunk.encrypted) {
    return Unsupported("column '{}' is encrypted; Petalite does not read encrypted files", leaf.field.name);
  }
  if (!chunk.file_path.empty()) {
    return Unsupported("column '{}' lies in another file, {}", leaf.field.name, chunk.file_path);
  }
  if (chunk.type != leaf.physical) {
    return Corruption("footer: a chunk of column '{}' has physical type {}, the schema {}", leaf.field.name,
                      static_cast<int>(chunk.type), static_cast<int>(leaf.physical));
  }
  return Status::Ok();
}

Status CheckRowGroups(const Footer& footer) {
  for (size_t i = 0; i < footer.metadata.row_groups.size(); ++i) {
    const RowGroup& group = footer.metadata.row_groups[i];
    if (group.columns.size() != footer.leaves.size()) {
      return Corruption("footer: row group {} has {} columns, the schema {}", i, group.columns.size(),
                        footer.leaves.size());
    }
    if (group.num_rows < 0) return Corruption("footer: row group {} has {} rows", i, group.num_rows);
    for (size_t column = 0; column < footer.leaves.size(); ++column) {
      RETURN_IF_ERROR(CheckChunk(group.columns[column], footer.leaves[column]));
    }
  }
  return Status::Ok();
}

}  // namespace

Result<Footer> ReadFooter(const RandomFile& file, uint64_t file_size, std::optional<uint32_t> expected_crc) {
  ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadFooterBytes(file, file_size));
  if (expected_crc.has_value() && Crc32c(bytes) != *expected_crc) {
    return Corruption("footer at offset {}: checksum {:08x}, expected {:08x}", file_size - bytes.size(), Crc32c(bytes),
                      *expected_crc);
  }
  Footer footer;
  auto metadata = ParseFileMetadata(Bytes(bytes).first(bytes.size() - kTailBytes));
  if (!metadata.ok()) {
    return metadata.status().WithContext(fmt::format("footer at offset {}", file_size - bytes.size()));
  }
  footer.metadata = *std::move(metadata);
  if (footer.metadata.encrypted) {
    return Unsupported("the file is encrypted (its footer is signed); Petalite does not read encrypted files");
  }
  ASSIGN_OR_RETURN(footer.leaves, LeafColumns(footer.metadata.schema));
  RETURN_IF_ERROR(CheckRowGroups(footer));
  return footer;
}

}  // namespace petalite::parquet
