#include "store/wal_files.h"

#include <algorithm>
#include <utility>

namespace petalite::store {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kRewriteBytes = 1 << 20;

void EncodeMark(Lsn at, uint32_t epoch, uint8_t* out) {
  EncodeWalRecordHeader({.length = 0, .lsn = at, .synced = at, .epoch = epoch, .type = kWalMark}, 0, out);
}

std::string ParentOf(const std::string& directory) {
  const size_t slash = directory.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : directory.substr(0, slash);
}

}  // namespace

Status SealWalSegment(FileSystem& fs, const WalFile& segment, uint32_t epoch, Lsn synced, Lsn end) {
  ASSIGN_OR_RETURN(const auto file, fs.Open(segment.path, OpenMode::kReadWrite));
  // What can be read need not be on the disk: after a failed fdatasync it is shown until the machine stops. So it is
  // written again, not only synced again.
  for (Lsn at = synced; at < end; at += kRewriteBytes) {
    ByteBuffer piece(std::min(kRewriteBytes, end - at));
    RETURN_IF_ERROR(file->Read(at - segment.first, piece));
    RETURN_IF_ERROR(file->Write(at - segment.first, piece));
  }
  RETURN_IF_ERROR(file->Truncate(end - segment.first));
  RETURN_IF_ERROR(file->Sync());
  // Only now: a mark that a crash keeps must not speak for records that it does not keep, nor be followed by what stood
  // behind the cut.
  uint8_t mark[kWalRecordHeader];
  EncodeMark(end, epoch, mark);
  RETURN_IF_ERROR(file->Write(end - segment.first, mark));
  return file->Sync();
}

WalFiles::WalFiles(FileSystem& fs, std::string directory, uint64_t segment_bytes, size_t spare_segments, uint32_t epoch,
                   WalListing listing, std::optional<Tail> tail)
    : fs_(fs),
      directory_(std::move(directory)),
      segment_bytes_(segment_bytes),
      spare_segments_(spare_segments),
      epoch_(epoch),
      tail_(std::move(tail)),
      segments_(std::move(listing.segments)),
      spares_(std::move(listing.spares)) {}

Status WalFiles::Prepare() {
  const std::lock_guard lock(mutex_);
  if (segments_.empty()) {
    RETURN_IF_ERROR(fs_.CreateDirectories(directory_));
    RETURN_IF_ERROR(fs_.SyncDirectory(ParentOf(directory_)));
  }
  std::vector<std::string> kept;
  for (const std::string& spare : spares_) {
    ASSIGN_OR_RETURN(const uint64_t bytes, fs_.FileSize(spare));
    if (kept.size() < spare_segments_ && bytes == segment_bytes_) {
      kept.push_back(spare);
    } else {
      RETURN_IF_ERROR(fs_.Remove(spare));
    }
  }
  spares_ = std::move(kept);
  // Names that a process left undurable, when it could not sync the folder, are made so before they are relied on.
  return fs_.SyncDirectory(directory_);
}

Result<std::unique_ptr<RandomFile>> WalFiles::OpenSpare(uint64_t bytes, std::string* path) {
  const std::lock_guard lock(mutex_);
  if (bytes == segment_bytes_ && !spares_.empty()) {
    *path = spares_.back();
    spares_.pop_back();
    ++counters_.segments_recycled;
    return fs_.Open(*path, OpenMode::kReadWrite);
  }
  ++counters_.segments_created;
  return fs_.Open(*path, OpenMode::kCreate);
}

Status WalFiles::SecureTail() {
  if (!tail_.has_value()) return Status::Ok();
  ASSIGN_OR_RETURN(const auto file, fs_.Open(tail_->segment.path, OpenMode::kReadWrite));
  const Lsn at = tail_->end - kWalRecordHeader;
  uint8_t mark[kWalRecordHeader];
  EncodeMark(at, tail_->epoch, mark);
  RETURN_IF_ERROR(file->Write(at - tail_->segment.first, mark));
  RETURN_IF_ERROR(file->Truncate(tail_->end - tail_->segment.first));
  RETURN_IF_ERROR(file->Sync());
  Count(&Counters::syncs);
  tail_.reset();
  return Status::Ok();
}

Status WalFiles::Begin(Lsn first, uint64_t bytes) {
  RETURN_IF_ERROR(SecureTail());
  const WalFile segment = {.first = first, .path = directory_ + "/" + WalSegmentName(first), .bytes = bytes};
  std::string path = segment.path + kWalSpareSuffix;
  ASSIGN_OR_RETURN(auto file, OpenSpare(bytes, &path));
  RETURN_IF_ERROR(file->Allocate(bytes));
  // A whole page: a write that begins or ends within one that is not in memory would make the system read it first.
  ByteBuffer page(std::min(kPage, bytes));
  EncodeWalSegmentHeader({.epoch = epoch_, .first = first}, page.data());
  RETURN_IF_ERROR(file->Write(0, page));
  RETURN_IF_ERROR(file->Sync());
  Count(&Counters::syncs);
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(fs_.Rename(path, segment.path));
    RETURN_IF_ERROR(fs_.SyncDirectory(directory_));
    segments_.push_back(segment);
  }
  // Once more, under the name that errors are to give.
  ASSIGN_OR_RETURN(file_, fs_.Open(segment.path, OpenMode::kReadWrite));
  first_ = first;
  return Status::Ok();
}

Status WalFiles::Write(Lsn at, Bytes data) {
  RETURN_IF_ERROR(file_->Write(at - first_, data));
  Count(&Counters::bytes_written, data.size());
  return Status::Ok();
}

Status WalFiles::Sync() {
  RETURN_IF_ERROR(file_->Sync());
  Count(&Counters::syncs);
  return Status::Ok();
}

Status WalFiles::Seal(Lsn at) {
  uint8_t mark[kWalRecordHeader];
  EncodeMark(at, epoch_, mark);
  RETURN_IF_ERROR(file_->Write(at - first_, mark));
  RETURN_IF_ERROR(file_->Truncate(at + kWalRecordHeader - first_));
  return file_->Sync();
}

Status WalFiles::Truncate(Lsn keep_from) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> recycled;
  size_t gone = 0;
  Status status;
  // The oldest first, so that a crash in between leaves no gap.
  while (status.ok() && gone + 1 < segments_.size() && segments_[gone + 1].first <= keep_from) {
    const WalFile& segment = segments_[gone];
    const bool reuse = segment.bytes == segment_bytes_ && spares_.size() + recycled.size() < spare_segments_;
    status = reuse ? fs_.Rename(segment.path, segment.path + kWalSpareSuffix) : fs_.Remove(segment.path);
    if (!status.ok()) break;
    if (reuse) recycled.push_back(segment.path + kWalSpareSuffix);
    ++gone;
  }
  segments_.erase(segments_.begin(), segments_.begin() + static_cast<ptrdiff_t>(gone));
  if (gone == 0) return status;
  // Until that is durable, a recycled file may turn up as the segment it was: it must not be written to.
  RETURN_IF_ERROR(fs_.SyncDirectory(directory_));
  spares_.insert(spares_.end(), recycled.begin(), recycled.end());
  return status;
}

WalFiles::Counters WalFiles::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void WalFiles::Count(uint64_t Counters::* counter, uint64_t n) {
  const std::lock_guard lock(mutex_);
  counters_.*counter += n;
}

}  // namespace petalite::store
