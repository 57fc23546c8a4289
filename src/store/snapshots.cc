#include "store/snapshots.h"

#include <algorithm>

#include "petalite/value.h"

namespace petalite::store {
namespace {

// Commits of one such stretch of time are told apart by number only.
constexpr int64_t kResolution = 10'000;

}  // namespace

HorizonHold::HorizonHold(Snapshots& snapshots) : snapshots_(snapshots), commit_(snapshots.HoldHorizon()) {}

HorizonHold::~HorizonHold() { snapshots_.Release(commit_); }

void Snapshots::Note(const CommitTime& commit) {
  const std::lock_guard lock(mutex_);
  auto behind = times_.end();
  while (behind != times_.begin() && std::prev(behind)->commit > commit.commit) --behind;
  const auto same_stretch = [&](const CommitTime& each) {
    return each.time / kResolution == commit.time / kResolution;
  };
  if (behind != times_.end() && same_stretch(*behind)) return;
  // The stretch's last moment with its last commit: a time within it then means the stretch before, never a later
  // commit.
  if (behind != times_.begin() && same_stretch(*std::prev(behind))) {
    *std::prev(behind) = commit;
  } else {
    times_.insert(behind, commit);
  }
}

Status Snapshots::TooOld() const {
  if (times_.empty()) return InvalidArgument("there is no history yet");
  const Type type = Type::Of(TypeId::kTimestampTz);
  return InvalidArgument("the history goes back to version {} of {}; older versions are gone (history_retention)",
                         std::max(horizon_, times_.front().commit), Value(times_.front().time).ToString(type));
}

Result<uint64_t> Snapshots::CommitAt(int64_t time) const {
  const std::lock_guard lock(mutex_);
  const auto behind = std::upper_bound(times_.begin(), times_.end(), time,
                                       [](int64_t wanted, const CommitTime& each) { return wanted < each.time; });
  if (behind == times_.begin()) return TooOld();
  const uint64_t commit = std::prev(behind)->commit;
  if (commit < horizon_) return TooOld();
  return commit;
}

Status Snapshots::CheckReadable(uint64_t commit) const {
  const std::lock_guard lock(mutex_);
  return commit < horizon_ ? TooOld() : Status::Ok();
}

void Snapshots::Hold(uint64_t commit) {
  const std::lock_guard lock(mutex_);
  CHECK(commit >= horizon_);
  held_.insert(commit);
}

uint64_t Snapshots::HoldHorizon() {
  const std::lock_guard lock(mutex_);
  held_.insert(horizon_);
  return horizon_;
}

Status Snapshots::TryHold(uint64_t commit) {
  const std::lock_guard lock(mutex_);
  if (commit < horizon_) return TooOld();
  held_.insert(commit);
  return Status::Ok();
}

void Snapshots::Release(uint64_t commit) {
  const std::lock_guard lock(mutex_);
  held_.erase(held_.find(commit));
}

uint64_t Snapshots::Advance(int64_t now, uint64_t visible) {
  const std::lock_guard lock(mutex_);
  const auto behind = std::upper_bound(times_.begin(), times_.end(), now - retention_,
                                       [](int64_t wanted, const CommitTime& each) { return wanted < each.time; });
  uint64_t horizon = behind == times_.begin() ? 0 : std::prev(behind)->commit;
  if (retention_ == 0) horizon = visible;
  horizon = std::min(horizon, visible);
  if (!held_.empty()) horizon = std::min(horizon, *held_.begin());
  horizon_ = std::max(horizon_, horizon);
  while (times_.size() > 1 && times_[1].commit <= horizon_) times_.pop_front();
  return horizon_;
}

uint64_t Snapshots::horizon() const {
  const std::lock_guard lock(mutex_);
  return horizon_;
}

void Snapshots::RestoreHorizon(uint64_t horizon) {
  const std::lock_guard lock(mutex_);
  horizon_ = std::max(horizon_, horizon);
}

std::vector<CommitTime> Snapshots::Times() const {
  const std::lock_guard lock(mutex_);
  return {times_.begin(), times_.end()};
}

}  // namespace petalite::store
