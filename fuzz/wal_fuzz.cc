// Opens logs whose segments are foreign bytes. The first byte says where the second segment begins and whether
// checksums are made right, without which few inputs would come further than the first header. Nothing may crash; what
// is replayed must be in order; a log that opens must go on; and a log that does not must open after it was salvaged.

#include <cstdint>
#include <vector>

#include "base/checksum.h"
#include "base/fault_file_system.h"
#include "base/log.h"
#include "store/wal.h"

namespace petalite::store {
namespace {

constexpr const char* kFolder = "wal";

// Makes the header whole, and the records as far as their lengths make sense.
void MendChecksums(MutableBytes segment, Lsn first) {
  if (segment.size() < kWalSegmentHeader) return;
  EncodeWalSegmentHeader({.epoch = 1, .first = first}, segment.data());
  for (size_t at = kWalSegmentHeader; segment.size() - at >= kWalRecordHeader;) {
    uint8_t* header = segment.data() + at;
    const uint32_t length = LoadLe<uint32_t>(header + 4) & 0xff;
    if (segment.size() - at < WalRecordBytes(length)) return;
    const Bytes padded = Bytes(segment).subspan(at + kWalRecordHeader, WalPaddedLength(length));
    // The lowest bit of the checksum's place leaves a record broken.
    const bool broken = (header[0] & 1) != 0;
    const WalRecordHeader fields = {.length = length,
                                    .lsn = first + at,
                                    .synced = LoadLe<uint64_t>(header + 16) % (first + at + 1),
                                    .epoch = 1,
                                    .type = header[28]};
    EncodeWalRecordHeader(fields, Crc32c(padded), header);
    if (broken) ++header[0];
    at += WalRecordBytes(length);
  }
}

void Put(FileSystem& fs, Lsn first, Bytes bytes) {
  const auto file = *fs.Open(std::string(kFolder) + "/" + WalSegmentName(first), OpenMode::kCreate);
  CHECK(file->Write(0, bytes).ok() && file->Sync().ok());
}

struct Opened {
  Status status;
  std::unique_ptr<Wal> wal;
  std::vector<Lsn> records;
};

Opened OpenLog(FileSystem& fs, bool read_only) {
  Opened opened;
  Lsn last = 0;
  auto wal = Wal::Open(fs, kFolder, 0, {.segment_bytes = 4096}, read_only, [&](const WalRecord& record) {
    CHECK(record.lsn >= last && record.end > record.lsn && record.type != kWalMark);
    last = record.end;
    opened.records.push_back(record.lsn);
    return Status::Ok();
  });
  opened.status = wal.status();
  if (wal.ok()) opened.wal = *std::move(wal);
  return opened;
}

void Use(Bytes input) {
  const uint8_t choice = input[0];
  ByteBuffer bytes(input.begin() + 1, input.end());
  const Lsn second = std::min<size_t>(bytes.size(), (choice >> 1) * 16u) / kWalAlignment * kWalAlignment;
  if ((choice & 1) != 0) {
    MendChecksums(MutableBytes(bytes).first(second), 0);
    MendChecksums(MutableBytes(bytes).subspan(second), second);
  }
  FaultFileSystem fs;
  CHECK(fs.CreateDirectories(kFolder).ok() && fs.SyncDirectory(".").ok());
  if (second > 0) Put(fs, 0, Bytes(bytes).first(second));
  Put(fs, second, Bytes(bytes).subspan(second));

  CHECK(CheckWal(fs, kFolder, 0).ok());
  const Opened read = OpenLog(fs, true);
  if (!read.status.ok()) {
    const Status salvaged = SalvageWal(fs, kFolder, 0);
    if (salvaged.code() == StatusCode::kUnsupported) return;
    CHECK(read.status.code() == StatusCode::kCorruption && salvaged.ok());
  }
  Opened opened = OpenLog(fs, false);
  CHECK(opened.status.ok());
  if (read.status.ok()) CHECK(opened.records == read.records);
  const auto appended = opened.wal->Append(1, {});
  CHECK(appended.ok() && opened.wal->Sync(appended->end).ok());
  fs.FailFrom(1, Fault::kIoError);
  opened.wal.reset();
  fs.Crash(1);
  const Opened again = OpenLog(fs, false);
  CHECK(again.status.ok());
  opened.records.push_back(appended->lsn);
  CHECK(again.records == opened.records);
}

}  // namespace
}  // namespace petalite::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  petalite::SetLogLevel(petalite::LogLevel::kOff);
  if (size > 0) petalite::store::Use({data, size});
  return 0;
}
