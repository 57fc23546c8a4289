#include "store/compaction_policy.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "base/bytes.h"
#include "base/status.h"

namespace petalite::store {
namespace {

using Candidates = std::span<const CompactionCandidate>;

// Noise of floating point.
constexpr double kEpsilon = 1e-6;

bool IsKeyed(Candidates candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const auto& each) { return !each.max_key.empty(); });
}

// The key space as the candidates' bounds cut it: between two neighbouring bounds lies a gap, over which the same
// rowsets extend everywhere.
class KeySpace {
 public:
  explicit KeySpace(Candidates candidates) {
    for (const CompactionCandidate& each : candidates) {
      bounds_.push_back(each.min_key);
      bounds_.push_back(each.max_key);
    }
    std::sort(bounds_.begin(), bounds_.end());
    bounds_.erase(std::unique(bounds_.begin(), bounds_.end()), bounds_.end());
    for (const CompactionCandidate& each : candidates) {
      CHECK(each.min_key <= each.max_key);
      ranges_.push_back({Place(each.min_key), Place(each.max_key)});
    }
    MeasureGaps();
    CountCover();
  }

  // How many rowsets a key of rowset `i` must consult on average, itself included.
  double Depth(size_t i) const {
    const auto [first, last] = ranges_[i];
    if (first == last) return cover_at_[first];
    const double width = width_until_[last] - width_until_[first];
    if (width > 0) return (cover_until_[last] - cover_until_[first]) / width;
    return (count_until_[last] - count_until_[first]) / static_cast<double>(last - first);
  }

  // The part of the keys of rowset `i` for which `j` must be consulted.
  double Overlap(size_t i, size_t j) const {
    const auto [first, last] = ranges_[i];
    const size_t begin = std::max(first, ranges_[j].first);
    const size_t end = std::min(last, ranges_[j].last);
    if (begin > end) return 0;
    if (first == last) return 1;
    const double width = width_until_[last] - width_until_[first];
    if (width > 0) return (width_until_[end] - width_until_[begin]) / width;
    return static_cast<double>(end - begin) / static_cast<double>(last - first);
  }

 private:
  struct Range {
    size_t first, last;  // in bounds_
  };

  size_t Place(std::string_view key) const {
    return static_cast<size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), key) - bounds_.begin());
  }

  // A key as a number: its first bytes after what all bounds share.
  double Position(std::string_view key) const {
    const auto [end, _] =
        std::mismatch(bounds_.front().begin(), bounds_.front().end(), bounds_.back().begin(), bounds_.back().end());
    const auto shared = static_cast<size_t>(end - bounds_.front().begin());
    uint8_t bytes[8] = {};
    std::copy_n(key.begin() + static_cast<ptrdiff_t>(shared), std::min<size_t>(8, key.size() - shared), bytes);
    return static_cast<double>(__builtin_bswap64(LoadLe<uint64_t>(bytes)));
  }

  void MeasureGaps() {
    width_until_.assign(bounds_.size(), 0);
    if (bounds_.empty()) return;
    const double first = Position(bounds_.front());
    for (size_t b = 0; b < bounds_.size(); ++b) width_until_[b] = Position(bounds_[b]) - first;
  }

  void CountCover() {
    std::vector<int64_t> begins(bounds_.size() + 1);
    std::vector<int64_t> ends(bounds_.size() + 1);
    for (const Range& range : ranges_) {
      ++begins[range.first];
      ++ends[range.last];
    }
    cover_at_.assign(bounds_.size(), 0);
    cover_until_.assign(bounds_.size(), 0);
    count_until_.assign(bounds_.size(), 0);
    int64_t cover = 0;  // of the gap before the bound
    for (size_t b = 0; b < bounds_.size(); ++b) {
      if (b > 0) {
        cover_until_[b] = cover_until_[b - 1] + static_cast<double>(cover) * (width_until_[b] - width_until_[b - 1]);
        count_until_[b] = count_until_[b - 1] + static_cast<double>(cover);
      }
      cover_at_[b] = static_cast<double>(cover + begins[b]);
      cover += begins[b] - ends[b];
    }
  }

  std::vector<std::string_view> bounds_;  // sorted, distinct
  std::vector<Range> ranges_;             // of the candidates
  // Sums over the gaps before a bound: of their width, of width times cover, of cover.
  std::vector<double> width_until_, cover_until_, count_until_;
  std::vector<double> cover_at_;  // of the bound itself
};

std::string Mebibytes(uint64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

// --- Depth ---------------------------------------------------------------------------------------------------------

struct Partner {
  size_t index;
  double gain;  // by how much merging it makes the depth of the merge's centre fall
  double cost;  // bytes per gain
};

void SortByCost(std::vector<Partner>& partners) {
  std::sort(partners.begin(), partners.end(),
            [](const Partner& a, const Partner& b) { return a.cost != b.cost ? a.cost < b.cost : a.index < b.index; });
}

std::vector<Partner> Partners(Candidates candidates, const KeySpace& space, size_t centre) {
  std::vector<Partner> partners;
  for (size_t j = 0; j < candidates.size(); ++j) {
    if (j == centre || candidates[j].busy) continue;
    const double gain = space.Overlap(centre, j);
    if (gain > kEpsilon) partners.push_back({j, gain, static_cast<double>(candidates[j].bytes) / gain});
  }
  SortByCost(partners);
  return partners;
}

// Whether a merge of `bytes` that removes `gain` should take `partner` too. If it only did so while depth removed per
// byte improves, it would leave rowsets of about the same size lying about, each of which the next merges pay for again
// and again; looking further ahead, a step is worth it while the ratio falls to no less than kPatience of what it was:
// (gain + 1) / (bytes + cost) ≥ kPatience · gain / bytes. The value is a compromise found by trying 0.5 to 0.75 on
// equal flushes with six rowsets allowed: less is better for thousands of flushes and worse for tens, and no value is
// best everywhere. With this one, 25 to 400 flushes are rewritten up to a third more than the least possible
// (tests/store/compaction_policy_test.cc).
constexpr double kPatience = 0.65;
bool IsWorthTaking(const Partner& partner, double bytes, double gain) {
  return partner.cost <= bytes * ((1 / kPatience - 1) + 1 / (kPatience * gain));
}

// A set of rowsets to merge, in the order in which they were taken.
struct Merge {
  std::vector<size_t> inputs;
  uint64_t bytes = 0;
  uint64_t rows = 0;
  double gain = 0;

  double ratio() const { return gain / static_cast<double>(std::max<uint64_t>(bytes, 1)); }
  bool Fits(const CompactionPolicyOptions& options) const {
    return bytes <= options.budget_bytes && rows <= options.max_rows && inputs.size() <= options.max_inputs;
  }
  void Take(Candidates candidates, const Partner& partner) {
    inputs.push_back(partner.index);
    bytes += candidates[partner.index].bytes;
    rows += candidates[partner.index].rows;
    gain += partner.gain;
  }
};

// The rowsets of a run that was split cost about the same per gain. They are judged by what was there before the first
// of them, as the unsplit run would be: else each, once taken, would speak for the next.
constexpr double kSameCost = 1.25;

// What pays in the long run, whatever the budget. The first partner is the cheapest there is; without it nothing would
// get better.
Merge PlanAround(Candidates candidates, size_t centre, const std::vector<Partner>& partners) {
  Merge plan{.inputs = {centre}, .bytes = candidates[centre].bytes, .rows = candidates[centre].rows};
  double level = 0;  // cost of the first of the partners of about the same cost
  double bytes = 0;  // of the plan before them, and what it gains
  double gain = 0;
  for (const Partner& partner : partners) {
    if (partner.cost > level * kSameCost) {
      level = partner.cost;
      bytes = static_cast<double>(plan.bytes);
      gain = plan.gain;
    }
    if (gain > 0 && !IsWorthTaking(partner, bytes, gain)) break;
    plan.Take(candidates, partner);
  }
  return plan;
}

// The first of the plan's inputs, as many as bring the most for their bytes within the limits; a pair at least.
Merge BestPrefix(Candidates candidates, size_t centre, const std::vector<Partner>& partners, size_t planned,
                 const CompactionPolicyOptions& options) {
  Merge prefix{.inputs = {centre}, .bytes = candidates[centre].bytes, .rows = candidates[centre].rows};
  Merge best;
  for (size_t i = 0; i + 1 < planned; ++i) {
    prefix.Take(candidates, partners[i]);
    if (i > 0 && !prefix.Fits(options)) break;
    if (i == 0 || prefix.ratio() > best.ratio()) best = prefix;
  }
  return best;
}

// A plan beyond the budget is carried out in slices of the key space: an input of a narrow range, and those that lie
// mostly or for a good part within it. Wider ones would be rewritten over and over, slice by slice. Empty if the plan
// has no such parts.
Merge BestSlice(Candidates candidates, const KeySpace& space, const Merge& plan,
                const CompactionPolicyOptions& options) {
  constexpr size_t kCentres = 256;  // looked at: a plan may have thousands of inputs
  constexpr double kSlice = 0.5;    // of the plan's width
  constexpr double kWithinSlice = 0.2;
  Merge best;
  double best_ratio = 0;
  for (size_t c = 0; c < std::min(kCentres, plan.inputs.size()); ++c) {
    // From the plan's end: there stand the large, which were split.
    const size_t centre = plan.inputs[plan.inputs.size() - 1 - c];
    const double width = space.Overlap(plan.inputs.front(), centre);
    if (width > kSlice) continue;
    std::vector<Partner> partners;
    for (const size_t j : plan.inputs) {
      const double gain = j == centre ? 0 : space.Overlap(centre, j);
      if (gain <= kEpsilon || space.Overlap(j, centre) < kWithinSlice) continue;
      partners.push_back({j, gain, static_cast<double>(candidates[j].bytes) / gain});
    }
    SortByCost(partners);
    Merge slice{.inputs = {centre}, .bytes = candidates[centre].bytes, .rows = candidates[centre].rows};
    for (const Partner& partner : partners) {
      Merge more = slice;
      more.Take(candidates, partner);
      if (more.Fits(options)) slice = std::move(more);
    }
    const double ratio = slice.ratio() * width;
    if (slice.gain > 0 && ratio > best_ratio) {
      best = std::move(slice);
      best_ratio = ratio;
    }
  }
  return best;
}

// A quick relief at this part of the plan's cost comes before the slices of the plan, which take long to show.
constexpr uint64_t kCheapPart = 8;

Merge MergeAround(Candidates candidates, const KeySpace& space, size_t centre, const std::vector<Partner>& partners,
                  const CompactionPolicyOptions& options) {
  Merge plan = PlanAround(candidates, centre, partners);
  if (plan.Fits(options)) return plan;
  Merge prefix = BestPrefix(candidates, centre, partners, plan.inputs.size(), options);
  if (prefix.Fits(options) && prefix.bytes <= plan.bytes / kCheapPart) return prefix;
  Merge slice = BestSlice(candidates, space, plan, options);
  return slice.inputs.empty() ? prefix : slice;
}

std::optional<CompactionChoice> ChooseForDepth(Candidates candidates, const CompactionPolicyOptions& options) {
  const KeySpace space(candidates);
  // The merge grows around the smallest rowset whose keys must consult too many: everything that extends over it is a
  // partner, and the output extends over no gap.
  std::vector<size_t> too_deep;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].busy && space.Depth(i) > static_cast<double>(options.max_depth) + kEpsilon)
      too_deep.push_back(i);
  }
  std::sort(too_deep.begin(), too_deep.end(), [&](size_t a, size_t b) {
    return candidates[a].bytes != candidates[b].bytes ? candidates[a].bytes < candidates[b].bytes : a < b;
  });
  for (const size_t centre : too_deep) {
    const std::vector<Partner> partners = Partners(candidates, space, centre);
    if (partners.empty()) continue;  // the others are busy
    const Merge merge = MergeAround(candidates, space, centre, partners, options);
    CompactionChoice choice{
        .inputs = merge.inputs,
        .reason = fmt::format("a key consults {:.1f} rowsets, more than {}: merges {} of {}", space.Depth(centre),
                              options.max_depth, merge.inputs.size(), Mebibytes(merge.bytes))};
    std::sort(choice.inputs.begin(), choice.inputs.end());
    return choice;
  }
  return std::nullopt;
}

// --- Dead rows -----------------------------------------------------------------------------------------------------

std::optional<CompactionChoice> ChooseForDeadRows(Candidates candidates, const CompactionPolicyOptions& options) {
  const CompactionCandidate* worst = nullptr;
  double worst_ratio = options.dead_ratio;
  for (const CompactionCandidate& each : candidates) {
    if (each.busy || each.rows == 0) continue;
    const double ratio = static_cast<double>(each.dead_rows) / static_cast<double>(each.rows);
    if (ratio > worst_ratio) {
      worst = &each;
      worst_ratio = ratio;
    }
  }
  if (worst == nullptr) return std::nullopt;
  return CompactionChoice{.inputs = {static_cast<size_t>(worst - candidates.data())},
                          .reason = fmt::format("{} of {} rows are dead: rewrites {}", worst->dead_rows, worst->rows,
                                                Mebibytes(worst->bytes))};
}

// --- Small files ---------------------------------------------------------------------------------------------------

// Fewer small neighbours than this stay as they are, and so do those of which one holds more than a kSmallShare-th: a
// merge that makes everything in it part of something several times as large is repeated a few times at most before the
// result is no longer small.
constexpr size_t kManySmall = 8;
constexpr uint64_t kSmallShare = 4;

// Runs of small rowsets that are neighbours by key (by id without one) and not busy. A larger rowset that lies between
// two of them ends a run: the merged one would extend over it.
std::vector<std::vector<size_t>> SmallRuns(Candidates candidates, const CompactionPolicyOptions& options) {
  const bool keyed = IsKeyed(candidates);
  // What a split leaves is not small, or merging and splitting would chase each other.
  const uint64_t small_bytes = std::min(options.small_bytes, options.rowset_bytes / 2);
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int by_key = candidates[a].min_key.compare(candidates[b].min_key);
    return by_key != 0 ? by_key < 0 : candidates[a].id < candidates[b].id;
  });
  std::vector<std::vector<size_t>> runs(1);
  std::string_view run_end;     // the largest key of the run
  bool between = false;         // whether larger rowsets began after it,
  std::string_view between_to;  // and the least key at which one of those ends
  for (const size_t i : order) {
    const CompactionCandidate& each = candidates[i];
    if (each.bytes >= small_bytes || each.busy) {
      if (!keyed) {
        runs.emplace_back();
      } else if (each.min_key > run_end && (!between || each.max_key < between_to)) {
        between = true;
        between_to = each.max_key;
      }
      continue;
    }
    if (between && between_to < each.min_key) runs.emplace_back();
    run_end = runs.back().empty() ? std::string_view(each.max_key) : std::max<std::string_view>(run_end, each.max_key);
    between = false;
    runs.back().push_back(i);
  }
  return runs;
}

std::optional<CompactionChoice> ChooseSmall(Candidates candidates, const CompactionPolicyOptions& options) {
  const uint64_t limit = std::min(options.budget_bytes, options.rowset_bytes);
  const size_t many = std::max(kManySmall, options.max_depth + 2);  // or it would forestall what depth does better
  for (const std::vector<size_t>& run : SmallRuns(candidates, options)) {
    for (size_t begin = 0; begin + many <= run.size(); ++begin) {
      uint64_t bytes = 0;
      uint64_t largest = 0;
      uint64_t chosen_bytes = 0;
      size_t chosen_end = begin;  // the farthest that will do
      for (size_t end = begin; end < run.size() && end - begin < options.max_inputs; ++end) {
        const uint64_t more = candidates[run[end]].bytes;
        if (bytes + more > limit) break;
        bytes += more;
        largest = std::max(largest, more);
        if (end + 1 - begin >= many && largest <= bytes / kSmallShare) {
          chosen_end = end + 1;
          chosen_bytes = bytes;
        }
      }
      if (chosen_end == begin) continue;
      CompactionChoice choice;
      choice.inputs.assign(run.begin() + static_cast<ptrdiff_t>(begin),
                           run.begin() + static_cast<ptrdiff_t>(chosen_end));
      std::sort(choice.inputs.begin(), choice.inputs.end());
      choice.reason =
          fmt::format("many small neighbours: merges {} of {}", choice.inputs.size(), Mebibytes(chosen_bytes));
      return choice;
    }
  }
  return std::nullopt;
}

}  // namespace

double RowsetsToConsult(Candidates candidates) {
  if (!IsKeyed(candidates)) return 0;
  const KeySpace space(candidates);
  double sum = 0;
  double rows = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    sum += space.Depth(i) * static_cast<double>(candidates[i].rows);
    rows += static_cast<double>(candidates[i].rows);
  }
  return rows > 0 ? sum / rows : 0;
}

std::optional<CompactionChoice> ChooseCompaction(Candidates candidates, const CompactionPolicyOptions& options) {
  CHECK(options.max_depth >= 1 && options.max_inputs >= 2);
  if (IsKeyed(candidates)) {
    if (auto choice = ChooseForDepth(candidates, options)) return choice;
  }
  if (auto choice = ChooseForDeadRows(candidates, options)) return choice;
  return ChooseSmall(candidates, options);
}

}  // namespace petalite::store
