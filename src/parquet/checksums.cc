#include "parquet/checksums.h"

namespace petalite::parquet {
namespace {

constexpr std::string_view kChecksumsMagic = "PCS1";
constexpr size_t kFixedBytes = 5 * sizeof(uint32_t);  // of a chunk, before the page headers

}  // namespace

ByteBuffer SerializeChecksums(const FileChecksums& checksums) {
  ByteBuffer out(kChecksumsMagic.begin(), kChecksumsMagic.end());
  for (const ChunkChecksums& chunk : checksums) {
    AppendLe(out, chunk.filter);
    AppendLe(out, chunk.column_index);
    AppendLe(out, chunk.offset_index);
    AppendLe(out, chunk.dictionary_header);
    AppendLe(out, static_cast<uint32_t>(chunk.page_headers.size()));
    for (const uint32_t crc : chunk.page_headers) AppendLe(out, crc);
  }
  return out;
}

Result<FileChecksums> ParseChecksums(Bytes bytes, size_t chunks) {
  ByteReader reader(bytes);
  Bytes magic;
  if (!reader.Take(kChecksumsMagic.size(), &magic) || AsText(magic) != kChecksumsMagic) {
    return Corruption("checksums: the magic is not {}", kChecksumsMagic);
  }
  if (chunks > reader.remaining() / kFixedBytes) {
    return Corruption("checksums: {} bytes cannot hold {} chunks", bytes.size(), chunks);
  }
  FileChecksums checksums(chunks);
  for (ChunkChecksums& chunk : checksums) {
    uint32_t pages = 0;
    if (!reader.Read(&chunk.filter) || !reader.Read(&chunk.column_index) || !reader.Read(&chunk.offset_index) ||
        !reader.Read(&chunk.dictionary_header) || !reader.Read(&pages) ||
        pages > reader.remaining() / sizeof(uint32_t)) {
      return Corruption("checksums: cut off at byte {}", reader.position());
    }
    chunk.page_headers.resize(pages);
    for (uint32_t& crc : chunk.page_headers) {
      if (!reader.Read(&crc)) return Corruption("checksums: cut off at byte {}", reader.position());
    }
  }
  if (reader.remaining() != 0) return Corruption("checksums: {} bytes too many", reader.remaining());
  return checksums;
}

}  // namespace petalite::parquet
