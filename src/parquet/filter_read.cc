#include "parquet/filter_read.h"

#include <algorithm>

#include "base/checksum.h"

namespace petalite::parquet {
namespace {

constexpr uint64_t kHeaderRead = 64;  // a filter's header takes about 16 bytes

// The bytes of header and bits; empty if the footer does not name a possible range.
Result<ByteBuffer> ReadFilterBytes(const ChunkSource& source) {
  const int64_t given_offset = source.chunk.bloom_filter_offset;
  const int64_t given_length = source.chunk.bloom_filter_length;
  const auto offset = static_cast<uint64_t>(given_offset);
  if (given_offset <= 0 || given_length < 0 || offset >= source.file_size) return ByteBuffer();
  const uint64_t left = source.file_size - offset;
  uint64_t length = static_cast<uint64_t>(given_length);
  if (length == 0) {  // older writers give the offset alone
    ByteBuffer head(std::min(left, kHeaderRead));
    RETURN_IF_ERROR(source.file.Read(offset, head));
    size_t header_size = 0;
    const auto header = ParseBloomFilterHeader(head, &header_size);
    if (!header.ok() || header->num_bytes <= 0) return ByteBuffer();
    length = header_size + static_cast<uint64_t>(header->num_bytes);
  }
  if (length > left) return ByteBuffer();
  ByteBuffer bytes(length);
  RETURN_IF_ERROR(source.file.Read(offset, bytes));
  return bytes;
}

// The bits, or nothing if they are not what the header says.
ByteBuffer BitsOf(ByteBuffer bytes) {
  size_t header_size = 0;
  const auto header = ParseBloomFilterHeader(bytes, &header_size);
  const bool consistent = header.ok() && header->supported && header->num_bytes > 0 &&
                          static_cast<size_t>(header->num_bytes) % bloom::kBlockBytes == 0 &&
                          bytes.size() - header_size == static_cast<size_t>(header->num_bytes);
  if (!consistent) return {};
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(header_size));
  // A filter without any bit would deny everything. Of a chunk of nulls it says what the null count
  // says anyway.
  const bool any_bit = std::any_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte != 0; });
  return any_bit ? bytes : ByteBuffer();
}

}  // namespace

Result<std::shared_ptr<const ColumnFilter>> ReadFilter(const ChunkSource& source) {
  const std::shared_ptr<const ColumnFilter> none;
  if (!source.leaf.can_filter || !source.leaf.support.ok()) return none;
  ASSIGN_OR_RETURN(ByteBuffer bytes, ReadFilterBytes(source));
  if (bytes.empty()) return none;
  if (source.checksums != nullptr && Crc32c(bytes) != source.checksums->filter) return none;
  ByteBuffer bits = BitsOf(std::move(bytes));
  if (bits.empty()) return none;
  return std::make_shared<const ColumnFilter>(std::move(bits));
}

}  // namespace petalite::parquet
