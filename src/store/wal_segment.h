// A segment of the write-ahead log as it stands on disk (docs/format.md, "WAL segments"): its header, its records, and
// the scanner that reads them back from bytes it does not trust.
//
// The log is one endless sequence of bytes; an LSN is a position in it. A segment holds the positions from its first
// LSN on, its own header included: the byte at position p stands at offset p - first of the file. So a record's place,
// its LSN and its segment's name say the same thing three times, and a record that was left behind by an earlier use of
// the file contradicts them.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file_system.h"
#include "base/status.h"

namespace petalite::store {

using Lsn = uint64_t;

inline constexpr uint64_t kWalSegmentHeader = 32;
inline constexpr uint64_t kWalRecordHeader = 32;
inline constexpr uint64_t kWalAlignment = 8;
inline constexpr uint32_t kWalFormatVersion = 1;
inline constexpr uint64_t kWalMaxPayload = UINT32_MAX;
inline constexpr Lsn kWalMaxLsn = Lsn{1} << 62;  // no sum of a position and a length overflows
inline constexpr uint8_t kWalMark = 0;           // a record without payload: the log is synced up to here

// A record, header and padding included, takes the positions from lsn to end.
struct WalRecord {
  Lsn lsn = 0;
  Lsn end = 0;
  uint8_t type = 0;
  Bytes payload;
};

struct WalSegmentHeader {
  uint32_t epoch = 0;  // greater in each run of the log that wrote a segment
  Lsn first = 0;
};

constexpr uint64_t WalPaddedLength(uint64_t length) {
  return (length + kWalAlignment - 1) / kWalAlignment * kWalAlignment;
}
constexpr uint64_t WalRecordBytes(uint64_t payload) { return kWalRecordHeader + WalPaddedLength(payload); }

void EncodeWalSegmentHeader(const WalSegmentHeader& header, uint8_t* out);  // kWalSegmentHeader bytes
// `path` is for the error: kCorruption, or kUnsupported for a newer version.
Result<WalSegmentHeader> DecodeWalSegmentHeader(Bytes bytes, const std::string& path);

// The header of a record. `payload_crc` is the CRC-32C of the payload and its padding: it takes long, so it is computed
// before the position is known.
struct WalRecordHeader {
  uint32_t length = 0;  // of the payload without padding
  Lsn lsn = 0;
  Lsn synced = 0;  // everything in front of this was durable when the record was made
  uint32_t epoch = 0;
  uint8_t type = 0;
};
void EncodeWalRecordHeader(const WalRecordHeader& header, uint32_t payload_crc, uint8_t* out);

// "<lsn as 20 decimal digits>.log", and back.
std::string WalSegmentName(Lsn first);
std::optional<Lsn> ParseWalSegmentName(const std::string& name);

// What stands behind the last whole record of a segment.
struct WalRemains {
  bool any = false;  // the beginning of a record, or whole ones further on
  Lsn synced = 0;    // the farthest position that a whole record says was durable
};

// Reads a segment from front to back. Never fails on what the bytes are, only on what cannot be read: bytes that are no
// whole record end the scan. Not thread-safe.
class WalSegmentScanner {
 public:
  // `read_bytes` at a time, unless a record is longer. An error if the header is damaged or is another segment's.
  static Result<WalSegmentScanner> Open(FileSystem& fs, const std::string& path, Lsn first, size_t read_bytes);

  const WalSegmentHeader& header() const { return header_; }
  uint64_t file_bytes() const { return size_; }
  // Where the next record would begin.
  Lsn position() const { return header_.first + offset_; }
  // The farthest position that the header or a record seen so far says was durable.
  Lsn synced() const { return synced_; }
  // Whether the last record was a mark, made when nothing in front of it was waiting for a sync.
  bool marked() const { return marked_; }

  // Continues at `lsn`, which is the end of a record within the file.
  void Seek(Lsn lsn) { offset_ = lsn - header_.first; }
  // The next record if it is whole. Marks are among them. Its payload lives until the next call.
  Result<std::optional<WalRecord>> Next();
  // Looks for whole records behind the place where Next found none.
  Result<WalRemains> Remains();

 private:
  struct Whole {
    WalRecord record;
    Lsn synced;
  };

  WalSegmentScanner(std::unique_ptr<RandomFile> file, uint64_t size, size_t read_bytes)
      : file_(std::move(file)), size_(size), read_bytes_(read_bytes) {}

  // At least `count` bytes of the file from `offset`, which are within it. Live until the next call.
  Result<Bytes> Window(uint64_t offset, uint64_t count);
  bool MayBeginRecord(const uint8_t* at, uint64_t offset) const;
  Result<std::optional<Whole>> RecordAt(uint64_t offset);

  std::unique_ptr<RandomFile> file_;
  uint64_t size_;
  size_t read_bytes_;
  WalSegmentHeader header_;
  uint64_t offset_ = kWalSegmentHeader;
  Lsn synced_ = 0;
  bool marked_ = false;

  std::unique_ptr<uint8_t[]> window_;
  uint64_t window_capacity_ = 0;
  uint64_t window_offset_ = 0;
  uint64_t window_bytes_ = 0;
};

// The files of a log's folder. Names that are neither are left alone.
struct WalFile {
  Lsn first = 0;
  std::string path;
  uint64_t bytes = 0;
};
struct WalListing {
  std::vector<WalFile> segments;    // in order
  std::vector<std::string> spares;  // paths of files that wait to become segments
};
// An absent folder is an empty one.
Result<WalListing> ListWal(FileSystem& fs, const std::string& directory);
inline constexpr const char* kWalSpareSuffix = ".spare";

}  // namespace petalite::store
