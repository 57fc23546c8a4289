#include "store/key_index.h"

#include <algorithm>
#include <bit>

namespace petalite::store {
namespace {

constexpr uint32_t kSplitBlock = 1;  // the kind of key filter; never renumbered

// The section: u32 kind, u32 reserved (0), u64 keys, f64 target FPP, then the blocks.
constexpr size_t kHeaderBytes = 24;

class SplitBlockKeyFilter : public KeyFilter {
 public:
  SplitBlockKeyFilter(Bytes section, std::shared_ptr<const void> owner, uint64_t keys, double fpp)
      : owner_(std::move(owner)), view_(section.subspan(kHeaderBytes)), keys_(keys), fpp_(fpp) {}

  bool MayContain(uint64_t hash) const override { return view_.MayContain(hash); }
  void MayContain(std::span<const uint64_t> hashes, uint8_t* results) const override {
    view_.MayContain(hashes, results);
  }
  size_t memory_bytes() const override { return sizeof(*this) + view_.bits().size(); }
  uint64_t filter_bytes() const override { return view_.bits().size(); }
  uint64_t keys() const override { return keys_; }
  double target_fpp() const override { return fpp_; }
  double real_fpp() const override { return bloom::MeasuredFpp(view_); }

 private:
  const std::shared_ptr<const void> owner_;
  bloom::FilterView view_;
  uint64_t keys_;
  double fpp_;
};

}  // namespace

KeyFilterBuilder::KeyFilterBuilder(uint64_t keys, double fpp) : fpp_(fpp) {
  if (keys != 0) filter_.emplace(bloom::BlocksFor(keys, fpp));
}

void KeyFilterBuilder::Add(std::span<const uint64_t> hashes) {
  keys_ += hashes.size();
  if (filter_.has_value()) {
    filter_->Insert(hashes);
  } else {
    hashes_.emplace_back(hashes.begin(), hashes.end());
  }
}

void KeyFilterBuilder::Finish() {
  if (filter_.has_value()) return;
  filter_.emplace(bloom::BlocksFor(keys_, fpp_));
  for (std::vector<uint64_t>& each : hashes_) {
    filter_->Insert(each);
    each = {};
  }
}

ByteBuffer KeyFilterBuilder::header() const {
  ByteBuffer header;
  AppendLe<uint32_t>(header, kSplitBlock);
  AppendLe<uint32_t>(header, 0);
  AppendLe<uint64_t>(header, keys_);
  AppendLe<double>(header, fpp_);
  return header;
}

Result<std::shared_ptr<const KeyFilter>> KeyFilter::Parse(Bytes section, std::shared_ptr<const void> owner) {
  ByteReader reader{section};
  uint32_t kind = 0;
  uint32_t reserved = 0;
  uint64_t keys = 0;
  double fpp = 0;
  if (!reader.Read(&kind) || !reader.Read(&reserved) || !reader.Read(&keys) || !reader.Read(&fpp) ||
      reader.remaining() == 0 || reader.remaining() % bloom::kBlockBytes != 0) {
    return Corruption("key filter: malformed header");
  }
  if (kind != kSplitBlock) return Unsupported("key filter: unknown kind {}", kind);
  return std::shared_ptr<const KeyFilter>(std::make_shared<SplitBlockKeyFilter>(section, std::move(owner), keys, fpp));
}

std::string_view KeyIndex::KeyAt(size_t i) const {
  const size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(keys_).substr(begin, ends_[i] - begin);
}

size_t KeyIndex::FindEntry(std::string_view key) const {
  CHECK(!ends_.empty());
  size_t low = 0;  // the last page whose first key is ≤ key, if there is one
  size_t high = ends_.size();
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (KeyAt(middle) <= key ? low : high) = middle;
  }
  return low;
}

size_t KeyIndex::memory_bytes() const {
  return sizeof(*this) + keys_.capacity() + ends_.capacity() * sizeof(uint32_t) +
         positions_.capacity() * sizeof(Position);
}

void KeyIndex::Add(Position position, std::string_view first_key) {
  keys_.append(first_key);
  ends_.push_back(static_cast<uint32_t>(keys_.size()));
  positions_.push_back(position);
}

// u32 pages; per page u32 row group, u32 page, u32 end of its key in what follows; the keys.
ByteBuffer KeyIndex::Serialize() const {
  ByteBuffer section;
  AppendLe<uint32_t>(section, static_cast<uint32_t>(ends_.size()));
  for (size_t i = 0; i < ends_.size(); ++i) {
    AppendLe<uint32_t>(section, positions_[i].row_group);
    AppendLe<uint32_t>(section, positions_[i].page);
    AppendLe<uint32_t>(section, ends_[i]);
  }
  AppendBytes(section, AsBytes(keys_));
  return section;
}

Result<std::shared_ptr<const KeyIndex>> KeyIndex::Parse(Bytes section) {
  auto index = std::make_shared<KeyIndex>();
  ByteReader reader(section);
  uint32_t pages = 0;
  if (!reader.Read(&pages) || pages == 0 || reader.remaining() / 12 < pages) {
    return Corruption("key index: malformed header");
  }
  uint32_t last_end = 0;
  for (uint32_t i = 0; i < pages; ++i) {
    Position position{};
    uint32_t end = 0;
    if (!reader.Read(&position.row_group) || !reader.Read(&position.page) || !reader.Read(&end) || end < last_end) {
      return Corruption("key index: malformed entry {}", i);
    }
    index->positions_.push_back(position);
    index->ends_.push_back(last_end = end);
  }
  if (reader.remaining() != last_end) return Corruption("key index: keys of {} bytes", reader.remaining());
  index->keys_ = AsText(reader.rest());
  return std::shared_ptr<const KeyIndex>(std::move(index));
}

}  // namespace petalite::store
