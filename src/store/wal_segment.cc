#include "store/wal_segment.h"

#include <algorithm>
#include <cstddef>

#include "base/checksum.h"

namespace petalite::store {
namespace {

constexpr uint64_t kMagic = 0x4c41576c61746550;  // "PetalWAL"

// The structures on disk.
struct SegmentLayout {
  uint64_t magic;
  uint32_t version;
  uint32_t epoch;
  uint64_t first;
  uint32_t zero;
  uint32_t crc;  // of what stands in front of it
};
static_assert(sizeof(SegmentLayout) == kWalSegmentHeader && offsetof(SegmentLayout, first) == 16);
static_assert(offsetof(SegmentLayout, crc) == 28);

struct RecordLayout {
  uint32_t crc;  // of the payload and its padding, then of the rest of the header
  uint32_t length;
  uint64_t lsn;
  uint64_t synced;
  uint32_t epoch;
  uint8_t type;
  uint8_t zero[3];
};
static_assert(sizeof(RecordLayout) == kWalRecordHeader && offsetof(RecordLayout, lsn) == 8);
static_assert(offsetof(RecordLayout, synced) == 16 && offsetof(RecordLayout, type) == 28);

constexpr size_t kCrcBytes = sizeof(uint32_t);
constexpr std::string_view kLogSuffix = ".log";
constexpr size_t kDigits = 20;

uint32_t HeaderCrc(const RecordLayout& header, uint32_t payload_crc) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
  return Crc32c(Bytes(bytes, sizeof header).subspan(kCrcBytes), payload_crc);
}

}  // namespace

void EncodeWalSegmentHeader(const WalSegmentHeader& header, uint8_t* out) {
  SegmentLayout layout = {
      .magic = kMagic, .version = kWalFormatVersion, .epoch = header.epoch, .first = header.first, .zero = 0, .crc = 0};
  StoreLe(out, layout);
  layout.crc = Crc32c(Bytes(out, offsetof(SegmentLayout, crc)));
  StoreLe(out, layout);
}

Result<WalSegmentHeader> DecodeWalSegmentHeader(Bytes bytes, const std::string& path) {
  if (bytes.size() < kWalSegmentHeader) return Corruption("{}: too short for a segment's header", path);
  const auto layout = LoadLe<SegmentLayout>(bytes.data());
  if (layout.magic != kMagic || layout.crc != Crc32c(bytes.first(offsetof(SegmentLayout, crc)))) {
    return Corruption("{}: offset 0: the segment's header is damaged", path);
  }
  if (layout.version != kWalFormatVersion) {
    return Unsupported("{}: version {} of the log's format; this program knows version {}", path, layout.version,
                       kWalFormatVersion);
  }
  if (layout.first % kWalAlignment != 0 || layout.first > kWalMaxLsn) {
    return Corruption("{}: offset 16: no position can be {}", path, layout.first);
  }
  return WalSegmentHeader{.epoch = layout.epoch, .first = layout.first};
}

void EncodeWalRecordHeader(const WalRecordHeader& header, uint32_t payload_crc, uint8_t* out) {
  RecordLayout layout = {.crc = 0,
                         .length = header.length,
                         .lsn = header.lsn,
                         .synced = header.synced,
                         .epoch = header.epoch,
                         .type = header.type,
                         .zero = {}};
  layout.crc = HeaderCrc(layout, payload_crc);
  StoreLe(out, layout);
}

std::string WalSegmentName(Lsn first) { return fmt::format("{:020}{}", first, kLogSuffix); }

std::optional<Lsn> ParseWalSegmentName(const std::string& name) {
  if (name.size() != kDigits + kLogSuffix.size() || !name.ends_with(kLogSuffix)) return std::nullopt;
  Lsn first = 0;
  for (const char digit : name.substr(0, kDigits)) {
    if (digit < '0' || digit > '9' || first > kWalMaxLsn / 10) return std::nullopt;
    first = first * 10 + static_cast<Lsn>(digit - '0');
  }
  return first;
}

Result<WalSegmentScanner> WalSegmentScanner::Open(FileSystem& fs, const std::string& path, Lsn first,
                                                  size_t read_bytes) {
  ASSIGN_OR_RETURN(auto file, fs.Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  WalSegmentScanner scanner(std::move(file), size, read_bytes);
  ASSIGN_OR_RETURN(const Bytes bytes, scanner.Window(0, std::min(size, kWalSegmentHeader)));
  ASSIGN_OR_RETURN(scanner.header_, DecodeWalSegmentHeader(bytes, path));
  if (scanner.header_.first != first) {
    return Corruption("{}: offset 16: the header is that of segment {}", path, scanner.header_.first);
  }
  scanner.synced_ = first;
  return scanner;
}

Result<Bytes> WalSegmentScanner::Window(uint64_t offset, uint64_t count) {
  if (offset < window_offset_ || offset + count > window_offset_ + window_bytes_) {
    const uint64_t wanted = std::min(std::max<uint64_t>(count, read_bytes_), size_ - offset);
    if (wanted > window_capacity_) {
      window_ = std::make_unique_for_overwrite<uint8_t[]>(wanted);
      window_capacity_ = wanted;
    }
    window_bytes_ = 0;  // if the read fails
    RETURN_IF_ERROR(file_->Read(offset, {window_.get(), wanted}));
    window_offset_ = offset;
    window_bytes_ = wanted;
  }
  return Bytes(window_.get(), window_bytes_).subspan(offset - window_offset_);
}

bool WalSegmentScanner::MayBeginRecord(const uint8_t* at, uint64_t offset) const {
  return LoadLe<uint64_t>(at + offsetof(RecordLayout, lsn)) == header_.first + offset &&
         LoadLe<uint32_t>(at + offsetof(RecordLayout, epoch)) == header_.epoch;
}

Result<std::optional<WalSegmentScanner::Whole>> WalSegmentScanner::RecordAt(uint64_t offset) {
  const auto none = std::optional<Whole>();
  if (offset > size_ || size_ - offset < kWalRecordHeader) return none;
  ASSIGN_OR_RETURN(Bytes bytes, Window(offset, kWalRecordHeader));
  if (!MayBeginRecord(bytes.data(), offset)) return none;
  const auto header = LoadLe<RecordLayout>(bytes.data());
  const uint64_t length = WalRecordBytes(header.length);
  if (size_ - offset < length || header.synced > header.lsn) return none;
  ASSIGN_OR_RETURN(bytes, Window(offset, length));
  const Bytes padded = bytes.subspan(kWalRecordHeader, length - kWalRecordHeader);
  if (HeaderCrc(header, Crc32c(padded)) != header.crc) return none;
  const WalRecord record = {
      .lsn = header.lsn, .end = header.lsn + length, .type = header.type, .payload = padded.first(header.length)};
  return std::optional(Whole{record, header.synced});
}

Result<std::optional<WalRecord>> WalSegmentScanner::Next() {
  ASSIGN_OR_RETURN(const auto whole, RecordAt(offset_));
  if (!whole.has_value()) return std::optional<WalRecord>();
  synced_ = std::max(synced_, whole->synced);
  marked_ = whole->record.type == kWalMark && whole->record.payload.empty() && whole->synced == whole->record.lsn;
  offset_ = whole->record.end - header_.first;
  return std::optional(whole->record);
}

Result<WalRemains> WalSegmentScanner::Remains() {
  WalRemains remains;
  for (uint64_t offset = offset_; offset < size_ && size_ - offset >= kWalRecordHeader;) {
    ASSIGN_OR_RETURN(const Bytes window, Window(offset, kWalRecordHeader));
    size_t at = 0;
    while (at + kWalRecordHeader <= window.size() && !MayBeginRecord(window.data() + at, offset + at)) {
      at += kWalAlignment;
    }
    offset += at;
    if (at + kWalRecordHeader > window.size()) continue;
    remains.any |= offset == offset_;
    ASSIGN_OR_RETURN(const auto whole, RecordAt(offset));
    if (whole.has_value()) {
      remains.any = true;
      remains.synced = std::max(remains.synced, whole->synced);
    }
    offset += kWalAlignment;
  }
  return remains;
}

Result<WalListing> ListWal(FileSystem& fs, const std::string& directory) {
  WalListing listing;
  ASSIGN_OR_RETURN(const bool exists, fs.Exists(directory));
  if (!exists) return listing;
  ASSIGN_OR_RETURN(const auto names, fs.List(directory));
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    if (name.ends_with(kWalSpareSuffix)) listing.spares.push_back(path);
    const auto first = ParseWalSegmentName(name);
    if (!first.has_value()) continue;
    ASSIGN_OR_RETURN(const uint64_t bytes, fs.FileSize(path));
    listing.segments.push_back({.first = *first, .path = path, .bytes = bytes});
  }
  return listing;
}

}  // namespace petalite::store
