#include "parquet/page_decoder.h"

#include <algorithm>
#include <memory>

#include "base/utf8.h"
#include "parquet/decoders.h"
#include "parquet/page_body.h"
#include "parquet/spread.h"

namespace petalite::parquet {
namespace {

Status UnsupportedEncoding(Encoding encoding, const LeafColumn& leaf) {
  return Unsupported("encoding {} of physical type {}", static_cast<int>(encoding), static_cast<int>(leaf.physical));
}

bool IsDictionaryEncoding(Encoding encoding) {
  return encoding == Encoding::kPlainDictionary || encoding == Encoding::kRleDictionary;
}

constexpr uint64_t kHighBits = 0x8080808080808080ull;

bool IsAscii(Bytes bytes) {
  uint64_t seen = 0;
  while (bytes.size() >= 8) {
    // In steps, so that a vector loop runs between two looks at what it saw.
    const size_t step = std::min<size_t>(bytes.size() / 8, 512);
    for (size_t i = 0; i < step; ++i) seen |= LoadLe<uint64_t>(bytes.data() + 8 * i);
    if ((seen & kHighBits) != 0) return false;
    bytes = bytes.subspan(8 * step);
  }
  return std::none_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte >= 0x80; });
}

// The first string that is not UTF-8; `count` if there is none. `bytes` is what they were made of.
size_t FirstInvalidUtf8(const StringRef* strings, size_t count, Bytes bytes) {
  // Most text is ASCII; so are the lengths between, up to 127.
  if (IsAscii(bytes)) return count;
  for (size_t i = 0; i < count; ++i) {
    const StringRef& string = strings[i];
    // Most short strings are ASCII, and zero-padded, so that two words tell.
    const char* const data = string.data();
    if (string.is_inline() && ((LoadLe<uint64_t>(data) | LoadLe<uint64_t>(data + 4)) & kHighBits) == 0) continue;
    if (!IsValidUtf8(string.view())) return i;
  }
  return count;
}

// Makes `arena` what the strings point into: the bytes that decoding put there, the page's body, or
// nothing where all of them are short.
void KeepStrings(const ByteBuffer& values, PageBody body, ByteBuffer* arena) {
  const auto* const strings = reinterpret_cast<const StringRef*>(values.data());
  const bool all_inline = std::all_of(strings, strings + values.size() / sizeof(StringRef),
                                      [](const StringRef& string) { return string.is_inline(); });
  if (all_inline) {
    *arena = {};
  } else if (arena->empty()) {
    *arena = std::move(body).ReleaseValues();
  }
}

// Calls f with an unsigned value of the width of a layout.
template <typename F>
void WithWidth(size_t width, F&& f) {
  switch (width) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Int128{});
  }
}

}  // namespace

Status PageDecoder::DecodeBooleans(Encoding encoding, Bytes in, size_t count, uint8_t* out) const {
  if (encoding == Encoding::kPlain) return DecodePlainBooleans(in, count, out);
  if (encoding == Encoding::kRle) return DecodeRleBooleans(in, count, out);
  return UnsupportedEncoding(encoding, leaf_);
}

Status PageDecoder::DecodeFixed(Encoding encoding, Bytes in, size_t count, uint8_t* out) const {
  const size_t width = conversion_.physical_width();
  if (encoding == Encoding::kByteStreamSplit) return DecodeByteStreamSplit(in, width, count, out);
  if (encoding == Encoding::kDeltaBinaryPacked && leaf_.physical == PhysicalType::kInt32) {
    return DecodeDeltaBinaryPacked(in, count, reinterpret_cast<uint32_t*>(out));
  }
  if (encoding == Encoding::kDeltaBinaryPacked && leaf_.physical == PhysicalType::kInt64) {
    return DecodeDeltaBinaryPacked(in, count, reinterpret_cast<uint64_t*>(out));
  }
  if (encoding == Encoding::kDeltaByteArray && leaf_.physical == PhysicalType::kFixedLenByteArray) {
    std::vector<StringRef> strings(count);
    ByteBuffer arena;
    RETURN_IF_ERROR(DecodeDeltaByteArray(in, count, strings.data(), &arena));
    for (const StringRef& string : strings) {
      if (string.size() != width) return Corruption("DELTA_BYTE_ARRAY: {} bytes, not {}", string.size(), width);
      std::memcpy(out, string.data(), width);
      out += width;
    }
    return Status::Ok();
  }
  return UnsupportedEncoding(encoding, leaf_);
}

Status PageDecoder::DecodeByteArrays(Encoding encoding, Bytes in, size_t count, StringRef* out,
                                     ByteBuffer* arena) const {
  switch (encoding) {
    case Encoding::kPlain:
      return DecodePlainByteArrays(in, count, out);
    case Encoding::kDeltaLengthByteArray:
      return DecodeDeltaLengthByteArray(in, count, out);
    case Encoding::kDeltaByteArray:
      return DecodeDeltaByteArray(in, count, out, arena);
    default:
      return UnsupportedEncoding(encoding, leaf_);
  }
}

Status PageDecoder::DecodeValues(Encoding encoding, Bytes in, size_t count, ByteBuffer* values, ByteBuffer* arena,
                                 size_t* bad) const {
  const size_t width = conversion_.physical_width();
  *bad = count;
  if (leaf_.physical == PhysicalType::kBoolean) return DecodeBooleans(encoding, in, count, values->data());
  const bool byte_arrays = leaf_.physical == PhysicalType::kByteArray;
  if (encoding == Encoding::kPlain && !byte_arrays) {
    if (in.size() / width < count) return Corruption("PLAIN: {} bytes hold no {} values", in.size(), count);
    *bad = conversion_.Run(in.data(), count, values->data());
    return Status::Ok();
  }
  // Where nothing needs converting, encodings write the values where they belong. Otherwise into
  // memory of their own, which strings made of fixed-length byte arrays then point into.
  ByteBuffer physical(conversion_.is_identity() ? 0 : count * width);
  uint8_t* const out = conversion_.is_identity() ? values->data() : physical.data();
  if (byte_arrays) {
    RETURN_IF_ERROR(DecodeByteArrays(encoding, in, count, reinterpret_cast<StringRef*>(out), arena));
  } else {
    RETURN_IF_ERROR(DecodeFixed(encoding, in, count, out));
  }
  if (conversion_.is_identity()) return Status::Ok();
  *bad = conversion_.Run(physical.data(), count, values->data());
  if (!byte_arrays) *arena = std::move(physical);
  return Status::Ok();
}

Result<std::shared_ptr<const Dictionary>> PageDecoder::DecodeDictionary(const PageHeader& header, ByteBuffer raw,
                                                                        size_t header_size) const {
  // PLAIN_DICTIONARY is what version 1 writers called PLAIN here.
  if (header.encoding != Encoding::kPlain && header.encoding != Encoding::kPlainDictionary) {
    return UnsupportedEncoding(header.encoding, leaf_);
  }
  ASSIGN_OR_RETURN(PageBody body, PageBody::Open(header, std::move(raw), header_size, codec_, false));
  const auto count = static_cast<size_t>(header.num_values);
  const size_t least = leaf_.physical == PhysicalType::kByteArray ? sizeof(uint32_t) : conversion_.physical_width();
  if (leaf_.physical == PhysicalType::kBoolean) return UnsupportedEncoding(Encoding::kRleDictionary, leaf_);
  if (count > body.values().size() / least) {
    return Corruption("dictionary: {} bytes hold no {} values", body.values().size(), count);
  }
  auto dictionary = std::make_shared<Dictionary>();
  dictionary->size_ = static_cast<uint32_t>(count);
  dictionary->values_.resize((count + 1) * conversion_.layout_width());
  size_t bad;
  RETURN_IF_ERROR(
      DecodeValues(Encoding::kPlain, body.values(), count, &dictionary->values_, &dictionary->arena_, &bad));
  if (bad != count) return Corruption("dictionary: entry {} is no {}", bad, leaf_.field.type.ToString());
  if (leaf_.field.type.IsString()) {
    const auto* strings = reinterpret_cast<const StringRef*>(dictionary->values_.data());
    const size_t invalid = leaf_.field.type.IsUtf8() ? FirstInvalidUtf8(strings, count, body.values()) : count;
    if (invalid != count) return Corruption("dictionary: entry {} is not UTF-8", invalid);
    KeepStrings(dictionary->values_, std::move(body), &dictionary->arena_);
  }
  return std::shared_ptr<const Dictionary>(std::move(dictionary));
}

Status PageDecoder::DecodeLevels(Bytes levels, Encoding encoding, DecodedPage* page) const {
  if (leaf_.max_definition == 0 || page->rows_ == 0) return Status::Ok();
  page->validity_.resize((page->rows_ + 63) / 64);
  if (encoding == Encoding::kBitPacked) {
    RETURN_IF_ERROR(
        DecodeBitPackedLevelBits(levels, page->rows_, page->validity_.data()).WithContext("definition levels"));
  } else {
    RETURN_IF_ERROR(DecodeLevelBits(levels, page->rows_, page->validity_.data()).WithContext("definition levels"));
  }
  uint32_t valid = 0;
  for (const uint64_t word : page->validity_) valid += static_cast<uint32_t>(__builtin_popcountll(word));
  page->null_count_ = page->rows_ - valid;
  if (page->null_count_ == 0) page->validity_ = {};
  return Status::Ok();
}

Status PageDecoder::DecodeFlat(Encoding encoding, Bytes in, uint64_t first_row, DecodedPage* page) const {
  const size_t count = page->rows_ - page->null_count_;
  page->values_.resize(page->rows_ * conversion_.layout_width());
  const auto row_of = [&](size_t position) { return first_row + RowOfValue(page->validity(), position); };
  if (count != 0) {
    size_t bad;
    RETURN_IF_ERROR(DecodeValues(encoding, in, count, &page->values_, &page->arena_, &bad));
    if (bad != count) return Corruption("row {}: the value is no {}", row_of(bad), leaf_.field.type.ToString());
  }
  if (leaf_.field.type.IsUtf8()) {
    const size_t invalid = FirstInvalidUtf8(reinterpret_cast<const StringRef*>(page->values_.data()), count, in);
    if (invalid != count) return Corruption("row {}: the text is not UTF-8", row_of(invalid));
  }
  if (page->null_count_ == 0) return Status::Ok();
  WithWidth(conversion_.layout_width(), [&]<typename T>(T null) {
    SpreadToRows(page->validity(), page->rows_, count, null, reinterpret_cast<T*>(page->values_.data()));
  });
  return Status::Ok();
}

Status PageDecoder::DecodeIndices(Bytes in, std::shared_ptr<const Dictionary> dictionary, DecodedPage* page) const {
  const size_t count = page->rows_ - page->null_count_;
  std::vector<uint32_t> codes(page->rows_);
  if (count != 0) {
    if (in.empty()) return Corruption("dictionary indices: the page has no bytes for {}", count);
    const int bit_width = in[0];
    if (bit_width > 32) return Corruption("dictionary indices: of {} bits", bit_width);
    RETURN_IF_ERROR(DecodeHybrid(in.subspan(1), bit_width, count, codes.data()).WithContext("dictionary indices"));
    const uint32_t largest = *std::max_element(codes.begin(), codes.begin() + static_cast<ptrdiff_t>(count));
    if (largest >= dictionary->size()) {
      return Corruption("dictionary indices: {} in a dictionary of {}", largest, dictionary->size());
    }
  }
  if (page->null_count_ != 0) {
    SpreadToRows(page->validity(), page->rows_, count, dictionary->size(), codes.data());
  }
  if (leaf_.field.type.IsString()) {
    page->codes_ = std::move(codes);
    page->dictionary_ = std::move(dictionary);
    return Status::Ok();
  }
  page->values_.resize(page->rows_ * conversion_.layout_width());
  WithWidth(conversion_.layout_width(), [&]<typename T>(T) {
    const T* const values = static_cast<const T*>(dictionary->values());
    T* const out = reinterpret_cast<T*>(page->values_.data());
    for (size_t i = 0; i < codes.size(); ++i) out[i] = values[codes[i]];
  });
  return Status::Ok();
}

Result<std::shared_ptr<const DecodedPage>> PageDecoder::DecodePage(const PageHeader& header, ByteBuffer raw,
                                                                   size_t header_size, uint64_t first_row,
                                                                   std::shared_ptr<const Dictionary> dictionary) const {
  if (header.type != PageType::kDataPage && header.type != PageType::kDataPageV2) {
    return Corruption("page header: type {} where a data page belongs", static_cast<int>(header.type));
  }
  if (header.num_values > kMaxPageRows) {
    return Unsupported("a page of {} rows; Petalite reads up to {}", header.num_values, kMaxPageRows);
  }
  const bool optional = leaf_.max_definition != 0;
  ASSIGN_OR_RETURN(PageBody body, PageBody::Open(header, std::move(raw), header_size, codec_, optional));
  auto page = std::make_shared<DecodedPage>();
  page->rows_ = static_cast<uint32_t>(header.num_values);
  RETURN_IF_ERROR(DecodeLevels(body.levels(), body.level_encoding(), page.get()));
  const bool has_values = page->null_count_ != page->rows_;
  if (IsDictionaryEncoding(header.encoding) && (has_values || dictionary != nullptr)) {
    if (dictionary == nullptr) return Corruption("dictionary indices: the chunk has no dictionary");
    RETURN_IF_ERROR(DecodeIndices(body.values(), std::move(dictionary), page.get()));
    return std::shared_ptr<const DecodedPage>(std::move(page));
  }
  RETURN_IF_ERROR(DecodeFlat(header.encoding, body.values(), first_row, page.get()));
  if (leaf_.field.type.IsString()) {
    KeepStrings(page->values_, std::move(body), &page->arena_);
  }
  return std::shared_ptr<const DecodedPage>(std::move(page));
}

}  // namespace petalite::parquet
