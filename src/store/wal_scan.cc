#include "store/wal_scan.h"

#include <algorithm>

#include "base/log.h"

namespace petalite::store {
namespace {

constexpr size_t kReadBytes = 1 << 20;      // stays in the processor's cache
constexpr size_t kCarefulReadBytes = 4096;  // so that an unreadable sector takes no readable record with it

// Decides about the place where whole records stop: ok if nothing behind it was durable.
Status JudgeEnd(const WalFile& segment, WalSegmentScanner& scanner, std::optional<Lsn> next, Lsn from,
                WalSegmentScan* scan) {
  if (next.has_value() && scan->end == *next) return Status::Ok();
  Lsn durable = std::max(from, next.value_or(0));
  if (!next.has_value()) {
    ASSIGN_OR_RETURN(const WalRemains remains, scanner.Remains());
    durable = std::max(durable, remains.synced);
    scan->torn = remains.any && durable <= scan->end;
  }
  if (durable <= scan->end) return Status::Ok();
  return Corruption("{}: offset {}: no whole record of the log, which was durable up to position {}", segment.path,
                    scan->end - segment.first, durable);
}

// Reads a segment up to `next`, the first position of the following one. `scan` says how far it came, whatever happens.
Status ScanSegment(FileSystem& fs, const WalFile& segment, std::optional<Lsn> next, Lsn from, size_t read_bytes,
                   const WalReplay& replay, WalSegmentScan* scan) {
  *scan = {.start = segment.first, .end = segment.first, .data_end = segment.first, .bytes = segment.bytes};
  ASSIGN_OR_RETURN(auto scanner, WalSegmentScanner::Open(fs, segment.path, segment.first, read_bytes));
  scan->epoch = scanner.header().epoch;
  scan->bytes = scanner.file_bytes();
  // Behind the file's end there is nothing to go to: JudgeEnd will say so.
  if (from > scanner.position() && from - segment.first <= scan->bytes) scanner.Seek(from);
  scan->start = scan->end = scan->data_end = scanner.position();
  while (!next.has_value() || scanner.position() < *next) {
    ASSIGN_OR_RETURN(const auto record, scanner.Next());
    if (!record.has_value()) break;
    if (next.has_value() && record->end > *next) {
      return Corruption("{}: offset {}: a record reaches into the next segment", segment.path,
                        record->lsn - segment.first);
    }
    scan->end = record->end;
    if (record->type == kWalMark) continue;
    scan->data_end = record->end;
    ++scan->records;
    RETURN_IF_ERROR(replay(*record));
  }
  scan->synced = std::max(scanner.synced(), from);
  scan->marked = scanner.marked();
  return JudgeEnd(segment, scanner, next, from, scan);
}

// The segment in which reading begins, or what is wrong if there is none.
Result<size_t> FirstSegment(const WalListing& listing, const std::string& directory, Lsn from) {
  if (from % kWalAlignment != 0 || from > kWalMaxLsn) {
    return Corruption("{}: no record of the log begins or ends at position {}", directory, from);
  }
  const auto& segments = listing.segments;
  const auto behind =
      std::find_if(segments.begin(), segments.end(), [&](const WalFile& segment) { return segment.first > from; });
  if (behind != segments.begin()) return static_cast<size_t>(behind - segments.begin()) - 1;
  if (segments.empty() && from == 0) return size_t{0};
  return Corruption("{}: the log's segment with position {} is missing", directory, from);
}

std::optional<Lsn> NextFirst(const WalListing& listing, size_t index) {
  if (index + 1 >= listing.segments.size()) return std::nullopt;
  return listing.segments[index + 1].first;
}

// The first of "<path>.damaged", "<path>.damaged.2", … that is free.
Result<std::string> DamagedName(FileSystem& fs, const std::string& path) {
  for (uint64_t n = 1;; ++n) {
    const std::string name = n == 1 ? path + ".damaged" : fmt::format("{}.damaged.{}", path, n);
    ASSIGN_OR_RETURN(const bool exists, fs.Exists(name));
    if (!exists) return name;
  }
}

// What cannot be read is zeros in the copy. A copy that was interrupted is taken up again under its name.
Status CopyDamaged(FileSystem& fs, const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const auto source, fs.Open(from, OpenMode::kRead));
  ASSIGN_OR_RETURN(const uint64_t size, source->Size());
  const std::string unfinished = from + ".copy";
  ASSIGN_OR_RETURN(const auto target, fs.Open(unfinished, OpenMode::kCreate));
  RETURN_IF_ERROR(target->Truncate(0));
  for (uint64_t offset = 0; offset < size; offset += kCarefulReadBytes) {
    ByteBuffer piece(std::min<uint64_t>(kCarefulReadBytes, size - offset));
    if (const Status status = source->Read(offset, piece); !status.ok()) {
      Log(LogLevel::kWarn, "{}: the copy has zeros at offset {}: {}", to, offset, status.message());
      std::fill(piece.begin(), piece.end(), 0);
    }
    RETURN_IF_ERROR(target->Write(offset, piece));
  }
  RETURN_IF_ERROR(target->Sync());
  return fs.Rename(unfinished, to);
}

// A log that ends in front of `from`, or begins behind it, goes on at `from`: that much has been durable elsewhere.
Status BeginAt(FileSystem& fs, const std::string& directory, Lsn from, uint32_t epoch) {
  const std::string path = directory + "/" + WalSegmentName(from);
  const std::string unfinished = path + kWalSpareSuffix;
  ASSIGN_OR_RETURN(const auto file, fs.Open(unfinished, OpenMode::kCreate));
  uint8_t header[kWalSegmentHeader];
  EncodeWalSegmentHeader({.epoch = epoch, .first = from}, header);
  RETURN_IF_ERROR(file->Truncate(0));
  RETURN_IF_ERROR(file->Write(0, header));
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(fs.Rename(unfinished, path));
  return fs.SyncDirectory(directory);
}

Status MoveAway(FileSystem& fs, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string name, DamagedName(fs, path));
  Log(LogLevel::kWarn, "{}: moved to {}", path, name);
  return fs.Rename(path, name);
}

// Cuts `check` behind its last whole record, or moves it away if it has not even a header.
Status CutSegment(FileSystem& fs, const WalSegmentCheck& check) {
  if (check.scan.epoch == 0) return MoveAway(fs, check.path);
  ASSIGN_OR_RETURN(const std::string name, DamagedName(fs, check.path));
  RETURN_IF_ERROR(CopyDamaged(fs, check.path, name));
  Log(LogLevel::kWarn, "{}: cut at offset {}; copied to {}", check.path, check.scan.end - check.first, name);
  ASSIGN_OR_RETURN(const auto file, fs.Open(check.path, OpenMode::kReadWrite));
  RETURN_IF_ERROR(file->Truncate(check.scan.end - check.first));
  return file->Sync();
}

}  // namespace

Result<WalScan> ScanWal(FileSystem& fs, const std::string& directory, Lsn from, const WalReplay& replay) {
  WalScan scan;
  ASSIGN_OR_RETURN(scan.listing, ListWal(fs, directory));
  ASSIGN_OR_RETURN(scan.first_read, FirstSegment(scan.listing, directory, from));
  for (size_t i = scan.first_read; i < scan.listing.segments.size(); ++i) {
    scan.last.emplace();
    RETURN_IF_ERROR(
        ScanSegment(fs, scan.listing.segments[i], NextFirst(scan.listing, i), from, kReadBytes, replay, &*scan.last));
  }
  return scan;
}

Result<WalCheck> CheckWal(FileSystem& fs, const std::string& directory, Lsn from) {
  WalCheck check;
  ASSIGN_OR_RETURN(const WalListing listing, ListWal(fs, directory));
  const auto first = FirstSegment(listing, directory, from);
  if (!first.ok()) check.damage = first.status();
  for (size_t i = first.ok() ? *first : 0; i < listing.segments.size(); ++i) {
    const WalFile& segment = listing.segments[i];
    WalSegmentCheck& each = check.segments.emplace_back();
    each.path = segment.path;
    each.first = segment.first;
    each.damage = ScanSegment(
        fs, segment, NextFirst(listing, i), from, kCarefulReadBytes, [](const WalRecord&) { return Status::Ok(); },
        &each.scan);
  }
  return check;
}

Status SalvageWal(FileSystem& fs, const std::string& directory, Lsn from) {
  if (from % kWalAlignment != 0 || from > kWalMaxLsn) return InvalidArgument("no position of the log can be {}", from);
  RETURN_IF_ERROR(fs.CreateDirectories(directory));
  ASSIGN_OR_RETURN(const WalCheck check, CheckWal(fs, directory, from));
  if (check.sound()) return Status::Ok();
  // What a newer program wrote is not damaged.
  for (const WalSegmentCheck& segment : check.segments) {
    if (segment.damage.code() == StatusCode::kUnsupported) return segment.damage;
  }
  // What the spares hold was written in epochs that will be used again.
  ASSIGN_OR_RETURN(const WalListing listing, ListWal(fs, directory));
  for (const std::string& spare : listing.spares) RETURN_IF_ERROR(fs.Remove(spare));
  uint32_t epoch = 0;
  size_t damaged = 0;  // the first segment that is not whole
  while (damaged < check.segments.size() && check.damage.ok() && check.segments[damaged].damage.ok()) ++damaged;
  for (const WalSegmentCheck& segment : check.segments) epoch = std::max(epoch, segment.scan.epoch);
  // The last ones first: until the damaged one is cut, the log shows that it is damaged.
  for (size_t i = check.segments.size(); i-- > damaged + 1;) RETURN_IF_ERROR(MoveAway(fs, check.segments[i].path));
  RETURN_IF_ERROR(fs.SyncDirectory(directory));
  Lsn end = damaged == 0 ? 0 : check.segments[damaged - 1].scan.end;
  if (damaged < check.segments.size()) {
    const bool within = check.damage.ok();
    RETURN_IF_ERROR(within ? CutSegment(fs, check.segments[damaged]) : MoveAway(fs, check.segments[damaged].path));
    if (within && check.segments[damaged].scan.epoch != 0) end = check.segments[damaged].scan.end;
  }
  RETURN_IF_ERROR(fs.SyncDirectory(directory));
  return end < from ? BeginAt(fs, directory, from, epoch + 1) : Status::Ok();
}

}  // namespace petalite::store
