#include "store/mem_rowset.h"

#include <algorithm>
#include <cstring>

#include "column/key_encoding.h"
#include "column/types.h"

namespace petalite::store {
namespace {

constexpr size_t kStringBytes = size_t{256} << 10;  // for many strings at once
constexpr size_t kWords = MemRowset::kBlockRows / 64;
constexpr size_t kAhead = 16;  // keys whose slots are on their way while earlier ones are looked up

// An array that exists from the first time it is needed. One thread makes it, others look.
template <typename T>
class LazyArray {
 public:
  ~LazyArray() { delete[] data_.load(std::memory_order_relaxed); }
  std::atomic<T>* get() const { return data_.load(std::memory_order_acquire); }
  // The array, made of `size` elements if there was none; `made` says so.
  std::atomic<T>* Make(size_t size, T initial, bool* made) {
    std::atomic<T>* data = get();
    *made = data == nullptr;
    if (data != nullptr) return data;
    data = new std::atomic<T>[size];
    for (size_t i = 0; i < size; ++i) data[i].store(initial, std::memory_order_relaxed);
    data_.store(data, std::memory_order_release);
    return data;
  }

 private:
  std::atomic<std::atomic<T>*> data_{nullptr};
};

template <typename T>
void CopyValues(const ColumnView& view, size_t from, size_t count, T* to) {
  if (view.selection == nullptr) {
    std::memcpy(to, static_cast<const T*>(view.values) + from, count * sizeof(T));
    return;
  }
  for (size_t i = 0; i < count; ++i) to[i] = view.Value<T>(from + i);
}

// The first index of [0, size) for which `is` says false, which it then does for all behind it.
template <typename Is>
size_t FirstNot(size_t size, Is&& is) {
  size_t low = 0;
  size_t high = size;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (is(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

struct MemRowset::Block {
  explicit Block(size_t columns) : validity(columns) {}

  std::vector<uint8_t*> columns;
  std::vector<LazyArray<uint64_t>> validity;  // bits; none while all rows are valid
  StringRef* keys = nullptr;                  // where they are stored
  LazyArray<uint64_t> died;                   // commits; none while no row is dead
  LazyArray<uint32_t> older;                  // the row before with the same key, or kNoRow
};

MemRowset::MemRowset(MemRowsetId id, Schema schema, std::vector<size_t> key, size_t expected_rows)
    : id_(id),
      schema_(std::move(schema)),
      key_(std::move(key)),
      has_nulls_(schema_.size()),
      index_(key_.empty() ? 0 : expected_rows) {
  if (is_keyed()) ChooseKeyForm();
}

void MemRowset::ChooseKeyForm() {
  key_stride_ = sizeof(StringRef);
  if (key_.size() == 1 && schema_[key_[0]].type.IsString()) {
    key_form_ = KeyForm::kString;
    return;
  }
  size_t width = 0;
  for (const size_t column : key_) {
    if (schema_[column].type.IsString()) return;
    width += schema_[column].type.Width();
  }
  if (width > sizeof(KeyBuffer)) return;
  key_form_ = KeyForm::kNumbers;
  key_stride_ = schema_[key_[0]].type.Width();
  for (const size_t column : key_) {
    VisitLayout(schema_[column].type, [&]<typename T>(T) {
      key_numbers_.push_back({column, sizeof(T), std::is_signed_v<T> || std::is_same_v<T, Int128>});
    });
  }
}

MemRowset::~MemRowset() = default;

MemRowset::Block& MemRowset::BlockOf(uint32_t row) const { return *blocks_[row / kBlockRows]; }

uint8_t* MemRowset::Allocate(size_t bytes) {
  const size_t before = arena_.memory_bytes();
  uint8_t* const piece = arena_.Allocate(bytes);
  Charge(arena_.memory_bytes() - before);
  return piece;
}

MemRowset::Block& MemRowset::BlockForAppend(uint32_t row) {
  if (row / kBlockRows < blocks_.size()) return BlockOf(row);
  auto block = std::make_unique<Block>(schema_.size());
  for (const Field& field : schema_.fields) block->columns.push_back(Allocate(field.type.Width() * kBlockRows));
  if (is_keyed() && key_form_ == KeyForm::kStored) {
    block->keys = reinterpret_cast<StringRef*>(Allocate(sizeof(StringRef) * kBlockRows));
  }
  blocks_.Append(std::move(block));
  return BlockOf(row);
}

uint32_t MemRowset::Append(std::span<const ColumnView> columns, size_t rows, std::span<const std::string_view> keys,
                           std::span<const uint64_t> hashes, uint64_t commit, uint64_t lsn) {
  CHECK(columns.size() == schema_.size() && keys.size() == (is_keyed() ? rows : 0) && hashes.size() == keys.size());
  const uint32_t first = rows_.load(std::memory_order_relaxed);
  CHECK(rows < kMaxRows - first && commit >= last_commit());
  if (rows == 0) return first;
  if (first == 0) first_lsn_ = lsn;
  for (size_t done = 0; done < rows;) {
    const auto row = static_cast<uint32_t>(first + done);
    const uint32_t at = row % kBlockRows;
    const size_t count = std::min<size_t>(rows - done, kBlockRows - at);
    Block& block = BlockForAppend(row);
    for (size_t i = 0; i < columns.size(); ++i) AppendColumn(i, columns[i], done, count, block, at);
    if (block.keys != nullptr) {
      for (size_t i = 0; i < count; ++i) block.keys[at + i] = CopyString(StringRef(keys[done + i]));
    }
    done += count;
  }
  runs_.Append(Run{commit, static_cast<uint32_t>(first + rows)});
  if (is_keyed()) IndexRows(keys, hashes, first);
  rows_.store(static_cast<uint32_t>(first + rows), std::memory_order_release);
  return first;
}

void MemRowset::AppendColumn(size_t column, const ColumnView& view, size_t from, size_t count, Block& block,
                             uint32_t at) {
  VisitLayout(schema_[column].type, [&]<typename T>(T) {
    T* const to = reinterpret_cast<T*>(block.columns[column]) + at;
    if constexpr (std::is_same_v<T, StringRef>) {
      for (size_t i = 0; i < count; ++i) {
        to[i] = view.IsValid(from + i) ? CopyString(view.Value<StringRef>(from + i)) : StringRef();
      }
    } else {
      CopyValues(view, from, count, to);
    }
  });
  if (view.validity == nullptr) return;
  for (size_t i = 0; i < count; ++i) {
    if (view.IsValid(from + i)) continue;
    bool made = false;
    std::atomic<uint64_t>* words = block.validity[column].Make(kWords, ~uint64_t{0}, &made);
    if (made) Charge(kWords * sizeof(uint64_t));
    has_nulls_[column].store(true, std::memory_order_relaxed);
    words[(at + i) / 64].fetch_and(~(uint64_t{1} << ((at + i) % 64)), std::memory_order_relaxed);
  }
}

StringRef MemRowset::CopyString(StringRef from) {
  if (from.is_inline()) return from;
  if (from.size() > string_left_) {
    string_left_ = std::max<size_t>(from.size(), kStringBytes);
    string_next_ = reinterpret_cast<char*>(Allocate(string_left_));
  }
  std::memcpy(string_next_, from.data(), from.size());
  const StringRef copy(string_next_, from.size());
  string_next_ += from.size();
  string_left_ -= from.size();
  return copy;
}

void MemRowset::IndexRows(std::span<const std::string_view> keys, std::span<const uint64_t> hashes, uint32_t first) {
  KeyBuffer buffer;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size()) index_.Prefetch(hashes[i + kAhead]);
    const auto row = static_cast<uint32_t>(first + i);
    // The link first: whoever finds the new row must find the old one behind it.
    const auto link = [&](uint32_t before) {
      bool made = false;
      std::atomic<uint32_t>* older = BlockOf(row).older.Make(kBlockRows, kNoRow, &made);
      if (made) Charge(kBlockRows * sizeof(uint32_t));
      older[row % kBlockRows].store(before, std::memory_order_release);
    };
    index_.Put(hashes[i], row, [&](uint32_t other) { return KeyOf(other, &buffer) == keys[i]; }, link);
  }
}

void MemRowset::Kill(std::span<const uint32_t> rows, uint64_t commit) {
  for (const uint32_t row : rows) {
    bool made = false;
    std::atomic<uint64_t>* died = BlockOf(row).died.Make(kBlockRows, kNeverDied, &made);
    if (made) Charge(kBlockRows * sizeof(uint64_t));
    std::atomic<uint64_t>& commit_of = died[row % kBlockRows];
    CHECK(commit_of.load(std::memory_order_relaxed) == kNeverDied);
    commit_of.store(commit, std::memory_order_release);
    death_order_.Append(row);
  }
}

void MemRowset::FindNewest(std::span<const std::string_view> keys, std::span<const uint64_t> hashes,
                           uint32_t* rows) const {
  KeyBuffer buffer;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size()) index_.Prefetch(hashes[i + kAhead]);
    rows[i] = index_.FindAsWriter(hashes[i], [&](uint32_t row) { return KeyOf(row, &buffer) == keys[i]; });
  }
}

uint32_t MemRowset::FindNewest(std::string_view key, uint64_t hash) const {
  KeyBuffer buffer;
  return index_.FindAsWriter(hash, [&](uint32_t row) { return KeyOf(row, &buffer) == key; });
}

void MemRowset::ChargeTo(MemoryBudget* budget) {
  const size_t now = memory_bytes();
  budget->Add(MemoryUse::kMemRowsets, now - charged_);
  charged_ = now;
}

uint32_t MemRowset::RowsAt(uint64_t commit) const {
  const size_t run = FirstNot(runs_.size(), [&](size_t i) { return runs_[i].commit <= commit; });
  return run == 0 ? 0 : runs_[run - 1].end;
}

uint64_t MemRowset::BornAt(uint32_t row) const {
  return runs_[FirstNot(runs_.size(), [&](size_t i) { return runs_[i].end <= row; })].commit;
}

MemRowset::Births::Births(const MemRowset& mem) : mem_(mem) {
  const uint32_t rows = mem.rows();
  uint32_t run = 0;
  for (uint32_t row = 0; row < rows; row += kStep) {
    while (mem.runs_[run].end <= row) ++run;
    first_.push_back(run);
  }
}

std::vector<const uint8_t*> MemRowset::Blocks(size_t column) const {
  std::vector<const uint8_t*> blocks;
  for (size_t i = 0; i * kBlockRows < rows(); ++i) blocks.push_back(blocks_[i]->columns[column]);
  return blocks;
}

uint64_t MemRowset::DiedAt(uint32_t row) const {
  const std::atomic<uint64_t>* died = BlockOf(row).died.get();
  return died == nullptr ? kNeverDied : died[row % kBlockRows].load(std::memory_order_acquire);
}

uint64_t MemRowset::DeathsAt(uint64_t commit) const {
  return FirstNot(death_order_.size(), [&](size_t i) { return DiedAt(death_order_[i]) <= commit; });
}

std::vector<Death> MemRowset::DeathsFrom(uint64_t from) const {
  std::vector<Death> deaths;
  const size_t end = death_order_.size();
  for (size_t i = from; i < end; ++i) deaths.push_back({death_order_[i], DiedAt(death_order_[i])});
  return deaths;
}

uint64_t MemRowset::last_commit() const {
  const size_t runs = runs_.size();
  return runs == 0 ? 0 : runs_[runs - 1].commit;
}

uint32_t MemRowset::Find(std::string_view key, uint64_t hash, uint64_t commit) const {
  const uint32_t end = RowsAt(commit);
  KeyBuffer buffer;
  uint32_t row = index_.Find(hash, [&](uint32_t other) { return KeyOf(other, &buffer) == key; });
  while (row != kNoRow && row >= end) {  // rows of later commits
    const std::atomic<uint32_t>* older = BlockOf(row).older.get();
    row = older == nullptr ? kNoRow : older[row % kBlockRows].load(std::memory_order_acquire);
  }
  return row == kNoRow || DiedAt(row) <= commit ? kNoRow : row;
}

const uint8_t* MemRowset::KeyData(const Block& block) const {
  return block.keys != nullptr ? reinterpret_cast<const uint8_t*>(block.keys) : block.columns[key_[0]];
}

void MemRowset::PrefetchKey(uint32_t row) const {
  __builtin_prefetch(KeyData(BlockOf(row)) + row % kBlockRows * key_stride_);
}

std::string_view MemRowset::KeyOf(uint32_t row, KeyBuffer* buffer) const {
  const Block& block = BlockOf(row);
  const uint32_t at = row % kBlockRows;
  if (key_form_ != KeyForm::kNumbers) return reinterpret_cast<const StringRef*>(KeyData(block))[at].view();
  char* to = buffer->data();
  for (const KeyNumber& number : key_numbers_) {
    EncodeKeyNumber(block.columns[number.column] + at * number.width, number.width, number.is_signed, to);
    to += number.width;
  }
  return {buffer->data(), static_cast<size_t>(to - buffer->data())};
}

const void* MemRowset::Values(size_t column, uint32_t row) const {
  return BlockOf(row).columns[column] + (row % kBlockRows) * schema_[column].type.Width();
}

bool MemRowset::IsValid(size_t column, uint32_t row) const {
  const std::atomic<uint64_t>* words = BlockOf(row).validity[column].get();
  const uint32_t at = row % kBlockRows;
  return words == nullptr || (words[at / 64].load(std::memory_order_relaxed) >> (at % 64) & 1) != 0;
}

bool MemRowset::CopyValidity(size_t column, uint32_t begin, uint32_t end, uint64_t* out) const {
  const std::atomic<uint64_t>* words = BlockOf(begin).validity[column].get();
  if (words == nullptr) return false;
  const uint32_t first = begin % kBlockRows;
  const uint32_t count = end - begin;
  for (uint32_t i = 0; i < count; i += 64) {
    const uint32_t at = first + i;
    uint64_t word = words[at / 64].load(std::memory_order_relaxed) >> (at % 64);
    if (at % 64 != 0 && at / 64 + 1 < kWords) {
      word |= words[at / 64 + 1].load(std::memory_order_relaxed) << (64 - at % 64);
    }
    out[i / 64] = word;
  }
  return true;
}

uint32_t MemRowset::LiveRows(uint32_t begin, uint32_t end, uint64_t commit, uint32_t* out) const {
  uint32_t count = 0;
  for (uint32_t row = begin; row < end;) {
    const uint32_t block_end = std::min(end, row - row % kBlockRows + kBlockRows);
    const std::atomic<uint64_t>* died = BlockOf(row).died.get();
    for (; row < block_end; ++row) {
      out[count] = row - begin;
      count += died == nullptr || died[row % kBlockRows].load(std::memory_order_relaxed) > commit ? 1 : 0;
    }
  }
  return count;
}

}  // namespace petalite::store
