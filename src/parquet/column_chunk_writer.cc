#include "parquet/column_chunk_writer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/checksum.h"
#include "base/hash.h"
#include "bloom/split_block_filter.h"
#include "parquet/bounds.h"
#include "parquet/delta_encoder.h"
#include "parquet/encoding_choice.h"
#include "parquet/rle_encoder.h"
#include "parquet/value_hash.h"

namespace petalite::parquet {
namespace {

// Rows of a page and, of those, the values that are not null.
struct PageRange {
  size_t row_begin = 0;
  size_t row_end = 0;
  size_t value_begin = 0;
  size_t value_end = 0;

  size_t rows() const { return row_end - row_begin; }
  size_t values() const { return value_end - value_begin; }
  size_t nulls() const { return rows() - values(); }
};

// A page that compression shrinks by less than a sixteenth is stored as it is: reading it then is a
// copy.
bool Pays(size_t compressed, size_t raw) { return compressed + raw / 16 < raw; }

class ChunkEncoder {
 public:
  ChunkEncoder(const ColumnBuffer& buffer, const ChunkOptions& options)
      : buffer_(buffer), options_(options), order_(OrderOf(buffer.field().type)) {}

  Result<EncodedChunk> Encode();

 private:
  bool is_dictionary() const { return encoding_ == Encoding::kRleDictionary; }
  // Byte strings are scanned by their dictionary, everything else before there is one.
  bool scans_by_dictionary() const { return order_ == BoundOrder::kBytes || order_ == BoundOrder::kBigEndianSigned; }

  void SplitPages();
  void ScanPages();
  void ScanDictionaryPages();
  std::optional<Bounds> ChunkBounds() const;

  Status AppendDictionaryPage();
  Status AppendDataPage(const PageRange& page);
  void AppendLevels(const PageRange& page, ByteBuffer* out) const;
  Bytes EncodeValues(const PageRange& page);
  void EncodeBooleans(const PageRange& page);
  Bytes AppendPage(PageHeader* header, Bytes levels, Bytes body, bool compressed);

  void DescribeChunk();
  void BuildColumnIndex();
  BoundaryOrder OrderOfBounds(const ColumnIndex& index) const;
  void CountDistinct();
  void BuildFilter();

  const ColumnBuffer& buffer_;
  const ChunkOptions& options_;
  const BoundOrder order_;

  std::vector<PageRange> pages_;
  std::vector<BoundsScan> scans_;  // one per page
  std::optional<ChunkDictionary> dictionary_;
  std::vector<uint64_t> hashes_;  // XXH64 of the values, or of the dictionary's entries
  Encoding encoding_ = Encoding::kPlain;
  ByteBuffer values_;      // scratch: a page's encoded values
  ByteBuffer compressed_;  // scratch
  ByteBuffer levels_;      // scratch
  EncodedChunk out_;
};

void ChunkEncoder::SplitPages() {
  const uint64_t* validity = buffer_.validity();
  size_t value = 0;
  for (size_t row = 0; row < buffer_.rows(); row += options_.page_rows) {
    PageRange page{.row_begin = row, .row_end = std::min<size_t>(row + options_.page_rows, buffer_.rows())};
    page.value_begin = value;
    if (validity == nullptr) {
      value += page.rows();
    } else {
      // Pages begin on whole words; only the last may end within one.
      for (size_t at = page.row_begin; at < page.row_end; at += 64) {
        const size_t bits = std::min<size_t>(64, page.row_end - at);
        value += static_cast<size_t>(std::popcount(validity[at / 64] & ~uint64_t{0} >> (64 - bits)));
      }
    }
    page.value_end = value;
    pages_.push_back(page);
  }
}

void ChunkEncoder::ScanPages() {
  for (const PageRange& page : pages_) {
    scans_.push_back(ScanBounds(buffer_, order_, page.value_begin, page.value_end));
  }
}

void ChunkEncoder::ScanDictionaryPages() {
  DictionaryBoundsScanner scanner(buffer_, *dictionary_);
  for (const PageRange& page : pages_) scans_.push_back(scanner.Scan(page.value_begin, page.value_end));
}

std::optional<Bounds> ChunkEncoder::ChunkBounds() const {
  std::optional<Bounds> chunk;
  for (const BoundsScan& scan : scans_) {
    if (!scan.bounds) continue;
    if (!chunk) {
      chunk = scan.bounds;
      continue;
    }
    if (CompareBounds(order_, scan.bounds->min, chunk->min) < 0) chunk->min = scan.bounds->min;
    if (CompareBounds(order_, scan.bounds->max, chunk->max) > 0) chunk->max = scan.bounds->max;
  }
  return chunk;
}

// Appends header, levels and body to the chunk, and returns the header's bytes.
Bytes ChunkEncoder::AppendPage(PageHeader* header, Bytes levels, Bytes body, bool compressed) {
  const Bytes stored = compressed ? Bytes(compressed_) : body;
  header->uncompressed_size = static_cast<int32_t>(levels.size() + body.size());
  header->compressed_size = static_cast<int32_t>(levels.size() + stored.size());
  header->crc = Crc32(stored, Crc32(levels));
  const size_t at = out_.pages.size();
  SerializePageHeader(*header, &out_.pages);
  const size_t header_size = out_.pages.size() - at;
  AppendBytes(out_.pages, levels);
  AppendBytes(out_.pages, stored);
  out_.metadata.total_uncompressed_size += static_cast<int64_t>(header_size + levels.size() + body.size());
  return Bytes(out_.pages).subspan(at, header_size);
}

// Dictionary pages have no is_compressed: under a codec their bytes are always that codec's.
Status ChunkEncoder::AppendDictionaryPage() {
  const bool compress = options_.codec->id() != CodecId::kUncompressed;
  if (compress) RETURN_IF_ERROR(options_.codec->Compress(dictionary_->plain, &compressed_));
  PageHeader header;
  header.type = PageType::kDictionaryPage;
  header.num_values = static_cast<int32_t>(dictionary_->entries());
  header.encoding = Encoding::kPlain;
  out_.checksums.dictionary_header = Crc32c(AppendPage(&header, {}, dictionary_->plain, compress));
  return Status::Ok();
}

void ChunkEncoder::AppendLevels(const PageRange& page, ByteBuffer* out) const {
  if (!buffer_.field().nullable) return;
  if (page.nulls() == 0 || page.values() == 0) {
    AppendRleConstantBits(page.nulls() == 0, page.rows(), out);
  } else {
    AppendRleBits(buffer_.validity() + page.row_begin / 64, page.rows(), out);
  }
}

void ChunkEncoder::EncodeBooleans(const PageRange& page) {
  std::vector<uint64_t> bits((page.values() + 63) / 64);
  const uint8_t* values = buffer_.fixed<uint8_t>() + page.value_begin;
  for (size_t i = 0; i < page.values(); ++i) bits[i / 64] |= uint64_t{values[i]} << (i % 64);
  if (encoding_ == Encoding::kPlain) {
    AppendBytes(values_, {reinterpret_cast<const uint8_t*>(bits.data()), (page.values() + 7) / 8});
    return;
  }
  AppendLe<uint32_t>(values_, 0);  // the length, which precedes RLE booleans in every page version
  AppendRleBits(bits.data(), page.values(), &values_);
  StoreLe(values_.data(), static_cast<uint32_t>(values_.size() - sizeof(uint32_t)));
}

// The page's values; what is returned lives until the next page. Where there are none, the
// encoding's headers are written all the same, because some readers look for them.
Bytes ChunkEncoder::EncodeValues(const PageRange& page) {
  values_.clear();
  if (buffer_.physical() == PhysicalType::kBoolean) {
    EncodeBooleans(page);
  } else if (is_dictionary()) {
    const int width = dictionary_->code_width();
    values_.push_back(static_cast<uint8_t>(width));
    AppendRleHybrid(std::span(dictionary_->codes).subspan(page.value_begin, page.values()), width, &values_);
  } else if (encoding_ == Encoding::kPlain) {
    return buffer_.Plain(page.value_begin, page.value_end);
  } else if (buffer_.physical() == PhysicalType::kInt32) {
    AppendDelta(std::span(buffer_.fixed<int32_t>() + page.value_begin, page.values()), &values_);
  } else {
    AppendDelta(std::span(buffer_.fixed<int64_t>() + page.value_begin, page.values()), &values_);
  }
  return values_;
}

Status ChunkEncoder::AppendDataPage(const PageRange& page) {
  levels_.clear();
  AppendLevels(page, &levels_);
  const Bytes body = EncodeValues(page);
  bool compressed = false;
  if (options_.codec->id() != CodecId::kUncompressed && !body.empty()) {
    RETURN_IF_ERROR(options_.codec->Compress(body, &compressed_));
    compressed = Pays(compressed_.size(), body.size());
  }
  PageHeader header;
  header.type = PageType::kDataPageV2;
  header.num_values = header.num_rows = static_cast<int32_t>(page.rows());
  header.num_nulls = static_cast<int32_t>(page.nulls());
  header.encoding = encoding_;
  header.definition_levels_byte_length = static_cast<int32_t>(levels_.size());
  header.is_compressed = compressed;
  const size_t offset = out_.pages.size();
  out_.checksums.page_headers.push_back(Crc32c(AppendPage(&header, levels_, body, compressed)));
  out_.offset_index.pages.push_back({.offset = static_cast<int64_t>(offset),
                                     .compressed_size = static_cast<int32_t>(out_.pages.size() - offset),
                                     .first_row_index = static_cast<int64_t>(page.row_begin)});
  return Status::Ok();
}

BoundaryOrder ChunkEncoder::OrderOfBounds(const ColumnIndex& index) const {
  bool ascending = true;
  bool descending = true;
  std::optional<size_t> before;
  for (size_t i = 0; i < index.null_pages.size(); ++i) {
    if (index.null_pages[i]) continue;
    if (before) {
      const int min = CompareBounds(order_, index.min_values[*before], index.min_values[i]);
      const int max = CompareBounds(order_, index.max_values[*before], index.max_values[i]);
      ascending &= min <= 0 && max <= 0;
      descending &= min >= 0 && max >= 0;
    }
    before = i;
  }
  return ascending ? BoundaryOrder::kAscending : descending ? BoundaryOrder::kDescending : BoundaryOrder::kUnordered;
}

// None where a page has values without bounds: intervals, and pages of nothing but NaN.
void ChunkEncoder::BuildColumnIndex() {
  const bool utf8 = buffer_.field().type.IsUtf8();
  ColumnIndex index;
  for (size_t i = 0; i < pages_.size(); ++i) {
    const bool null_page = pages_[i].values() == 0;
    if (!null_page && !scans_[i].bounds) return;
    Bounds bounds = null_page ? Bounds{} : *scans_[i].bounds;
    ShortenMin(utf8, &bounds.min);
    ShortenMax(utf8, &bounds.max);
    index.null_pages.push_back(null_page);
    index.min_values.push_back(std::move(bounds.min));
    index.max_values.push_back(std::move(bounds.max));
    index.null_counts.push_back(static_cast<int64_t>(pages_[i].nulls()));
  }
  index.boundary_order = OrderOfBounds(index);
  SerializeColumnIndex(index, &out_.column_index);
  out_.checksums.column_index = Crc32c(out_.column_index);
}

void ChunkEncoder::DescribeChunk() {
  ColumnMetadata& metadata = out_.metadata;
  metadata.type = buffer_.physical();
  metadata.path = {buffer_.field().name};
  metadata.codec = options_.codec->id();
  metadata.num_values = static_cast<int64_t>(buffer_.rows());
  metadata.total_compressed_size = static_cast<int64_t>(out_.pages.size());
  metadata.encodings = {encoding_};
  if (is_dictionary()) metadata.encodings.push_back(Encoding::kPlain);
  const bool has_rle = encoding_ == Encoding::kRle;
  if (buffer_.field().nullable && !has_rle) metadata.encodings.push_back(Encoding::kRle);

  ZoneMap& zone = out_.summary.zone;
  zone.rows = buffer_.rows();
  zone.has_null_count = true;
  zone.null_count = buffer_.rows() - buffer_.values();
  zone.may_have_nan = std::any_of(scans_.begin(), scans_.end(), [](const BoundsScan& scan) { return scan.has_nan; });

  Statistics& statistics = metadata.statistics;
  statistics.null_count = static_cast<int64_t>(zone.null_count);
  // ±0 and the many NaNs are distinct as bytes only.
  if (dictionary_ && !buffer_.field().type.IsFloating()) {
    statistics.distinct_count = static_cast<int64_t>(dictionary_->entries());
  }
  if (std::optional<Bounds> bounds = ChunkBounds()) {
    const bool utf8 = buffer_.field().type.IsUtf8();
    // The sign of a bound that is a zero need not be that of a value.
    const auto is_zero = [this](std::string_view bound) {
      return (order_ == BoundOrder::kFloat && LoadLe<float>(bound.data()) == 0) ||
             (order_ == BoundOrder::kDouble && LoadLe<double>(bound.data()) == 0);
    };
    statistics.is_min_value_exact = zone.min_exact = ShortenMin(utf8, &bounds->min) && !is_zero(bounds->min);
    statistics.is_max_value_exact = zone.max_exact = ShortenMax(utf8, &bounds->max) && !is_zero(bounds->max);
    zone.min = BoundValue(buffer_.field().type, bounds->min);
    zone.max = BoundValue(buffer_.field().type, bounds->max);
    statistics.min_value = std::move(bounds->min);
    statistics.max_value = std::move(bounds->max);
  }
  out_.summary.compressed_bytes = out_.pages.size();
  out_.summary.uncompressed_bytes = static_cast<uint64_t>(metadata.total_uncompressed_size);
}

// Hashes the values, once for the sketch and the filter; where there is a dictionary, its entries.
void ChunkEncoder::CountDistinct() {
  bloom::HyperLogLog& sketch = out_.summary.distinct;
  if (buffer_.physical() == PhysicalType::kBoolean) {  // its bounds are all its values
    const std::optional<Bounds> bounds = ChunkBounds();
    if (!bounds) return;
    sketch.Insert(Xxh64(bounds->min));
    sketch.Insert(Xxh64(bounds->max));
    return;
  }
  if (dictionary_) {
    hashes_ = std::move(dictionary_->hashes);
  } else {
    hashes_.resize(buffer_.values());
    HashValues(buffer_, 0, buffer_.values(), hashes_.data());
  }
  for (const uint64_t hash : hashes_) sketch.Insert(hash);
}

void ChunkEncoder::BuildFilter() {
  if (!options_.bloom) return;
  const bool has_zero = std::any_of(scans_.begin(), scans_.end(), [](const BoundsScan& s) { return s.has_zero; });
  const uint64_t most = hashes_.size() + (has_zero ? 1 : 0);
  bloom::SplitBlockFilter filter(bloom::PowerOfTwoBlocksFor(most, options_.bloom_fpp));
  filter.Insert(hashes_);
  if (has_zero && buffer_.physical() == PhysicalType::kFloat) {  // a probe for either finds both
    for (const float zero : {0.0f, -0.0f}) filter.Insert(Xxh64(&zero, sizeof zero));
  } else if (has_zero) {
    for (const double zero : {0.0, -0.0}) filter.Insert(Xxh64(&zero, sizeof zero));
  }
  if (!dictionary_) {
    // Four standard errors of the sketch above its estimate: too small a filter would miss its FPP.
    constexpr double kMargin = 1.0 + 4 * 0.033;
    const auto estimate = static_cast<uint64_t>(std::ceil(kMargin * out_.summary.distinct.Estimate())) + 1;
    filter.FoldFor(std::min(most, estimate), options_.bloom_fpp);
  }
  SerializeBloomFilterHeader({.num_bytes = static_cast<int32_t>(filter.bits().size())}, &out_.filter);
  AppendBytes(out_.filter, filter.bits());
  out_.checksums.filter = Crc32c(out_.filter);
  out_.summary.filter_bytes = out_.filter.size();
}

Result<EncodedChunk> ChunkEncoder::Encode() {
  SplitPages();
  if (!scans_by_dictionary()) ScanPages();
  dictionary_ = TryDictionary(buffer_, options_.encoding, ChunkBounds());
  if (scans_by_dictionary()) dictionary_ ? ScanDictionaryPages() : ScanPages();
  encoding_ = ChooseEncoding(buffer_, options_.encoding, dictionary_);

  out_.pages.reserve(buffer_.bytes() / 2);
  if (is_dictionary()) RETURN_IF_ERROR(AppendDictionaryPage());
  out_.metadata.data_page_offset = static_cast<int64_t>(out_.pages.size());
  for (const PageRange& page : pages_) RETURN_IF_ERROR(AppendDataPage(page));

  BuildColumnIndex();
  DescribeChunk();
  CountDistinct();
  BuildFilter();
  return std::move(out_);
}

}  // namespace

Result<EncodedChunk> EncodeColumnChunk(const ColumnBuffer& buffer, const ChunkOptions& options) {
  return ChunkEncoder(buffer, options).Encode();
}

}  // namespace petalite::parquet
