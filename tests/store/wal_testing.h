// What the tests of the write-ahead log share.

#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "base/log.h"
#include "store/wal.h"

namespace petalite::store {

constexpr const char* kWalFolder = "db/wal";

struct Record {
  Lsn lsn;
  Lsn end;
  uint8_t type;
  std::string payload;

  bool operator==(const Record&) const = default;
};

inline void PrintTo(const Record& record, std::ostream* out) {
  *out << record.lsn << ".." << record.end << " (" << record.payload.size() << " bytes of type " << int{record.type}
       << ")";
}

// Small segments, and no thread that writes when it likes.
inline WalOptions SmallSegments(Durability durability = Durability::kSync) {
  return {.segment_bytes = 4096, .durability = durability, .async_interval_ms = 1 << 30};
}

// Keeps warnings that a test provokes out of its output.
class QuietLog {
 public:
  QuietLog() : level_(CurrentLogLevel()) { SetLogLevel(LogLevel::kOff); }
  ~QuietLog() { SetLogLevel(level_); }

 private:
  LogLevel level_;
};

// A log and what its opening replayed.
struct OpenedWal {
  std::unique_ptr<Wal> wal;
  std::vector<Record> replayed;
};

inline Result<OpenedWal> OpenWal(FileSystem& fs, Lsn from = 0, const WalOptions& options = SmallSegments(),
                                 bool read_only = false) {
  OpenedWal opened;
  ASSIGN_OR_RETURN(
      opened.wal, Wal::Open(fs, kWalFolder, from, options, read_only, [&](const WalRecord& record) {
        opened.replayed.push_back({record.lsn, record.end, record.type, std::string(AsText(record.payload))});
        return Status::Ok();
      }));
  return opened;
}

// A log without records in an empty file system.
inline std::unique_ptr<Wal> MakeWal(FileSystem& fs, const WalOptions& options = SmallSegments()) {
  EXPECT_TRUE(fs.CreateDirectories("db").ok());
  EXPECT_TRUE(fs.SyncDirectory(".").ok());
  auto opened = OpenWal(fs, 0, options);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return opened.ok() ? std::move(opened->wal) : nullptr;
}

inline Result<Record> AppendText(Wal& wal, uint8_t type, const std::string& payload) {
  const Bytes bytes = AsBytes(payload);
  const Bytes parts[] = {bytes.first(payload.size() / 3), bytes.subspan(payload.size() / 3)};
  ASSIGN_OR_RETURN(const WalPosition position, wal.Append(type, parts));
  return Record{position.lsn, position.end, type, payload};
}

// The power fails: nothing that the log still does reaches the disk.
inline void CrashWal(FaultFileSystem& fs, std::unique_ptr<Wal> wal, uint64_t seed) {
  const QuietLog quiet;
  fs.FailFrom(1, Fault::kIoError);
  wal.reset();
  fs.Crash(seed);
}

inline std::string SegmentPath(Lsn first) { return std::string(kWalFolder) + "/" + WalSegmentName(first); }

// Every file of the log and its bytes.
inline std::vector<std::pair<std::string, ByteBuffer>> WalContents(FileSystem& fs) {
  std::vector<std::pair<std::string, ByteBuffer>> contents;
  const auto names = fs.List(kWalFolder);
  if (!names.ok()) return contents;
  for (const std::string& name : *names) contents.emplace_back(name, *fs.ReadAll(std::string(kWalFolder) + "/" + name));
  return contents;
}

inline void FlipBit(FileSystem& fs, const std::string& path, uint64_t bit) {
  const auto file = *fs.Open(path, OpenMode::kReadWrite);
  uint8_t byte;
  ASSERT_TRUE(file->Read(bit / 8, {&byte, 1}).ok());
  byte = static_cast<uint8_t>(byte ^ (1 << bit % 8));
  ASSERT_TRUE(file->Write(bit / 8, {&byte, 1}).ok());
  ASSERT_TRUE(file->Sync().ok());
}

}  // namespace petalite::store
