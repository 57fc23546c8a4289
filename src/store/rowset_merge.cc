#include "store/rowset_merge.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "column/types.h"
#include "store/key_prefix.h"

namespace petalite::store {
namespace {

constexpr size_t kSampling = 4096;  // rows between two counts of what each input has given

// A row's bytes as they lie in memory, strings as far as their pages tell.
size_t RowBytes(const RowsetInfo& info) {
  size_t bytes = 0;
  for (size_t i = 0; i < info.columns.size(); ++i) {
    const uint64_t encoded = info.columns[i].uncompressed_bytes / std::max<uint64_t>(info.rows, 1);
    bytes += std::max<size_t>(info.schema[i].type.Width(), encoded);
  }
  return bytes;
}

// Of one row on a page that a cursor holds: its values, its key and what it is decoded from.
size_t PageRowBytes(size_t row_bytes) { return 2 * row_bytes; }

}  // namespace

uint32_t SmallNumbers::LogBits(uint32_t largest) {
  return static_cast<uint32_t>(std::bit_width(std::bit_ceil(static_cast<uint32_t>(std::bit_width(largest | 1u)))) - 1);
}

size_t SmallNumbers::BytesFor(uint32_t largest, size_t capacity) { return (capacity >> (3 - LogBits(largest))) + 1; }

SmallNumbers::SmallNumbers(uint32_t largest, size_t capacity)
    : log_bits_(LogBits(largest)), mask_((1u << (1u << log_bits_)) - 1) {
  CHECK(largest <= UINT8_MAX);
  bytes_.reserve(BytesFor(largest, capacity));
}

// Goes through the rows of one input that are kept, page by page.
class RowsetMerge::Cursor {
 public:
  Cursor(RowsetMerge& merge, uint32_t input) : merge_(merge), rowset_(*merge.inputs_[input]), input_(input) {}

  // Loads the first page with rows.
  Status Start() { return NextPage(); }
  bool at_end() const { return at_end_; }
  Status Next() {
    if (++next_live_ < live_count_) {
      Position();
      return Status::Ok();
    }
    return NextPage();
  }

  uint32_t input() const { return input_; }
  uint32_t page_set() const { return page_set_; }
  uint32_t row() const { return row_; }
  uint64_t prefix() const { return prefix_; }
  std::string_view key() const { return key_; }
  uint64_t commit() const { return commits_ != nullptr ? commits_[row_] : rowset_.info().min_commit; }
  // A piece was written and forgot its pages: this one goes on with the page it holds.
  void KeepPage(uint32_t page_set) { page_set_ = page_set; }

  // By key; of one key the newest first.
  bool IsBefore(const Cursor& other) const {
    if (prefix_ != other.prefix_) return prefix_ < other.prefix_;
    const int order = key_.compare(other.key_);
    return order != 0 ? order < 0 : commit() > other.commit();
  }

 private:
  Status NextPage() {
    ASSIGN_OR_RETURN(const parquet::FileReader* file, rowset_.file());
    for (;;) {
      if (row_group_ == file->row_groups()) {
        at_end_ = true;
        return Status::Ok();
      }
      ASSIGN_OR_RETURN(const auto pages, rowset_.Pages(row_group_, 0));
      if (page_ == pages->locations.size()) {
        ++row_group_;
        page_ = 0;
        continue;
      }
      const uint32_t start =
          rowset_.GroupStart(row_group_) + static_cast<uint32_t>(pages->locations[page_].first_row_index);
      live_.resize(pages->rows[page_]);
      live_count_ = pages->rows[page_];
      const auto& dropped = merge_.dropped_[input_];
      if (dropped != nullptr) {
        live_count_ = dropped->LiveRows(start, start + pages->rows[page_], live_.data());
      } else {
        for (uint32_t i = 0; i < live_count_; ++i) live_[i] = i;
      }
      const uint32_t page = page_++;
      if (live_count_ == 0) continue;
      ASSIGN_OR_RETURN(page_set_, merge_.LoadPageSet(input_, row_group_, page));
      const PageSet& set = merge_.pages_[page_set_];
      keys_ = set.keys;
      const bool has_commits = rowset_.info().has_commit_column;
      commit_page_ = has_commits ? set.columns.back() : nullptr;
      commits_ = has_commits ? static_cast<const uint64_t*>(commit_page_->values()) : nullptr;
      next_live_ = 0;
      Position();
      return Status::Ok();
    }
  }

  void Position() {
    row_ = live_[next_live_];
    if (keys_ == nullptr) return;
    key_ = (*keys_)[row_];
    prefix_ = KeyPrefix(key_);
  }

  RowsetMerge& merge_;
  const Rowset& rowset_;
  const uint32_t input_;
  uint32_t row_group_ = 0;
  uint32_t page_ = 0;  // the next one
  std::vector<uint32_t> live_;
  uint32_t live_count_ = 0;
  uint32_t next_live_ = 0;
  uint32_t page_set_ = 0;
  uint32_t row_ = 0;
  std::shared_ptr<const EncodedKeys> keys_;
  std::shared_ptr<const parquet::DecodedPage> commit_page_;
  const uint64_t* commits_ = nullptr;
  std::string_view key_;
  uint64_t prefix_ = 0;
  bool at_end_ = false;
};

RowsetMerge::RowsetMerge(StoreContext& context, const Table& table, uint32_t tablet,
                         std::vector<std::shared_ptr<Rowset>> inputs, uint64_t horizon)
    : context_(context),
      table_(table),
      tablet_(tablet),
      inputs_(std::move(inputs)),
      schema_(table.schema()),
      key_(table.key()),
      options_(table.options()) {
  CHECK(!inputs_.empty() && inputs_.size() <= kMaxInputs);
  const Schema& first = inputs_[0]->schema();
  const bool same =
      std::all_of(inputs_.begin(), inputs_.end(), [&](const auto& input) { return input->schema() == first; });
  if (same && first != schema_) {
    options_ = options_.For(schema_, first);
    schema_ = first;
    key_ = inputs_[0]->key();
  }
  for (const auto& input : inputs_) mappings_.emplace_back(schema_, input->schema());
  for (const auto& input : inputs_) {
    max_commit_ = std::max(max_commit_, input->info().max_commit);
    dropped_.push_back(input->deletes().At(horizon));
  }
  with_commits_ = max_commit_ > horizon;
  given_.assign(inputs_.size(), 0);
  Plan();
}

void RowsetMerge::LimitTo(size_t budget, const Table& table, CompactionPolicyOptions* options) {
  constexpr size_t kLeastInputs = 16;  // or small files would never be merged
  size_t row_bytes = 0;
  for (const Field& field : table.schema().fields) row_bytes += field.type.Width();
  const size_t page_bytes = table.options().page_rows() * PageRowBytes(row_bytes);
  options->max_inputs = std::clamp(budget / 4 / page_bytes, kLeastInputs, kMaxInputs);
  options->max_rows = budget;  // in the book with four bits each
}

void RowsetMerge::Plan() {
  double bytes = 0;
  size_t row_bytes = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const RowsetInfo& info = inputs_[i]->info();
    const uint64_t kept = info.rows - (dropped_[i] != nullptr ? dropped_[i]->count() : 0);
    kept_rows_ += kept;
    bytes += static_cast<double>(info.bytes) * static_cast<double>(kept) / static_cast<double>(info.rows);
    row_bytes = std::max(row_bytes, RowBytes(info));
  }
  const double outputs = std::max(1.0, std::ceil(bytes / static_cast<double>(options_.rowset_bytes())));
  output_rows_ = std::max(1.0, std::ceil(static_cast<double>(kept_rows_) / outputs));
  const size_t share = context_.memory.shares().jobs / 2;
  plan_ = PlanWriter(options_, row_bytes, table_.is_keyed() ? output_rows_ : 0, share / 2);
  const size_t pages = inputs_.size() + plan_.row_group_rows / options_.page_rows() + 1;
  const auto largest = static_cast<uint32_t>(inputs_.size() - 1);
  sources_.emplace(largest, kept_rows_);
  memory_bytes_ = plan_.bytes + SmallNumbers::BytesFor(largest, kept_rows_) +
                  pages * options_.page_rows() * PageRowBytes(row_bytes) + plan_.row_group_rows * (row_bytes + 32);
}

RowsetMerge::~RowsetMerge() = default;

void RowsetMerge::Release() {
  for (const auto& output : outputs_) output->MarkObsolete(false);
}

// Pages pass by the cache: a merge reads what nobody else may need again.
Result<uint32_t> RowsetMerge::LoadPageSet(uint32_t input, uint32_t row_group, uint32_t page) {
  const Rowset& rowset = *inputs_[input];
  PageSet& set = pages_.emplace_back();
  set.input = input;
  const size_t columns = rowset.schema().size() + (rowset.info().has_commit_column ? 1 : 0);
  for (size_t column = 0; column < columns; ++column) {
    ASSIGN_OR_RETURN(auto decoded, rowset.PassingPage(row_group, column, page));
    set.columns.push_back(std::move(decoded));
  }
  if (table_.is_keyed()) {
    ASSIGN_OR_RETURN(set.keys, rowset.EncodePageKeys(set.columns));
  }
  return static_cast<uint32_t>(pages_.size() - 1);
}

Status RowsetMerge::Run() {
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    cursors_.push_back(std::make_unique<Cursor>(*this, i));
    if (table_.is_keyed() || i == 0) RETURN_IF_ERROR(cursors_.back()->Start());
  }
  RETURN_IF_ERROR(Merge());
  RETURN_IF_ERROR(WritePiece());
  RETURN_IF_ERROR(FinishOutput());
  cursors_.clear();
  pages_.clear();
  if (outputs_.empty()) return Status::Ok();
  return context_.fs.SyncDirectory(context_.DataDirectory(table_.id()));
}

Status RowsetMerge::Merge() {
  if (table_.is_keyed()) return MergeKeyed();
  for (const auto& cursor : cursors_) {
    if (cursor->input() != 0) RETURN_IF_ERROR(cursor->Start());
    while (!cursor->at_end()) RETURN_IF_ERROR(Pick(*cursor));
  }
  return Status::Ok();
}

Status RowsetMerge::MergeKeyed() {
  std::vector<Cursor*> open;
  for (const auto& cursor : cursors_) {
    if (!cursor->at_end()) open.push_back(cursor.get());
  }
  while (!open.empty()) {
    // Few inputs: the two smallest are found by looking at all. The first is then followed while it stays in front.
    size_t first = 0;
    const Cursor* second = nullptr;
    for (size_t i = 1; i < open.size(); ++i) {
      if (open[i]->IsBefore(*open[first])) {
        second = open[first];
        first = i;
      } else if (second == nullptr || open[i]->IsBefore(*second)) {
        second = open[i];
      }
    }
    Cursor& cursor = *open[first];
    do {
      RETURN_IF_ERROR(Pick(cursor));
    } while (!cursor.at_end() && (second == nullptr || cursor.IsBefore(*second)));
    if (cursor.at_end()) open.erase(open.begin() + static_cast<ptrdiff_t>(first));
  }
  return Status::Ok();
}

Status RowsetMerge::Pick(Cursor& cursor) {
  const uint64_t output_begin = output_ends_.empty() ? 0 : output_ends_.back();
  const bool is_piece = picked_.size() >= plan_.row_group_rows;
  const bool is_output = sources_->size() - output_begin >= output_rows_;
  if (is_piece || is_output) {
    // Versions of one key stay together, so that a key is in one output only.
    const bool new_key = keys_.empty() || keys_.back() != cursor.key();
    if (is_piece || new_key) RETURN_IF_ERROR(WritePiece());
    if (is_output && new_key) RETURN_IF_ERROR(FinishOutput());
  }
  picked_.push_back({cursor.page_set(), cursor.row()});
  if (table_.is_keyed()) keys_.push_back(cursor.key());
  if (with_commits_) commits_.push_back(cursor.commit());
  if (sources_->size() % kSampling == 0) samples_.push_back(given_);
  sources_->Append(cursor.input());
  ++given_[cursor.input()];
  return cursor.Next();
}

Status RowsetMerge::WritePiece() {
  if (picked_.empty()) return Status::Ok();
  if (writer_ == nullptr) {
    const RowsetId id = context_.next_rowset_id.fetch_add(1);
    const uint64_t left = kept_rows_ - (output_ends_.empty() ? 0 : output_ends_.back());
    ASSIGN_OR_RETURN(writer_, RowsetWriter::Create(context_, table_.id(),
                                                   {.schema = schema_,
                                                    .options = options_,
                                                    .key = key_,
                                                    .id = id,
                                                    .tablet = tablet_,
                                                    .with_commits = with_commits_,
                                                    .keys = table_.is_keyed() ? std::min(left, output_rows_) : 0,
                                                    .plan = &plan_}));
  }
  std::vector<GatheredColumn> columns(schema_.size());
  std::vector<ColumnView> views(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    GatherColumn(i, &columns[i]);
    views[i] = columns[i].View();
  }
  RETURN_IF_ERROR(writer_->Append(views, picked_.size(), keys_, commits_));
  picked_.clear();
  keys_.clear();
  commits_.clear();
  // The pages that cursors stand on are needed for the next piece.
  std::vector<PageSet> kept;
  for (const auto& cursor : cursors_) {
    if (cursor->at_end() || cursor->page_set() >= pages_.size()) continue;
    PageSet set = pages_[cursor->page_set()];
    cursor->KeepPage(static_cast<uint32_t>(kept.size()));
    kept.push_back(std::move(set));
  }
  pages_ = std::move(kept);
  return Status::Ok();
}

void RowsetMerge::GatherColumn(size_t column, GatheredColumn* out) const {
  const Field& field = schema_[column];
  const Type& type = field.type;
  out->Begin(type, picked_.size());
  struct Source {
    const uint8_t* values = nullptr;
    const uint32_t* codes = nullptr;
    const uint64_t* validity = nullptr;
    bool one_value = false;  // every row has the first
  };
  std::vector<Source> sources;
  std::vector<ByteBuffer> converted;
  const uint64_t no_row = 0;
  bool any_null = false;
  for (const PageSet& set : pages_) {
    const ColumnSource& from = mappings_[set.input][column];
    Source& source = sources.emplace_back();
    if (from.absent()) {
      source.one_value = true;
      source.values = converted.emplace_back(type.Width()).data();
      FillDefault(field, 1, converted.back().data());
      if (field.initial_default.is_null()) source.validity = &no_row;
    } else {
      const parquet::DecodedPage& page = *set.columns[from.position];
      const void* values = page.is_dictionary() ? page.dictionary()->values() : page.values();
      source = {static_cast<const uint8_t*>(values), page.is_dictionary() ? page.codes() : nullptr, page.validity()};
      if (from.converted) {
        source.values = converted.emplace_back(page.rows() * type.Width()).data();
        WidenValues(from.type, type, values, page.rows(), converted.back().data());
      }
    }
    any_null = any_null || source.validity != nullptr;
  }
  VisitLayout(type, [&]<typename T>(T) {
    T* const to = reinterpret_cast<T*>(out->values());
    for (size_t i = 0; i < picked_.size(); ++i) {
      const Source& source = sources[picked_[i].page];
      const uint32_t row = source.one_value ? 0 : picked_[i].row;
      to[i] = reinterpret_cast<const T*>(source.values)[source.codes != nullptr ? source.codes[row] : row];
    }
  });
  for (size_t i = 0; any_null && i < picked_.size(); ++i) {
    const Source& source = sources[picked_[i].page];
    const uint64_t* validity = source.validity;
    const uint32_t row = source.one_value ? 0 : picked_[i].row;
    if (validity != nullptr && (validity[row / 64] >> (row % 64) & 1) == 0) out->SetNull(i);
  }
}

Status RowsetMerge::FinishOutput() {
  if (writer_ == nullptr) return Status::Ok();
  ASSIGN_OR_RETURN(RowsetInfo info, writer_->Finish());
  if (!with_commits_) info.min_commit = info.max_commit = max_commit_;
  if (!table_.is_keyed()) info.order = inputs_[0]->info().order;
  context_.metrics.compacted_bytes.fetch_add(info.bytes, std::memory_order_relaxed);
  output_ends_.push_back((output_ends_.empty() ? 0 : output_ends_.back()) + info.rows);
  outputs_.push_back(std::make_shared<Rowset>(context_, writer_->path(), std::move(info)));
  outputs_.back()->MarkObsolete();  // until they are published
  writer_ = nullptr;
  return Status::Ok();
}

std::optional<RowsetMerge::Place> RowsetMerge::PlaceOf(uint32_t input, uint32_t position) const {
  uint32_t rank = position;  // among the rows that the input gave
  if (dropped_[input] != nullptr) {
    if (dropped_[input]->Contains(position)) return std::nullopt;
    rank -= static_cast<uint32_t>(dropped_[input]->CountRange(0, position));
  }
  const auto behind = std::upper_bound(samples_.begin(), samples_.end(), rank,
                                       [&](uint32_t wanted, const auto& sample) { return wanted < sample[input]; });
  const auto sample = std::prev(behind);
  size_t row = static_cast<size_t>(sample - samples_.begin()) * kSampling;
  for (uint32_t given = (*sample)[input];; ++row) {
    if ((*sources_)[row] == input && given++ == rank) break;
  }
  const auto output =
      static_cast<size_t>(std::upper_bound(output_ends_.begin(), output_ends_.end(), row) - output_ends_.begin());
  const uint64_t begin = output == 0 ? 0 : output_ends_[output - 1];
  return Place{static_cast<uint32_t>(output), static_cast<uint32_t>(row - begin)};
}

}  // namespace petalite::store
