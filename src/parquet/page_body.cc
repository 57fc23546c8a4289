#include "parquet/page_body.h"

namespace petalite::parquet {
namespace {

// The most that `compressed` bytes of a codec can stand for, so that a page that lies about its size
// is refused before memory is taken for it. Snappy copies 64 bytes with 3; LZ4 255 with 1; deflate
// 258 with 2 bits; a zstd block of 4 bytes repeats one 128 Ki times. Brotli has no such bound.
uint64_t MostDecompressed(CodecId codec, uint64_t compressed) {
  switch (codec) {
    case CodecId::kSnappy:
      return compressed * 24;
    case CodecId::kLz4Hadoop:
    case CodecId::kLz4Raw:
      return compressed * 256;
    case CodecId::kGzip:
      return compressed * 1040;
    case CodecId::kZstd:
      return compressed * 65536;
    default:
      return UINT64_MAX;
  }
}

}  // namespace

Result<PageBody> PageBody::Open(const PageHeader& header, ByteBuffer raw, size_t header_size, const Codec& codec,
                                bool optional) {
  PageBody body;
  body.raw_ = std::move(raw);
  const auto stored_size = static_cast<size_t>(header.compressed_size);
  if (stored_size > body.raw_.size() - header_size) {
    return Corruption("page header: {} bytes in the page where the file has {}", stored_size,
                      body.raw_.size() - header_size);
  }
  const Bytes stored = Bytes(body.raw_).subspan(header_size, stored_size);
  if (header.type == PageType::kDataPageV2) {
    RETURN_IF_ERROR(body.OpenV2(header, stored, codec));
  } else {
    RETURN_IF_ERROR(body.OpenV1(header, stored, codec, optional && header.type == PageType::kDataPage));
  }
  return body;
}

Status PageBody::Decompress(Bytes stored, size_t size, const Codec& codec) {
  if (codec.id() == CodecId::kUncompressed) {
    if (stored.size() != size) return Corruption("page header: {} bytes uncompressed from {}", size, stored.size());
    values_ = stored;
    return Status::Ok();
  }
  if (size == 0) return Status::Ok();  // some writers store nothing, others an empty stream
  if (size > MostDecompressed(codec.id(), stored.size())) {
    return Corruption("page header: {} bytes of {} cannot become {}", stored.size(), CodecName(codec.id()), size);
  }
  decompressed_.resize(size);
  RETURN_IF_ERROR(codec.Decompress(stored, decompressed_));
  values_ = decompressed_;
  return Status::Ok();
}

Status PageBody::OpenV1(const PageHeader& header, Bytes stored, const Codec& codec, bool optional) {
  RETURN_IF_ERROR(Decompress(stored, static_cast<size_t>(header.uncompressed_size), codec));
  return SplitLevelsV1(header, optional);
}

// Version 1 compresses levels together with values, RLE behind a length.
Status PageBody::SplitLevelsV1(const PageHeader& header, bool optional) {
  if (!optional || header.num_values == 0) return Status::Ok();
  ByteReader reader(values_);
  level_encoding_ = header.definition_level_encoding;
  bool complete = false;
  if (level_encoding_ == Encoding::kBitPacked) {
    complete = reader.Take((static_cast<size_t>(header.num_values) + 7) / 8, &levels_);
  } else if (uint32_t size; reader.Read(&size)) {
    complete = reader.Take(size, &levels_);
  }
  if (!complete) return Corruption("definition levels: exceed the page's {} bytes", values_.size());
  values_ = reader.rest();
  return Status::Ok();
}

// Version 2 stores levels uncompressed in front.
Status PageBody::OpenV2(const PageHeader& header, Bytes stored, const Codec& codec) {
  const auto repetition = static_cast<size_t>(header.repetition_levels_byte_length);
  const auto definition = static_cast<size_t>(header.definition_levels_byte_length);
  const auto uncompressed = static_cast<size_t>(header.uncompressed_size);
  if (repetition + definition > std::min(stored.size(), uncompressed)) {
    return Corruption("page header: levels of {} bytes in a page of {}", repetition + definition, stored.size());
  }
  levels_ = stored.subspan(repetition, definition);
  const Bytes rest = stored.subspan(repetition + definition);
  if (!header.is_compressed) {
    values_ = rest;
    return Status::Ok();
  }
  return Decompress(rest, uncompressed - repetition - definition, codec);
}

}  // namespace petalite::parquet
