#include "store/wal.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/log.h"
#include "base/thread_name.h"

namespace petalite::store {
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kBlockBytes = 1 << 20;
constexpr size_t kFreeBlocks = 4;
constexpr uint64_t kEagerBytes = 1 << 20;  // so much is written before somebody asks for it
constexpr uint8_t kZeros[kPage] = {};

uint64_t RoundUpToPage(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

Result<std::unique_ptr<Wal>> Wal::Open(FileSystem& fs, std::string directory, Lsn from, const WalOptions& options,
                                       bool read_only, const WalReplay& replay) {
  ASSIGN_OR_RETURN(WalScan scan, ScanWal(fs, directory, from, replay));
  std::unique_ptr<Wal> wal(new Wal(options, read_only));
  std::optional<WalFiles::Tail> tail;
  if (scan.last.has_value()) {
    const WalSegmentScan& last = *scan.last;
    WalFile& segment = scan.listing.segments.back();
    if (last.torn) {
      Log(LogLevel::kInfo, "{}: {}torn at offset {}", segment.path, read_only ? "" : "cut: ", last.end - segment.first);
    }
    Lsn end = last.end;
    if (last.marked && end - segment.first == last.bytes) {
      tail = {.segment = segment, .epoch = last.epoch, .end = end};
    } else if (!read_only) {
      RETURN_IF_ERROR(SealWalSegment(fs, segment, last.epoch, std::min(last.synced, end), end));
      end += kWalRecordHeader;
    }
    segment.bytes = end - segment.first;
    wal->epoch_ = last.epoch;
    wal->end_ = wal->durable_ = last.data_end;
    wal->next_ = wal->segment_end_ = end;
  }
  if (read_only) return wal;
  ++wal->epoch_;
  wal->files_ = std::make_unique<WalFiles>(fs, std::move(directory), options.segment_bytes, options.spare_segments,
                                           wal->epoch_, std::move(scan.listing), std::move(tail));
  RETURN_IF_ERROR(wal->files_->Prepare());
  wal->thread_ = std::thread([log = wal.get()] { log->Run(); });
  return wal;
}

Wal::~Wal() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    work_.notify_all();
  }
  thread_.join();
  if (!failure_.ok()) return;  // as its users know
  Status status = Sync(end());
  // The mark lets the next Open tell damage to the last records from a crash.
  if (status.ok() && files_->begun()) status = files_->Seal(next_);
  if (!status.ok()) Log(LogLevel::kWarn, "closing the log: {}", status.message());
}

Wal::Block Wal::TakeBlock(uint64_t bytes) {
  if (bytes <= kBlockBytes && !free_blocks_.empty()) {
    Block block = std::move(free_blocks_.back());
    free_blocks_.pop_back();
    return block;
  }
  Block block;
  block.capacity = std::max<uint64_t>(bytes, kBlockBytes);
  block.data = std::make_unique_for_overwrite<uint8_t[]>(block.capacity + kPage);  // room for the last page's rest
  return block;
}

uint8_t* Wal::Reserve(uint64_t bytes) {
  uint64_t new_segment = 0;
  if (bytes > segment_end_ - next_) {
    new_segment = std::max(options_.segment_bytes, RoundUpToPage(kWalSegmentHeader + bytes));
    segment_end_ = next_ + new_segment;
    next_ += kWalSegmentHeader;
  }
  if (new_segment != 0 || queue_.empty() || queue_.back().capacity - queue_.back().size < bytes) {
    Block block = TakeBlock(bytes);
    block.size = 0;
    block.lsn = next_;
    block.segment_bytes = new_segment;
    block.segment_end = segment_end_;
    queue_.push_back(std::move(block));
  }
  Block& block = queue_.back();
  uint8_t* at = block.data.get() + block.size;
  block.size += bytes;
  queued_ += bytes;
  return at;
}

Result<WalPosition> Wal::Append(uint8_t type, std::span<const Bytes> parts) {
  CHECK(!read_only_ && type != kWalMark);
  uint64_t length = 0;
  uint32_t crc = 0;
  for (const Bytes& part : parts) {
    length += part.size();
    crc = Crc32c(part, crc);
  }
  if (length > kWalMaxPayload) return InvalidArgument("a record of {} bytes: the log takes less than 4 GiB", length);
  const uint64_t padding = WalPaddedLength(length) - length;
  crc = Crc32c(Bytes(kZeros, padding), crc);

  const uint64_t bytes = WalRecordBytes(length);
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;
  const bool was_eager = Eager();
  uint8_t* to = Reserve(bytes);
  const WalPosition position = {.lsn = next_, .end = next_ + bytes};
  EncodeWalRecordHeader(
      {.length = static_cast<uint32_t>(length), .lsn = position.lsn, .synced = durable_, .epoch = epoch_, .type = type},
      crc, to);
  to += kWalRecordHeader;
  for (const Bytes& part : parts) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
  std::memset(to, 0, padding);
  next_ = end_ = position.end;
  ++records_;
  if (thread_idle_ || (!was_eager && Eager())) {
    thread_idle_ = false;
    work_.notify_one();
  }
  return position;
}

Status Wal::WaitForRoom() {
  std::unique_lock lock(mutex_);
  while (failure_.ok() && queued_ + in_flight_ > options_.max_buffered) {
    if (writing_) {
      done_.wait(lock);
    } else {
      WriteOut(lock, false);
    }
  }
  return failure_;
}

Status Wal::WaitDurable(Lsn end) {
  if (options_.durability == Durability::kSync) return Sync(end);
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status Wal::Sync(Lsn end) {
  std::unique_lock lock(mutex_);
  CHECK(end <= end_);
  // What became durable before a failure is durable still, so that is asked first.
  while (durable_ < end) {
    if (!failure_.ok()) return failure_;
    if (writing_) {
      done_.wait(lock);
    } else {
      WriteOut(lock, true);
    }
  }
  return Status::Ok();
}

Status Wal::health() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Lsn Wal::durable() const {
  const std::lock_guard lock(mutex_);
  return durable_;
}

Lsn Wal::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

Status Wal::Truncate(Lsn keep_from) {
  CHECK(!read_only_);
  return files_->Truncate(std::min(keep_from, durable()));
}

WalStatistics Wal::statistics() const {
  const auto counters = read_only_ ? WalFiles::Counters{} : files_->counters();
  const std::lock_guard lock(mutex_);
  return {.records = records_,
          .bytes_written = counters.bytes_written,
          .syncs = counters.syncs,
          .segments_created = counters.segments_created,
          .segments_recycled = counters.segments_recycled};
}

void Wal::Fail(const Status& status) {
  failure_ = Status(status.code(), status.message() + "; the database is read-only until it is opened again");
  queue_.clear();
  queued_ = 0;
}

void Wal::WriteOut(std::unique_lock<std::mutex>& lock, bool sync) {
  CHECK(!writing_);
  writing_ = true;
  std::vector<Block> blocks = std::exchange(queue_, {});
  in_flight_ = std::exchange(queued_, 0);
  const Lsn end = end_;
  Lsn durable = durable_;
  lock.unlock();
  const Status status = WriteBlocks(blocks, sync, end, &durable);
  lock.lock();
  writing_ = false;
  in_flight_ = 0;
  durable_ = std::max(durable_, durable);
  if (!status.ok()) Fail(status);
  for (Block& block : blocks) {
    if (block.capacity == kBlockBytes && free_blocks_.size() < kFreeBlocks) free_blocks_.push_back(std::move(block));
  }
  done_.notify_all();
  if (Eager()) work_.notify_one();
}

Status Wal::WriteBlocks(std::vector<Block>& blocks, bool sync, Lsn end, Lsn* durable) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    Block& block = blocks[i];
    if (block.segment_bytes != 0) {
      const Lsn first = block.lsn - kWalSegmentHeader;
      if (files_->begun()) {
        RETURN_IF_ERROR(files_->Sync());
        *durable = first;
      }
      RETURN_IF_ERROR(files_->Begin(first, block.segment_bytes));
    }
    uint64_t bytes = block.size;
    if (i + 1 == blocks.size() || blocks[i + 1].segment_bytes != 0) {
      // To the end of the page, so that the system need not read it before it writes. Segments begin at any position,
      // but the page is one of the file.
      const uint64_t to_end = block.segment_end - block.lsn;
      const uint64_t rest = (to_end - bytes) % kPage;
      std::memset(block.data.get() + bytes, 0, rest);
      bytes += rest;
    }
    RETURN_IF_ERROR(files_->Write(block.lsn, Bytes(block.data.get(), bytes)));
  }
  if (!sync) return Status::Ok();
  RETURN_IF_ERROR(files_->Sync());
  *durable = end;
  return Status::Ok();
}

bool Wal::Eager() const { return queued_ >= kEagerBytes; }

bool Wal::Unfinished() const {
  if (!failure_.ok()) return false;
  return options_.durability == Durability::kAsync ? durable_ < end_ : queued_ > 0;
}

void Wal::Run() {
  NameThread("petalite-log");
  const bool timed = options_.durability != Durability::kSync;
  std::chrono::steady_clock::time_point due;
  bool armed = false;  // at `due` there is something to do
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (writing_) {
      done_.wait(lock);
      continue;
    }
    if (timed && !armed && Unfinished()) {
      armed = true;
      due = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.async_interval_ms);
    }
    const bool expired = armed && std::chrono::steady_clock::now() >= due;
    if (expired) armed = false;
    if (Eager() || (expired && Unfinished())) {
      WriteOut(lock, expired && options_.durability == Durability::kAsync);
    } else if (armed) {
      work_.wait_until(lock, due);
    } else {
      thread_idle_ = timed;
      work_.wait(lock);
      thread_idle_ = false;
    }
  }
}

}  // namespace petalite::store
