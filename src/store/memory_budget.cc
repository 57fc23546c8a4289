#include "store/memory_budget.h"

namespace petalite::store {
namespace {

constexpr size_t kGranule = size_t{4} << 20;
// Asking a source that has nothing costs it a search of all it has.
constexpr auto kAskAgainAfter = std::chrono::milliseconds(20);

}  // namespace

MemoryBudget::MemoryBudget(const MemoryShares& shares, std::shared_ptr<MemorySource> source)
    : shares_(shares), source_(std::move(source)) {}

MemoryBudget::~MemoryBudget() {
  if (reserved() != 0) source_->Release(reserved());
}

void MemoryBudget::Add(MemoryUse use, size_t bytes) {
  used_[static_cast<size_t>(use)].fetch_add(bytes, std::memory_order_relaxed);
  const size_t now = total_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  size_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void MemoryBudget::Remove(MemoryUse use, size_t bytes) {
  used_[static_cast<size_t>(use)].fetch_sub(bytes, std::memory_order_relaxed);
  total_.fetch_sub(bytes, std::memory_order_relaxed);
}

void MemoryBudget::Settle() {
  if (source_ == nullptr) return;
  const auto wanted = [this] { return (used() + kGranule - 1) / kGranule * kGranule; };
  // A granule more than is needed is kept: use goes up and down.
  const auto is_settled = [&] { return wanted() <= reserved() && wanted() + kGranule >= reserved(); };
  if (is_settled() && !is_tight()) return;
  const std::unique_lock lock(settle_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread is at it
  const auto reserve = [&] {
    const size_t had = reserved();
    const size_t want = wanted();
    if (want > had && !source_->Reserve(want - had)) return false;
    if (want + kGranule < had) source_->Release(had - want);
    if (want > had || want + kGranule < had) reserved_.store(want, std::memory_order_relaxed);
    return true;
  };
  const auto now = std::chrono::steady_clock::now();
  if (is_tight() && now < ask_again_) {
    if (used() > reserved()) shrink_(used() - reserved());
    return;
  }
  bool enough = reserve();
  if (!enough) {
    shrink_(used() - reserved());
    enough = reserve();
  }
  ask_again_ = now + kAskAgainAfter;
  tight_.store(!enough, std::memory_order_relaxed);
}

MergeCharge::MergeCharge(MemoryBudget& budget, size_t bytes) : budget_(budget), bytes_(bytes) {
  {
    std::unique_lock lock(budget_.merge_mutex_);
    budget_.merge_ended_.wait(lock, [&] {
      const size_t others = budget_.used(MemoryUse::kMerges);
      return others == 0 || others + bytes <= budget_.shares().jobs / 2;
    });
    budget_.Add(MemoryUse::kMerges, bytes);
  }
  budget_.Settle();
}

MergeCharge::~MergeCharge() {
  {
    const std::lock_guard lock(budget_.merge_mutex_);
    budget_.Remove(MemoryUse::kMerges, bytes_);
  }
  budget_.merge_ended_.notify_all();
  budget_.Settle();
}

}  // namespace petalite::store
