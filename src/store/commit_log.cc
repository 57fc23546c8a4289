#include "store/commit_log.h"

#include <algorithm>
#include <vector>

#include "store/clock.h"

namespace petalite::store {

CommitLog::CommitLog(std::unique_ptr<Wal> wal, uint64_t visible)
    : wal_(std::move(wal)), visible_(visible), last_(visible) {}

Result<CommitLog::Ticket> CommitLog::Append(std::span<const Bytes> body, OnVisible on_visible) {
  const std::lock_guard append_lock(append_mutex_);
  const uint64_t commit = last_.load(std::memory_order_relaxed) + 1;
  const int64_t time = std::max(NowMicros(), last_time_.load(std::memory_order_relaxed));
  ByteBuffer header;
  AppendLe<uint64_t>(header, commit);
  AppendLe<int64_t>(header, time);
  std::vector<Bytes> parts = {header};
  parts.insert(parts.end(), body.begin(), body.end());
  ASSIGN_OR_RETURN(const auto position, wal_->Append(static_cast<uint8_t>(RecordType::kCommit), parts));
  last_.store(commit, std::memory_order_release);
  last_time_.store(time, std::memory_order_relaxed);
  const Ticket ticket{commit, position.lsn, position.end, time};
  const std::lock_guard lock(mutex_);
  pending_.push_back({ticket, false, std::move(on_visible)});
  return ticket;
}

void CommitLog::Applied(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  FindPending(ticket.commit).applied = true;
  Publish();
}

// Under mutex_.
CommitLog::Pending& CommitLog::FindPending(uint64_t commit) {
  const auto found = std::lower_bound(pending_.begin(), pending_.end(), commit,
                                      [](const Pending& each, uint64_t wanted) { return each.ticket.commit < wanted; });
  CHECK(found != pending_.end() && found->ticket.commit == commit);
  return *found;
}

// Under mutex_.
void CommitLog::Publish() {
  bool any = false;
  while (!pending_.empty() && pending_.front().applied && pending_.front().ticket.end <= durable_) {
    if (pending_.front().on_visible) pending_.front().on_visible(pending_.front().ticket.commit);
    visible_.store(pending_.front().ticket.commit, std::memory_order_release);
    pending_.pop_front();
    any = true;
  }
  if (any) published_.notify_all();
}

Status CommitLog::WaitVisible(const Ticket& ticket) {
  RETURN_IF_ERROR(wal_->WaitDurable(ticket.end));
  std::unique_lock lock(mutex_);
  durable_ = std::max(durable_, ticket.end);
  Publish();
  // What comes before is durable too, and those who append it apply it without waiting for anybody.
  published_.wait(lock, [&] { return visible_.load(std::memory_order_relaxed) >= ticket.commit; });
  return Status::Ok();
}

Status CommitLog::WaitVisible(uint64_t commit) {
  Ticket ticket;
  {
    const std::lock_guard lock(mutex_);
    if (visible_.load(std::memory_order_relaxed) >= commit) return Status::Ok();
    ticket = FindPending(commit).ticket;
  }
  return WaitVisible(ticket);
}

Status CommitLog::AppendStorage(std::span<const Bytes> body, const std::function<void(Lsn)>& under_lock) {
  const std::lock_guard append_lock(append_mutex_);
  ASSIGN_OR_RETURN(const auto position, wal_->Append(static_cast<uint8_t>(RecordType::kStorage), body));
  under_lock(position.end);
  return Status::Ok();
}

void CommitLog::WithLogStill(const std::function<void(Lsn)>& f) {
  const std::lock_guard append_lock(append_mutex_);
  f(wal_->end());
}

}  // namespace petalite::store
