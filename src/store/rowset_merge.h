// Several rowsets of a tablet merged into few: sorted by key, of one key the newest first; unkeyed one after another.
// It keeps book of which input each output row came from, so that deaths which come while it runs can be carried over.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "store/column_mapping.h"
#include "store/compaction_policy.h"
#include "store/row_gather.h"
#include "store/rowset_writer.h"
#include "store/store_context.h"
#include "store/version.h"

namespace petalite::store {

// A list of small numbers, in as few bits each (1, 2, 4 or 8) as the largest needs.
class SmallNumbers {
 public:
  SmallNumbers(uint32_t largest, size_t capacity);
  static size_t BytesFor(uint32_t largest, size_t capacity);

  void Append(uint32_t number) {
    if (Offset(size_) == 0) bytes_.push_back(0);
    bytes_.back() |= static_cast<uint8_t>(number << Offset(size_++));
  }
  uint32_t operator[](size_t i) const { return bytes_[i >> (3 - log_bits_)] >> Offset(i) & mask_; }
  size_t size() const { return size_; }

 private:
  static uint32_t LogBits(uint32_t largest);
  uint32_t Offset(size_t i) const { return static_cast<uint32_t>(i << log_bits_ & 7); }

  uint32_t log_bits_;
  uint32_t mask_;
  size_t size_ = 0;
  std::vector<uint8_t> bytes_;
};

// For one thread.
class RowsetMerge {
 public:
  static constexpr size_t kMaxInputs = 255;

  // Rows dead at `horizon` are left out; commits up to it are no longer told apart. Where the inputs' schemas differ,
  // the outputs have the table's: nobody reads an older version any more.
  RowsetMerge(StoreContext& context, const Table& table, uint32_t tablet, std::vector<std::shared_ptr<Rowset>> inputs,
              uint64_t horizon);
  ~RowsetMerge();

  // Keeps the policy from merges whose book would take more than half of `budget`, and their inputs' pages more than a
  // quarter.
  static void LimitTo(size_t budget, const Table& table, CompactionPolicyOptions* options);
  // What it takes: the writer, pages of the inputs, the book of where rows came from.
  size_t memory_bytes() const { return memory_bytes_; }

  // Writes the outputs; those that are finished are removed again if the merge is destroyed before Release.
  Status Run();
  const std::vector<std::shared_ptr<Rowset>>& outputs() const { return outputs_; }
  void Release();

  // Where an input's row is now; none if it was left out. After Run.
  struct Place {
    uint32_t output;
    uint32_t position;
  };
  std::optional<Place> PlaceOf(uint32_t input, uint32_t position) const;

 private:
  class Cursor;
  struct Picked {  // a row of an output that is being gathered
    uint32_t page;
    uint32_t row;
  };
  struct PageSet {  // the columns' pages that some picked rows lie on
    std::vector<std::shared_ptr<const parquet::DecodedPage>> columns;
    std::shared_ptr<const EncodedKeys> keys;
    uint32_t input = 0;
  };

  void Plan();
  Status Merge();
  Status MergeKeyed();
  Status Pick(Cursor& cursor);
  Status WritePiece();
  void GatherColumn(size_t column, GatheredColumn* out) const;
  Status FinishOutput();
  Result<uint32_t> LoadPageSet(uint32_t input, uint32_t row_group, uint32_t page);

  StoreContext& context_;
  const Table& table_;
  const uint32_t tablet_;
  const std::vector<std::shared_ptr<Rowset>> inputs_;
  Schema schema_;  // of the outputs
  std::vector<size_t> key_;
  TableOptions options_;
  std::vector<ColumnMapping> mappings_;  // of schema_ in each input
  bool with_commits_ = false;
  uint64_t max_commit_ = 0;
  std::vector<std::shared_ptr<const DeleteVector>> dropped_;  // per input; null: none
  std::vector<std::unique_ptr<Cursor>> cursors_;
  std::unique_ptr<RowsetWriter> writer_;
  std::vector<std::shared_ptr<Rowset>> outputs_;
  std::vector<uint64_t> output_ends_;  // in rows of all outputs

  std::vector<Picked> picked_;
  std::vector<std::string_view> keys_;
  std::vector<uint64_t> commits_;
  std::vector<PageSet> pages_;

  uint64_t kept_rows_ = 0;    // of all inputs
  uint64_t output_rows_ = 0;  // of each output, so that they are of about the same size
  WriterPlan plan_;
  size_t memory_bytes_ = 0;

  // The input of each output row, and before each stretch of rows how many each input has given.
  std::optional<SmallNumbers> sources_;
  std::vector<uint32_t> given_;
  std::vector<std::vector<uint32_t>> samples_;
};

}  // namespace petalite::store
