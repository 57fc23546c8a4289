// The rows of a tablet that are not in a file yet: columns in blocks of fixed size, in the order of their commits, with
// a hash index over encoded keys.
//
// Thread-safety: one writer at a time (it holds the tablet's latch), any number of readers, which never wait for it. A
// reader says as of which commit it reads; that commit was published after its rows were written, and what is written
// later lies behind it: rows of later commits behind RowsAt(commit), deaths at later commits above `commit`.

#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/append_only_vector.h"
#include "base/huge_arena.h"
#include "petalite/column_view.h"
#include "petalite/schema.h"
#include "store/delete_log.h"
#include "store/memory_budget.h"
#include "store/row_index.h"

namespace petalite::store {

using MemRowsetId = uint64_t;

class MemRowset {
 public:
  static constexpr uint32_t kBlockRows = 8192;
  // As many as an index of 2^32 slots has room for; a memrowset is flushed long before.
  static constexpr uint32_t kMaxRows = uint32_t{3} << 30;

  // `key`: positions of the key's columns, empty for unkeyed tables. `expected_rows`: about how many may come.
  MemRowset(MemRowsetId id, Schema schema, std::vector<size_t> key, size_t expected_rows = 0);
  ~MemRowset();
  MemRowset(const MemRowset&) = delete;
  MemRowset& operator=(const MemRowset&) = delete;

  MemRowsetId id() const { return id_; }
  const Schema& schema() const { return schema_; }
  bool is_keyed() const { return !key_.empty(); }
  const std::vector<size_t>& key() const { return key_; }
  // Where the log has its first row; the log is kept from there on.
  uint64_t first_lsn() const { return first_lsn_; }

  // For the writer ------------------------------------------------------------------------------------------------

  // Adds rows, all of `commit`, which is above those before, logged at `lsn`; the first one's number. One view per
  // field of the schema. Keyed: the rows' encoded keys, no two the same, and their hashes; an earlier row with such a
  // key is dead or dies at this commit too.
  uint32_t Append(std::span<const ColumnView> columns, size_t rows, std::span<const std::string_view> keys,
                  std::span<const uint64_t> hashes, uint64_t commit, uint64_t lsn);
  // They are alive; commits never fall.
  void Kill(std::span<const uint32_t> rows, uint64_t commit);
  // The newest row with each key, dead or alive, or kNoRow.
  void FindNewest(std::span<const std::string_view> keys, std::span<const uint64_t> hashes, uint32_t* rows) const;
  uint32_t FindNewest(std::string_view key, uint64_t hash) const;

  // For anybody ---------------------------------------------------------------------------------------------------

  // All rows so far, those of pending commits included.
  uint32_t rows() const { return rows_.load(std::memory_order_acquire); }
  // Rows of commits up to `commit`: the first so many.
  uint32_t RowsAt(uint64_t commit) const;
  uint64_t BornAt(uint32_t row) const;
  // BornAt for many rows in any order, without a search for each. Of the rows so far.
  class Births;
  // The commit at which a row died, or kNeverDied.
  uint64_t DiedAt(uint32_t row) const;
  uint64_t deaths() const { return death_order_.size(); }
  uint64_t DeathsAt(uint64_t commit) const;
  // Deaths in the order of their commits, from the `from`-th.
  std::vector<Death> DeathsFrom(uint64_t from) const;
  // The commit of the newest row; 0 if empty.
  uint64_t last_commit() const;

  // The row with this key that is alive at `commit`, or kNoRow.
  uint32_t Find(std::string_view key, uint64_t hash, uint64_t commit) const;
  // A row's encoded key. Put together in `buffer` where the key's columns tell it, and good as long as that is left
  // alone; elsewhere (HasStableKeys) good as long as the memrowset is.
  using KeyBuffer = std::array<char, 64>;
  std::string_view KeyOf(uint32_t row, KeyBuffer* buffer) const;
  bool HasStableKeys() const { return key_form_ != KeyForm::kNumbers; }
  // Fetches what KeyOf will read.
  void PrefetchKey(uint32_t row) const;

  // The values of a column, block by block, of rows so far.
  std::vector<const uint8_t*> Blocks(size_t column) const;
  // Values of rows from `row` to the end of its block, in the type's layout.
  const void* Values(size_t column, uint32_t row) const;
  // Copies the validity of rows [begin, end), all of one block, to the bits of `out` from bit 0; false, and nothing
  // copied, if all are valid.
  bool CopyValidity(size_t column, uint32_t begin, uint32_t end, uint64_t* out) const;
  bool IsValid(size_t column, uint32_t row) const;
  // Whether any row so far has a null there.
  bool MayHaveNulls(size_t column) const { return has_nulls_[column].load(std::memory_order_relaxed); }
  // Writes the rows of [begin, end), relative to begin, that are alive at `commit`; how many.
  uint32_t LiveRows(uint32_t begin, uint32_t end, uint64_t commit, uint32_t* out) const;

  // Counts what it has grown by since the last call. For the writer.
  void ChargeTo(MemoryBudget* budget);
  size_t charged() const { return charged_; }
  size_t memory_bytes() const { return value_bytes() + index_.memory_bytes(); }
  // Without the index.
  size_t value_bytes() const { return value_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Block;
  // How the encoded keys come to be.
  enum class KeyForm : uint8_t {
    kNumbers,  // from columns of fixed width
    kString,   // the value of the one column, a string
    kStored,   // a copy of their own
  };
  struct KeyNumber {
    size_t column;
    size_t width;
    bool is_signed;
  };
  struct Run {
    uint64_t commit;
    uint32_t end;  // behind its last row
  };

  void ChooseKeyForm();
  Block& BlockOf(uint32_t row) const;
  // The first of a block's keys, or of what they are made of.
  const uint8_t* KeyData(const Block& block) const;
  Block& BlockForAppend(uint32_t row);
  void AppendColumn(size_t column, const ColumnView& view, size_t from, size_t count, Block& block, uint32_t at);
  void IndexRows(std::span<const std::string_view> keys, std::span<const uint64_t> hashes, uint32_t first);
  StringRef CopyString(StringRef from);
  uint8_t* Allocate(size_t bytes);
  void Charge(size_t bytes) { value_bytes_.fetch_add(bytes, std::memory_order_relaxed); }

  const MemRowsetId id_;
  const Schema schema_;
  const std::vector<size_t> key_;
  uint64_t first_lsn_ = 0;
  KeyForm key_form_ = KeyForm::kStored;
  std::vector<KeyNumber> key_numbers_;  // for kNumbers
  size_t key_stride_ = 0;               // from one row's key to the next one's, in KeyData
  AppendOnlyVector<std::unique_ptr<Block>> blocks_;
  AppendOnlyVector<Run> runs_;  // one per commit
  AppendOnlyVector<uint32_t> death_order_;
  std::vector<std::atomic<bool>> has_nulls_;  // per column
  std::atomic<uint32_t> rows_{0};
  RowIndex index_;
  HugeArena arena_;  // of columns, keys and strings
  size_t string_left_ = 0;
  char* string_next_ = nullptr;
  std::atomic<size_t> value_bytes_{0};
  size_t charged_ = 0;
};

class MemRowset::Births {
 public:
  explicit Births(const MemRowset& mem);
  uint64_t operator[](uint32_t row) const {
    uint32_t run = first_[row / kStep];
    while (mem_.runs_[run].end <= row) ++run;
    return mem_.runs_[run].commit;
  }

 private:
  static constexpr uint32_t kStep = 64;

  const MemRowset& mem_;
  std::vector<uint32_t> first_;  // the run of every kStep-th row
};

}  // namespace petalite::store
