#include "store/delete_log.h"

#include <algorithm>
#include <utility>

#include "base/append_only_vector.h"
#include "base/hash.h"

namespace petalite::store {
namespace {

// Twelve bytes instead of Death's sixteen.
struct PackedDeath {
  uint32_t position;
  uint32_t commit_low;
  uint32_t commit_high;

  explicit PackedDeath(const Death& death)
      : position(death.position),
        commit_low(static_cast<uint32_t>(death.commit)),
        commit_high(static_cast<uint32_t>(death.commit >> 32)) {}
  uint64_t commit() const { return static_cast<uint64_t>(commit_high) << 32 | commit_low; }
  Death death() const { return {position, commit()}; }
};
static_assert(sizeof(PackedDeath) == 12);

}  // namespace

// The young deaths in order, read without the mutex, and an index by position, read under it.
class DeleteLog::Young {
 public:
  size_t size() const { return deaths_.size(); }
  Death operator[](size_t i) const { return deaths_[i].death(); }

  void Append(std::span<const Death> deaths) {
    for (const Death& death : deaths) {
      if ((deaths_.size() + 1) * kMaxLoadDenominator > slots_.size() * kMaxLoadNumerator) Grow();
      const size_t slot = SlotOf(death.position);
      CHECK(slots_[slot] == kEmpty);  // a position dies once
      CHECK(deaths_.size() < kEmpty);
      slots_[slot] = static_cast<uint32_t>(deaths_.size());
      deaths_.Append(PackedDeath(death));
    }
  }

  uint64_t CommitOf(uint32_t position) const {
    if (slots_.empty()) return kNeverDied;
    const uint32_t i = slots_[SlotOf(position)];
    return i == kEmpty ? kNeverDied : deaths_[i].commit();
  }

  // How many died at `at` or before.
  size_t CountAt(uint64_t at) const {
    size_t low = 0;
    size_t high = deaths_.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (deaths_[middle].commit() <= at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  std::vector<uint32_t> Positions(size_t begin, size_t end) const {
    std::vector<uint32_t> positions;
    positions.reserve(end - begin);
    while (begin < end) {
      const auto run = deaths_.Run(begin, end);
      for (const PackedDeath& death : run) positions.push_back(death.position);
      begin += run.size();
    }
    return positions;
  }
  std::vector<Death> Deaths(size_t begin, size_t end) const {
    std::vector<Death> deaths;
    deaths.reserve(end - begin);
    while (begin < end) {
      const auto run = deaths_.Run(begin, end);
      for (const PackedDeath& death : run) deaths.push_back(death.death());
      begin += run.size();
    }
    return deaths;
  }

  size_t memory_bytes() const { return sizeof(*this) + deaths_.memory_bytes() + slots_.capacity() * sizeof(uint32_t); }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;
  static constexpr size_t kMaxLoadNumerator = 7;  // of kMaxLoadDenominator; linear probing
  static constexpr size_t kMaxLoadDenominator = 8;

  // Where `position` stands or would.
  size_t SlotOf(uint32_t position) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = Remix(position) & mask;
    while (slots_[slot] != kEmpty && deaths_[slots_[slot]].position != position) slot = (slot + 1) & mask;
    return slot;
  }

  void Grow() {
    slots_.assign(std::max<size_t>(16, slots_.size() * 2), kEmpty);
    slots_.shrink_to_fit();
    for (size_t i = 0; i < deaths_.size(); ++i) slots_[SlotOf(deaths_[i].position)] = static_cast<uint32_t>(i);
  }

  AppendOnlyVector<PackedDeath> deaths_;
  std::vector<uint32_t> slots_;  // the number of a death, or kEmpty; a power of two
};

DeleteLog::DeleteLog() : DeleteLog(nullptr, 0) {}

DeleteLog::DeleteLog(std::shared_ptr<const DeleteVector> settled, uint64_t settled_at)
    : young_(std::make_shared<Young>()), settled_at_(settled_at), last_commit_(settled_at) {
  if (settled != nullptr && settled->count() > 0) settled_ = {settled->count(), std::move(settled)};
  count_ = settled_.count;
}

DeleteLog::~DeleteLog() = default;

void DeleteLog::Append(std::span<const Death> deaths) {
  if (deaths.empty()) return;
  const uint64_t settled_at = settled_at_;
  for (const Death& death : deaths) {
    CHECK(death.commit >= last_commit_ && death.commit > settled_at && death.commit != kNeverDied);
    CHECK(settled_.dead == nullptr || !settled_.dead->Contains(death.position));
    last_commit_ = death.commit;
  }
  const std::lock_guard lock(mutex_);
  young_->Append(deaths);
  count_.store(settled_.count + young_->size(), std::memory_order_release);
}

uint64_t DeleteLog::DeathOf(uint32_t position) const {
  if (count() == 0) return kNeverDied;  // most rowsets, most of the time
  const std::lock_guard lock(mutex_);
  if (settled_.dead != nullptr && settled_.dead->Contains(position)) return 0;
  return young_->CommitOf(position);
}

bool DeleteLog::IsDead(uint32_t position, uint64_t at) const {
  CHECK(at >= settled_at());
  const uint64_t death = DeathOf(position);
  return death != kNeverDied && death <= at;
}

DeleteLog::View DeleteLog::ViewAt(uint64_t at) const {
  const std::lock_guard lock(mutex_);
  CHECK(at >= settled_at());
  View view{.young = young_,
            .settled_at = settled_at(),
            .settled = settled_.count,
            .count = settled_.count + young_->CountAt(at),
            .base = settled_};
  for (const State& state : {newest_, other_}) {
    if (state.count <= view.count && state.count > view.base.count) view.base = state;
  }
  return view;
}

DeleteLog::State DeleteLog::Extend(const View& view) {
  if (view.base.count == view.count) return view.base;
  const auto positions = view.young->Positions(view.base.count - view.settled, view.count - view.settled);
  return {view.count, DeleteVector::With(view.base.dead.get(), positions)};
}

void DeleteLog::Remember(State state) const {
  const std::lock_guard lock(mutex_);
  if (state.count <= settled_.count || state.count == newest_.count || state.count == other_.count) return;
  if (state.count > newest_.count) {
    newest_ = std::move(state);
  } else {
    other_ = std::move(state);
  }
}

std::shared_ptr<const DeleteVector> DeleteLog::At(uint64_t at) const {
  if (count() == 0) return nullptr;
  const View view = ViewAt(at);
  State state = Extend(view);
  auto dead = state.dead;
  if (state.count != view.base.count) Remember(std::move(state));
  return dead;
}

uint64_t DeleteLog::CountAt(uint64_t at) const {
  const std::lock_guard lock(mutex_);
  CHECK(at >= settled_at());
  return settled_.count + young_->CountAt(at);
}

DeleteLogContents DeleteLog::ContentsAt(uint64_t at) const {
  const View view = ViewAt(at);
  return {.dead = Extend(view).dead,
          .young = view.young->Deaths(0, view.count - view.settled),
          .settled_at = view.settled_at};
}

size_t DeleteLog::young() const {
  const std::lock_guard lock(mutex_);
  return young_->size();
}

std::vector<Death> DeleteLog::Since(uint64_t count) const {
  std::shared_ptr<const Young> young;
  uint64_t settled = 0;
  {
    const std::lock_guard lock(mutex_);
    young = young_;
    settled = settled_.count;
  }
  CHECK(count >= settled);
  const size_t size = young->size();
  return count - settled >= size ? std::vector<Death>() : young->Deaths(count - settled, size);
}

void DeleteLog::Settle(uint64_t horizon) {
  if (horizon <= settled_at()) return;
  const size_t settling = young_->CountAt(horizon);  // only this thread changes young_ and what it holds
  if (settling == 0) {
    const std::lock_guard lock(mutex_);
    settled_at_ = horizon;
    return;
  }
  const View view = ViewAt(horizon);
  State settled = Extend(view);
  auto rest = std::make_shared<Young>();
  rest->Append(young_->Deaths(settling, young_->size()));
  std::shared_ptr<Young> old;  // freed outside the mutex
  const std::lock_guard lock(mutex_);
  old = std::exchange(young_, std::move(rest));
  settled_ = std::move(settled);
  settled_at_ = horizon;
  for (State* state : {&newest_, &other_}) {
    if (state->count <= settled_.count) *state = {};
  }
}

size_t DeleteLog::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = sizeof(*this) + young_->memory_bytes();
  for (const State& state : {settled_, newest_, other_}) {
    if (state.dead != nullptr) bytes += state.dead->memory_bytes();
  }
  return bytes;
}

}  // namespace petalite::store
