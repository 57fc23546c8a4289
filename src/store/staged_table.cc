#include "store/staged_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/hash.h"
#include "store/check_values.h"
#include "store/flush.h"
#include "store/row_gather.h"
#include "store/tablet.h"

namespace petalite::store {
namespace {

// The commits of what nobody else sees: rows are born at one that is visible to every reader, and die at it. A delete
// log wants one that is not 0.
constexpr uint64_t kOwnCommit = 0;
constexpr uint64_t kOwnDeath = 1;

const void* PartOf(const TabletState& state, uint32_t source) {
  const size_t mems = state.mem_rowsets().size();
  if (source < mems) return state.mem_rowsets()[source].get();
  return state.rowsets()[source - mems].get();
}

}  // namespace

StagedTable::StagedTable(std::shared_ptr<const Table> table, uint64_t snapshot)
    : table_(std::move(table)),
      snapshot_(snapshot),
      mem_(std::make_shared<MemRowset>(0, table_->schema(), table_->key())),
      charge_(table_->tablets()[0]->context().memory, MemoryUse::kStaged),
      dead_as_of_(table_->tablets().size()) {}

Status StagedTable::Refresh() {
  states_.clear();
  for (const auto& tablet : table_->tablets()) states_.push_back(tablet->state());
  if (!dead_rows_.empty()) return MoveDeadRows();
  if (dead_keys_.empty()) {
    for (size_t i = 0; i < states_.size(); ++i) dead_as_of_[i] = states_[i];
    return Status::Ok();
  }
  bool same = true;
  for (size_t i = 0; i < states_.size(); ++i) same = same && dead_as_of_[i].lock() == states_[i];
  if (same) return Status::Ok();
  dead_.clear();
  for (size_t i = 0; i < states_.size(); ++i) RETURN_IF_ERROR(FindDead(i));
  return Status::Ok();
}

Status StagedTable::FindDead(size_t tablet) {
  std::vector<std::string_view> keys;
  std::vector<uint64_t> hashes;
  for (const std::string& key : dead_keys_) {
    const uint64_t hash = Xxh64(std::string_view(key));
    if (table_->TabletOf(hash) != tablet) continue;
    keys.push_back(key);
    hashes.push_back(hash);
  }
  const TabletState& state = *states_[tablet];
  std::vector<RowLocation> locations(keys.size());
  const KeyResolver resolver(table_->tablets()[tablet]->context(), state, snapshot_);
  RETURN_IF_ERROR(resolver.Find(keys, hashes, locations));
  for (const RowLocation& location : locations) {
    if (location.found()) dead_[PartOf(state, location.source)].push_back(location.row);
  }
  for (auto& [_, rows] : dead_) std::sort(rows.begin(), rows.end());
  dead_as_of_[tablet] = states_[tablet];
  return Status::Ok();
}

Status StagedTable::MoveDeadRows() {
  if (dead_as_of_[0].lock() == states_[0]) return Status::Ok();
  dead_.clear();
  for (const TableWriter::PartRows& part : dead_rows_) {
    const auto source = part.SourceIn(*states_[0]);
    if (!source.has_value()) {
      return Busy("table '{}': conflict: the rows were compacted meanwhile; try again", table_->name().ToString());
    }
    std::vector<uint32_t>& dead = dead_[PartOf(*states_[0], *source)];
    dead.insert(dead.end(), part.rows.begin(), part.rows.end());
    std::sort(dead.begin(), dead.end());
  }
  dead_as_of_[0] = states_[0];
  return Status::Ok();
}

Result<WriteCounts> StagedTable::DeleteRows(const TableView& view, std::span<const RowPosition> positions) {
  CHECK(!table_->is_keyed());
  RETURN_IF_ERROR(Refresh());
  const TabletState& state = view.state(0);
  const size_t mems = state.mem_rowsets().size();
  WriteCounts counts;
  std::map<uint32_t, std::vector<uint32_t>> by_source;
  for (const RowPosition& position : positions) {
    TableWriter::PartRows part;
    const uint32_t source = position.location.source;
    if (source < mems) {
      part.mem_rowset = state.mem_rowsets()[source];
    } else {
      part.rowset = state.rowsets()[source - mems];
    }
    const bool own =
        part.mem_rowset == mem_ || std::find(rowsets_.begin(), rowsets_.end(), part.rowset) != rowsets_.end();
    auto now = part.SourceIn(*states_[0]);
    if (!own && !now.has_value()) {
      Forget();
      return Busy("table '{}': conflict: the rows were compacted meanwhile; try again", table_->name().ToString());
    }
    const bool dead = own ? IsOwnDead(part, position.location.row) : IsDead(*states_[0], {*now, position.location.row});
    std::vector<uint32_t>& rows = by_source[source];
    if (dead || std::find(rows.begin(), rows.end(), position.location.row) != rows.end()) {
      counts.Count(RowOutcome::kAbsent);
      continue;
    }
    rows.push_back(position.location.row);
    counts.Count(RowOutcome::kDeleted);
  }
  for (auto& [source, rows] : by_source) {
    AddDeaths(state, source, rows, {});
    const bool in_memory = source < mems;
    if (PartOf(state, source) == mem_.get()) continue;
    TableWriter::PartRows part{in_memory ? state.mem_rowsets()[source] : nullptr,
                               in_memory ? nullptr : state.rowsets()[source - mems], std::move(rows)};
    if (std::find(rowsets_.begin(), rowsets_.end(), part.rowset) == rowsets_.end())
      dead_rows_.push_back(std::move(part));
  }
  dead_as_of_[0].reset();  // what was added may be of an older state
  Forget();
  return counts;
}

bool StagedTable::IsOwnDead(const TableWriter::PartRows& part, uint32_t row) const {
  if (part.mem_rowset != nullptr) return part.mem_rowset->DiedAt(row) != kNeverDied;
  return part.rowset->deletes().DeathOf(row) != kNeverDied;
}

Result<WriteCounts> StagedTable::UpdateRows(const TableView& view, std::span<const RowPosition> positions,
                                            const WriteBatch& batch) {
  if (batch.rows != positions.size()) {
    return InvalidArgument("{} rows for {} positions", batch.rows, positions.size());
  }
  const Schema& schema = table_->schema();
  ASSIGN_OR_RETURN(const std::vector<size_t> fields, GivenFields(schema, batch));
  std::vector<RowLocation> locations;
  for (const RowPosition& position : positions) locations.push_back(position.location);
  const LocatedRows old_rows(view.state(0), locations);
  std::vector<bool> gathered(schema.size());
  std::vector<ColumnVector> columns;
  WriteBatch whole{.op = WriteOp::kInsert, .rows = batch.rows};
  for (size_t column = 0; column < schema.size(); ++column) {
    ColumnVector& values = columns.emplace_back(schema[column].type);
    const auto given = std::find(fields.begin(), fields.end(), column);
    if (given != fields.end()) {
      values.Append(batch.columns[static_cast<size_t>(given - fields.begin())]);
      continue;
    }
    RETURN_IF_ERROR(old_rows.Gather(schema[column], &values));
    gathered[column] = true;
  }
  for (size_t column = 0; column < columns.size(); ++column) {
    whole.columns.push_back(columns[column].View());
    if (gathered[column]) whole.columns.back().selection = old_rows.places().data();
  }
  ASSIGN_OR_RETURN(const auto writer, TableWriter::Make(table_, whole));  // checks the values before anything is done
  ASSIGN_OR_RETURN(WriteCounts counts, DeleteRows(view, positions));
  if (counts.absent != 0) {
    return Busy("table '{}': a row is updated that this transaction has deleted, or twice", table_->name().ToString());
  }
  RETURN_IF_ERROR(Write(whole, nullptr).status());
  counts.updated = std::exchange(counts.deleted, 0);
  return counts;
}

// A transaction may last, and pins no memory meanwhile.
void StagedTable::Forget() { states_.clear(); }

Result<WriteCounts> StagedTable::Write(const WriteBatch& batch, std::vector<RowOutcome>* outcomes) {
  ASSIGN_OR_RETURN(const auto writer, TableWriter::Make(table_, batch));
  RETURN_IF_ERROR(Refresh());
  const Status resolved = writer->ResolveStaged(*this);
  if (resolved.ok()) writer->ApplyStaged(*this, kOwnCommit);
  Forget();
  RETURN_IF_ERROR(resolved);
  if (outcomes != nullptr) *outcomes = writer->outcomes();
  const StoreContext& context = table_->tablets()[0]->context();
  charge_.Set(mem_->memory_bytes());
  context.memory.Settle();
  if (mem_->memory_bytes() > context.transaction_bytes || context.memory.IsCrowded(mem_->memory_bytes())) {
    RETURN_IF_ERROR(Spill());
    charge_.Set(mem_->memory_bytes());
  }
  return writer->counts();
}

// Rows that are dead to the transaction itself were never there for anybody else.
Status StagedTable::Spill() {
  std::vector<std::vector<uint32_t>> rows(table_->tablets().size());
  MemRowset::KeyBuffer key;
  for (const uint32_t row : SortedRows(*mem_, kOwnCommit)) {
    if (mem_->DiedAt(row) != kNeverDied) continue;
    rows[table_->is_keyed() ? table_->TabletOf(Xxh64(mem_->KeyOf(row, &key))) : 0].push_back(row);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].empty()) RETURN_IF_ERROR(SpillTablet(*table_->tablets()[i], rows[i]));
  }
  mem_ = std::make_shared<MemRowset>(0, table_->schema(), table_->key());
  return Status::Ok();
}

Status StagedTable::SpillTablet(const Tablet& tablet, std::span<const uint32_t> rows) {
  StoreContext& context = tablet.context();
  const RowsetId id = context.next_rowset_id.fetch_add(1);
  const std::string directory = context.DataDirectory(table_->id());
  RETURN_IF_ERROR(context.fs.CreateDirectories(directory));
  ASSIGN_OR_RETURN(const auto writer, RowsetWriter::Create(context, table_->id(),
                                                           {.schema = table_->schema(),
                                                            .options = table_->options(),
                                                            .key = table_->key(),
                                                            .id = id,
                                                            .tablet = tablet.index(),
                                                            .keys = table_->is_keyed() ? rows.size() : 0}));
  RETURN_IF_ERROR(WriteRows(*mem_, rows, false, writer.get()));
  ASSIGN_OR_RETURN(RowsetInfo info, writer->Finish());
  rowsets_.push_back(std::make_shared<Rowset>(context, writer->path(), std::move(info)));
  rowsets_.back()->MarkObsolete();  // until the transaction commits
  RETURN_IF_ERROR(context.fs.SyncDirectory(directory));
  return context.fs.SyncDirectory(context.path + "/data");
}

std::shared_ptr<const TabletState> StagedTable::Combined(const Tablet& tablet) const {
  const auto& state = states_[tablet.index()];
  auto rowsets = state->rowsets();
  for (const auto& own : rowsets_) {
    if (own->info().tablet == tablet.index()) rowsets.push_back(own);
  }
  auto mems = state->mem_rowsets();
  mems.push_back(mem_);
  return std::make_shared<TabletState>(std::move(rowsets), std::move(mems));
}

Status StagedTable::Find(const Tablet& tablet, const TabletState& combined, std::span<const std::string_view> keys,
                         std::span<const uint64_t> hashes, std::span<RowLocation> locations) const {
  std::vector<std::shared_ptr<Rowset>> mine;
  for (const auto& own : rowsets_) {
    if (own->info().tablet == tablet.index()) mine.push_back(own);
  }
  const TabletState own(std::move(mine), {mem_});
  return FindInBoth(
      tablet.context(), own, *states_[tablet.index()], combined, snapshot_, keys, hashes,
      [&](const RowLocation& location) { return IsDead(combined, location); }, locations);
}

bool StagedTable::IsDead(const TabletState& state, const RowLocation& location) const {
  const auto found = dead_.find(PartOf(state, location.source));
  return found != dead_.end() && std::binary_search(found->second.begin(), found->second.end(), location.row);
}

bool StagedTable::IsOwn(const void* part) const {
  return part == mem_.get() ||
         std::any_of(rowsets_.begin(), rowsets_.end(), [&](const auto& own) { return own.get() == part; });
}

void StagedTable::AddRead(const TabletState& state, uint32_t source, std::string_view key) {
  if (!IsOwn(PartOf(state, source))) read_keys_.emplace(key);
}

void StagedTable::AddDeaths(const TabletState& state, uint32_t source, std::span<const uint32_t> rows,
                            std::span<const std::string_view> keys) {
  const void* part = PartOf(state, source);
  if (part == mem_.get()) {
    mem_->Kill(rows, kOwnCommit);
    return;
  }
  for (const auto& own : rowsets_) {
    if (own.get() != part) continue;
    std::vector<Death> deaths;
    for (const uint32_t row : rows) deaths.push_back({row, kOwnDeath});
    own->deletes().Append(deaths);
    return;
  }
  std::vector<uint32_t>& dead = dead_[part];
  const auto middle = static_cast<ptrdiff_t>(dead.size());
  dead.insert(dead.end(), rows.begin(), rows.end());
  std::sort(dead.begin() + middle, dead.end());
  std::inplace_merge(dead.begin(), dead.begin() + middle, dead.end());
  for (const std::string_view key : keys) dead_keys_.emplace(key);
}

Result<std::shared_ptr<const TableView>> StagedTable::View() {
  RETURN_IF_ERROR(Refresh());
  auto view = TableView::OpenStaged(table_, snapshot_, states_, rowsets_, mem_, dead_);
  Forget();
  return view;
}

Result<std::vector<std::unique_ptr<StagedTable::CommitBatches>>> StagedTable::TakeBatches() {
  std::vector<std::unique_ptr<CommitBatches>> batches;
  for (uint32_t begin = 0; begin < mem_->rows(); begin += MemRowset::kBlockRows) {
    const uint32_t end = std::min(mem_->rows(), begin + MemRowset::kBlockRows);
    auto each = std::make_unique<CommitBatches>();
    each->rows_.resize(end - begin);
    each->rows_.resize(mem_->LiveRows(begin, end, kNewestCommit, each->rows_.data()));
    if (each->rows_.empty()) continue;
    each->batch_.op = table_->is_keyed() ? WriteOp::kUpsert : WriteOp::kInsert;
    each->batch_.rows = each->rows_.size();
    for (size_t column = 0; column < table_->schema().size(); ++column) {
      std::vector<uint64_t>& words = each->validity_.emplace_back((end - begin + 63) / 64);
      const bool nulls = mem_->CopyValidity(column, begin, end, words.data());
      each->batch_.columns.push_back({.values = mem_->Values(column, begin),
                                      .validity = nulls ? words.data() : nullptr,
                                      .selection = each->rows_.data(),
                                      .size = each->rows_.size()});
    }
    // What would change nothing was left out when it was staged.
    ASSIGN_OR_RETURN(each->writer, TableWriter::Make(table_, each->batch_, /*writes_all=*/true));
    batches.push_back(std::move(each));
  }
  // Keys whose committed row is dead to the transaction, unless a batch above writes them: the old row goes when the
  // new one comes.
  std::vector<std::string> deleted;
  const TabletState own(rowsets_, {mem_});
  const KeyResolver resolver(table_->tablets()[0]->context(), own, kNewestCommit);
  for (const std::string& key : dead_keys_) {
    const std::string_view view = key;
    const uint64_t hash = Xxh64(view);
    RowLocation location;
    RETURN_IF_ERROR(resolver.Find({&view, 1}, {&hash, 1}, {&location, 1}));
    const bool in_memory = location.found() && location.source == 0;
    if (!in_memory) deleted.push_back(key);
  }
  if (!dead_rows_.empty()) {
    auto each = std::make_unique<CommitBatches>();
    each->batch_.op = WriteOp::kDelete;
    for (const auto& part : dead_rows_) each->batch_.rows += part.rows.size();
    each->writer = TableWriter::MakeRowDeletes(table_, each->batch_, dead_rows_);
    batches.push_back(std::move(each));
  }
  std::vector<std::string> read;
  for (const std::string& key : read_keys_) {
    if (!dead_keys_.contains(key)) read.push_back(key);
  }
  if (!read.empty()) {
    auto each = std::make_unique<CommitBatches>();
    each->batch_.op = WriteOp::kDelete;
    each->batch_.rows = read.size();
    each->writer = TableWriter::MakeChecks(table_, each->batch_, std::move(read));
    batches.push_back(std::move(each));
  }
  if (!deleted.empty()) {
    auto each = std::make_unique<CommitBatches>();
    each->batch_.op = WriteOp::kDelete;
    each->batch_.rows = deleted.size();
    each->writer = TableWriter::MakeDeletes(table_, each->batch_, std::move(deleted));
    batches.push_back(std::move(each));
  }
  return batches;
}

}  // namespace petalite::store
