#include <cstring>
#include <numeric>

#include "api/scan_shared.h"
#include "base/bytes.h"
#include "column/row_filter.h"
#include "column/types.h"
#include "parquet/page.h"

namespace petalite {
namespace {

// A slice of a page or memrowset as a ColumnView, copied only where that has no such form.
class SliceView {
 public:
  void Set(store::ColumnSlice slice, const Type& type, uint32_t rows) {
    slice_ = std::move(slice);
    view_ = {.values = slice_.values, .size = rows};
    if (slice_.validity != nullptr) view_.validity = AlignedValidity(rows);
    if (slice_.codes == nullptr) return;
    if (view_.validity == nullptr) {
      view_.values = slice_.dictionary->values();
      view_.selection = slice_.codes;
      return;
    }
    // A selection would select among the validity's bits too.
    const size_t width = type.Width();
    values_.resize(rows * width);
    const auto* entries = static_cast<const uint8_t*>(slice_.dictionary->values());
    for (size_t i = 0; i < rows; ++i) std::memcpy(&values_[i * width], entries + slice_.codes[i] * width, width);
    view_.values = values_.data();
  }

  const ColumnView& view() const { return view_; }

  // The same, of some of the rows.
  ColumnView Selected(const std::vector<uint32_t>& rows) {
    ColumnView selected = view_;
    selected.size = rows.size();
    selected.selection = rows.data();
    if (view_.selection == nullptr) return selected;
    selection_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) selection_[i] = view_.selection[rows[i]];
    selected.selection = selection_.data();
    return selected;
  }

 private:
  const uint64_t* AlignedValidity(uint32_t rows) {
    const size_t shift = slice_.validity_offset % 64;
    const uint64_t* words = slice_.validity + slice_.validity_offset / 64;
    if (shift == 0) return words;
    validity_.resize((rows + 63) / 64);
    const size_t last = (shift + rows - 1) / 64;  // the last word that has a bit of ours
    for (size_t i = 0; i < validity_.size(); ++i) {
      validity_[i] = words[i] >> shift;
      if (i < last) validity_[i] |= words[i + 1] << (64 - shift);
    }
    return validity_.data();
  }

  store::ColumnSlice slice_;
  ColumnView view_;
  ByteBuffer values_;
  std::vector<uint64_t> validity_;
  std::vector<uint32_t> selection_;
};

}  // namespace

struct ScanReader::State {
  explicit State(std::shared_ptr<Scan::Shared> scan)
      : shared(std::move(scan)),
        reader(*shared->scan, shared->columns),
        slices(shared->columns.size()),
        loaded(shared->columns.size()) {}

  // The next range of which some row is wanted; `rows` has which, or is empty for all of them.
  Result<bool> NextRange();
  Status Load(size_t position);
  uint32_t range_rows() const { return range.end - range.begin; }

  std::shared_ptr<Scan::Shared> shared;
  store::MorselReader reader;
  std::vector<SliceView> slices;  // of the range; one per column of the scan
  std::vector<bool> loaded;
  bool in_morsel = false;
  store::RowRange range;
  bool whole = false;          // all rows of the range are wanted
  std::vector<uint32_t> rows;  // else: which, from the range's beginning
};

Status ScanReader::State::Load(size_t position) {
  if (loaded[position]) return Status::Ok();
  ASSIGN_OR_RETURN(auto slice, reader.Read(position, range));
  const Type& type = shared->scan->table().schema()[shared->columns[position]].type;
  slices[position].Set(std::move(slice), type, range_rows());
  loaded[position] = true;
  return Status::Ok();
}

Result<bool> ScanReader::State::NextRange() {
  for (;;) {
    while (!in_morsel || !reader.NextRange(UINT32_MAX, &range)) {
      store::Morsel morsel;
      size_t number;
      if (!shared->scan->Next(&morsel, &number)) return false;
      ASSIGN_OR_RETURN(in_morsel, reader.Start(morsel));
    }
    loaded.assign(loaded.size(), false);
    rows.resize(range_rows());
    if (reader.may_have_invisible()) {
      ASSIGN_OR_RETURN(const uint32_t visible, reader.Visible(range, rows.data()));
      rows.resize(visible);
    } else {
      std::iota(rows.begin(), rows.end(), 0);
    }
    for (const Scan::Shared::Condition& condition : shared->conditions) {
      if (rows.empty()) break;
      RETURN_IF_ERROR(Load(condition.position));
      const Type& type = shared->scan->table().schema()[shared->columns[condition.position]].type;
      KeepMatching(condition.predicate, type, slices[condition.position].view(), &rows);
    }
    whole = rows.size() == range_rows();
    if (!rows.empty()) return true;
  }
}

ScanReader::ScanReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ScanReader::ScanReader(ScanReader&&) noexcept = default;
ScanReader& ScanReader::operator=(ScanReader&&) noexcept = default;
ScanReader::~ScanReader() = default;

Result<bool> ScanReader::Next(RowBlock* block) {
  State& state = *state_;
  ASSIGN_OR_RETURN(const bool more, state.NextRange());
  if (!more) return false;
  block->rows = state.rows.size();
  block->columns.clear();
  for (size_t i = 0; i < state.shared->outputs; ++i) {
    RETURN_IF_ERROR(state.Load(i));
    block->columns.push_back(state.whole ? state.slices[i].view() : state.slices[i].Selected(state.rows));
  }
  return true;
}

RowPosition ScanReader::PositionOf(size_t row) const {
  const store::RowPosition position = state_->reader.PositionOf(state_->range.begin + state_->rows[row]);
  return {position.tablet, position.location.source, position.location.row};
}

ScanReader Scan::NewReader() const { return ScanReader(std::make_unique<ScanReader::State>(shared_)); }

}  // namespace petalite
