#include "store/table_writer.h"

#include <algorithm>
#include <numeric>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/hash.h"
#include "store/check_values.h"
#include "store/row_gather.h"
#include "store/staged_table.h"

namespace petalite::store {
namespace {

bool WritesRows(WriteOp op) { return op != WriteOp::kDelete; }
bool OverwritesRows(WriteOp op) { return op == WriteOp::kUpsert || op == WriteOp::kUpdate; }

}  // namespace

Result<std::unique_ptr<TableWriter>> TableWriter::Make(std::shared_ptr<const Table> table, const WriteBatch& batch,
                                                       bool writes_all) {
  std::unique_ptr<TableWriter> writer(new TableWriter(std::move(table), batch));
  writer->skips_unchanged_ = !writes_all && writer->table().options().skip_unchanged() && OverwritesRows(batch.op);
  const Status ready = writer->Init();
  if (!ready.ok()) return ready.WithContext(fmt::format("table '{}'", writer->table().name().ToString()));
  return writer;
}

Status TableWriter::Init() {
  if (!table_->is_keyed() && batch_.op != WriteOp::kInsert) {
    return InvalidArgument("it has no primary key, so rows can only be inserted");
  }
  RETURN_IF_ERROR(ArrangeColumns());
  outcomes_.assign(batch_.rows, RowOutcome::kInserted);
  if (table_->is_keyed()) return EncodeAndDivide();
  Part& part = parts_.emplace_back();
  part.tablet = table_->tablets()[0].get();
  part.rows.resize(batch_.rows);
  std::iota(part.rows.begin(), part.rows.end(), 0);
  return Status::Ok();
}

// Brings the given columns into the schema's order, and puts nulls where an insert gives none.
Status TableWriter::ArrangeColumns() {
  const Schema& schema = table_->schema();
  ASSIGN_OR_RETURN(const std::vector<size_t> fields, GivenFields(schema, batch_));
  columns_.resize(schema.size());
  given_.assign(schema.size(), false);
  for (size_t i = 0; i < fields.size(); ++i) {
    given_[fields[i]] = true;
    columns_[fields[i]] = batch_.columns[i];
  }
  for (const size_t column : table_->key()) {
    if (!given_[column]) return InvalidArgument("key column '{}' is not given", schema[column].name);
  }
  if (!WritesRows(batch_.op)) return Status::Ok();
  no_validity_.assign((batch_.rows + 63) / 64, 0);
  for (size_t i = 0; i < schema.size(); ++i) {
    if (!given_[i] && batch_.op != WriteOp::kUpdate) {
      const ByteBuffer& zeroes = nulls_.emplace_back(batch_.rows * schema[i].type.Width());
      columns_[i] = {.values = zeroes.data(), .validity = no_validity_.data(), .size = batch_.rows};
    } else if (!given_[i]) {
      continue;
    }
    const auto& key = table_->key();
    const bool of_key = std::find(key.begin(), key.end(), i) != key.end();
    Field field = schema[i];
    if (of_key) field.nullable = true;  // a null in the key gets an error of its own
    RETURN_IF_ERROR(CheckValues(field, columns_[i]));
    if (skips_unchanged_ && !of_key) compared_.push_back({&schema[i], columns_[i]});
  }
  return Status::Ok();
}

Status TableWriter::EncodeAndDivide() {
  std::vector<ColumnView> key_columns;
  for (const size_t column : table_->key()) {
    const ColumnView& view = columns_[column];
    for (size_t row = 0; view.validity != nullptr && row < batch_.rows; ++row) {
      if (view.IsValid(row)) continue;
      return InvalidArgument("row {}: key column '{}' is null", row, table_->schema()[column].name);
    }
    key_columns.push_back(view);
  }
  RETURN_IF_ERROR(EncodeKeys(table_->KeyTypes(), key_columns, &keys_));
  hashes_.resize(batch_.rows);
  for (size_t i = 0; i < batch_.rows; ++i) hashes_[i] = Xxh64(keys_[i]);
  std::vector<uint32_t> rows;
  RETURN_IF_ERROR(FindRepeated(keys_, &rows));
  std::vector<std::string_view> keys(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) keys[i] = keys_[rows[i]];
  Divide(rows, keys);
  return Status::Ok();
}

std::unique_ptr<TableWriter> TableWriter::MakeDeletes(std::shared_ptr<const Table> table, const WriteBatch& batch,
                                                      std::vector<std::string> keys) {
  CHECK(batch.op == WriteOp::kDelete && batch.rows == keys.size());
  std::unique_ptr<TableWriter> writer(new TableWriter(std::move(table), batch));
  writer->given_keys_ = std::move(keys);
  writer->outcomes_.assign(batch.rows, RowOutcome::kAbsent);
  std::vector<uint32_t> rows(batch.rows);
  std::iota(rows.begin(), rows.end(), 0);
  for (const std::string& key : writer->given_keys_) writer->hashes_.push_back(Xxh64(std::string_view(key)));
  writer->Divide(rows, {writer->given_keys_.begin(), writer->given_keys_.end()});
  return writer;
}

std::unique_ptr<TableWriter> TableWriter::MakeChecks(std::shared_ptr<const Table> table, const WriteBatch& batch,
                                                     std::vector<std::string> keys) {
  auto writer = MakeDeletes(std::move(table), batch, std::move(keys));
  writer->only_checks_ = true;
  return writer;
}

std::unique_ptr<TableWriter> TableWriter::MakeRowDeletes(std::shared_ptr<const Table> table, const WriteBatch& batch,
                                                         std::vector<PartRows> rows) {
  CHECK(batch.op == WriteOp::kDelete && !table->is_keyed());
  std::unique_ptr<TableWriter> writer(new TableWriter(std::move(table), batch));
  writer->given_rows_ = std::move(rows);
  writer->outcomes_.assign(batch.rows, RowOutcome::kDeleted);
  writer->parts_.emplace_back().tablet = writer->table_->tablets()[0].get();
  return writer;
}

// A flush of an unkeyed memrowset keeps every row in its place; a compaction does not.
std::optional<uint32_t> TableWriter::PartRows::SourceIn(const TabletState& state) const {
  const auto& mems = state.mem_rowsets();
  for (size_t i = 0; i < mems.size(); ++i) {
    if (mems[i] == mem_rowset) return static_cast<uint32_t>(i);
  }
  for (size_t i = 0; i < state.rowsets().size(); ++i) {
    const auto& each = state.rowsets()[i];
    if (each == rowset || (mem_rowset != nullptr && each->flushed_from() == mem_rowset->id())) {
      return static_cast<uint32_t>(mems.size() + i);
    }
  }
  return std::nullopt;
}

Status TableWriter::DecideRowDeletes(Part& part) {
  const size_t mems = part.state->mem_rowsets().size();
  for (const PartRows& given : given_rows_) {
    const auto source = given.SourceIn(*part.state);
    if (!source.has_value()) return Busy("conflict: the rows were compacted meanwhile; try again");
    for (const uint32_t row : given.rows) {
      const uint64_t died = *source < mems ? part.state->mem_rowsets()[*source]->DiedAt(row)
                                           : part.state->rowsets()[*source - mems]->deletes().DeathOf(row);
      if (died != kNeverDied) return Busy("conflict: another transaction changed a row meanwhile; try again");
    }
    const uint64_t id =
        *source < mems ? part.state->mem_rowsets()[*source]->id() : part.state->rowsets()[*source - mems]->info().id;
    part.deaths.push_back({*source < mems, id, given.rows});
    part.death_sources.push_back(*source);
    part.death_keys.emplace_back();
  }
  return Status::Ok();
}

// Among the tablets.
void TableWriter::Divide(const std::vector<uint32_t>& rows, const std::vector<std::string_view>& keys) {
  std::vector<size_t> part_of(table_->tablets().size(), SIZE_MAX);
  std::vector<size_t> tablet_of(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) part_of[tablet_of[i] = table_->TabletOf(hashes_[rows[i]])] = 0;
  for (size_t tablet = 0; tablet < part_of.size(); ++tablet) {
    if (part_of[tablet] == SIZE_MAX) continue;
    part_of[tablet] = parts_.size();
    parts_.emplace_back().tablet = table_->tablets()[tablet].get();
  }
  for (Part& part : parts_) {
    part.rows.reserve(rows.size());
    part.keys.reserve(rows.size());
    part.hashes.reserve(rows.size());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    Part& part = parts_[part_of[tablet_of[i]]];
    part.rows.push_back(rows[i]);
    part.keys.push_back(keys[i]);
    part.hashes.push_back(hashes_[rows[i]]);
  }
}

// Of rows that name one key, one has an effect: the last, which overwrites the others, or the first, which is in the
// others' way.
Status TableWriter::FindRepeated(const EncodedKeys& keys, std::vector<uint32_t>* rows) {
  const auto hash = [&](uint32_t row) { return Remix(hashes_[row]); };
  const auto equal = [&](uint32_t a, uint32_t b) { return hashes_[a] == hashes_[b] && keys[a] == keys[b]; };
  boost::unordered_flat_set<uint32_t, decltype(hash), decltype(equal)> seen(batch_.rows, hash, equal);
  rows->reserve(batch_.rows);
  for (uint32_t row = 0; row < batch_.rows; ++row) {
    const auto [first, added] = seen.insert(row);
    if (added) {
      rows->push_back(row);
      continue;
    }
    if (batch_.op == WriteOp::kInsert) return Duplicate(keys[row]);
    repeated_.push_back({row, *first});
  }
  if (OverwritesRows(batch_.op) && !repeated_.empty()) FindLastOfRepeated(rows);
  return Status::Ok();
}

// `rows` are the first ones with their keys, and become the last ones.
void TableWriter::FindLastOfRepeated(std::vector<uint32_t>* rows) {
  struct Last {
    uint32_t row;
    bool differ;
  };
  boost::unordered_flat_map<uint32_t, Last> last;  // by the first row with the key
  for (Repeated& each : repeated_) {
    Last& before = last.try_emplace(each.first, Last{each.first, false}).first->second;
    each.unchanged = skips_unchanged_ && SameValues(compared_, before.row, each.row);
    before = {each.row, before.differ || !each.unchanged};
  }
  for (uint32_t& row : *rows) {
    const auto found = last.find(row);
    if (found == last.end()) continue;
    stands_for_[found->second.row] = {row, found->second.differ};
    row = found->second.row;
  }
}

Status TableWriter::Duplicate(std::string_view key) const {
  const auto types = table_->KeyTypes();
  ASSIGN_OR_RETURN(const auto values, DecodeKey(types, key));
  return AlreadyExists("duplicate key {}", FormatKey(types, values));
}

std::vector<Tablet*> TableWriter::tablets() const {
  std::vector<Tablet*> tablets;
  for (const Part& part : parts_) tablets.push_back(part.tablet);
  return tablets;
}

Status TableWriter::Resolve(std::optional<uint64_t> snapshot) {
  const std::string context = fmt::format("table '{}'", table_->name().ToString());
  for (Part& part : parts_) RETURN_IF_ERROR(ResolvePart(part, snapshot).WithContext(context));
  return Finish().WithContext(context);
}

Status TableWriter::Finish() {
  if (duplicate_.has_value()) return Duplicate(keys_[*duplicate_]);
  for (const Part& part : parts_) CountUserBytes(part);
  SettleRepeated();
  for (const RowOutcome outcome : outcomes_) counts_.Count(outcome);
  return Status::Ok();
}

Status TableWriter::ResolveStaged(StagedTable& staged) {
  const std::string context = fmt::format("table '{}'", table_->name().ToString());
  for (Part& part : parts_) {
    part.mem_rowset = &staged.mem_rowset();
    part.state = staged.Combined(*part.tablet);
    part.locations.resize(part.rows.size());
    if (table_->is_keyed()) {
      RETURN_IF_ERROR(
          staged.Find(*part.tablet, *part.state, part.keys, part.hashes, part.locations).WithContext(context));
    }
    RETURN_IF_ERROR(Decide(part).WithContext(context));
  }
  return Finish().WithContext(context);
}

void TableWriter::ApplyStaged(StagedTable& staged, uint64_t commit) {
  for (Part& part : parts_) {
    for (size_t i = 0; i < part.deaths.size(); ++i) {
      staged.AddDeaths(*part.state, part.death_sources[i], part.deaths[i].positions, part.death_keys[i]);
    }
    for (const uint32_t i : part.unchanged) staged.AddRead(*part.state, part.locations[i].source, part.keys[i]);
    if (part.written.empty()) continue;
    part.mem_rowset->Append(part.columns, part.written.size(), part.written_keys, part.written_hashes, commit, 0);
  }
}

Status TableWriter::ResolvePart(Part& part, std::optional<uint64_t> snapshot) {
  Tablet& tablet = *part.tablet;
  const Table* definition = tablet.definition();
  if (definition == nullptr || (definition != table_.get() && definition->schema() != table_->schema())) {
    return Busy("conflict: another transaction changed the table's definition meanwhile; try again");
  }
  if (WritesRows(batch_.op)) {
    part.mem_rowset = &tablet.Active(table_->schema(), table_->key());
    if (part.rows.size() >= MemRowset::kMaxRows - part.mem_rowset->rows()) {
      tablet.Freeze();
      part.mem_rowset = &tablet.Active(table_->schema(), table_->key());
    }
  }
  part.state = tablet.state();
  part.locations.resize(part.rows.size());
  if (table_->is_keyed()) {
    const KeyResolver resolver(tablet.context(), *part.state, kNewestCommit);
    if (snapshot.has_value() && tablet.last_commit() > *snapshot) {
      ASSIGN_OR_RETURN(const auto touched, resolver.FirstTouchedSince(*snapshot, part.keys, part.hashes));
      if (touched.has_value()) {
        const auto types = table_->KeyTypes();
        ASSIGN_OR_RETURN(const auto values, DecodeKey(types, part.keys[*touched]));
        return Busy("conflict: another transaction changed key {} meanwhile; try again", FormatKey(types, values));
      }
    }
    if (only_checks_) return Status::Ok();
    RETURN_IF_ERROR(resolver.Find(part.keys, part.hashes, part.locations));
  }
  return Decide(part);
}

Status TableWriter::Decide(Part& part) {
  if (!given_rows_.empty()) return DecideRowDeletes(part);
  std::vector<bool> unchanged;
  if (skips_unchanged_) {
    ASSIGN_OR_RETURN(unchanged, FindUnchangedRows(part));
  }
  std::vector<size_t> group_of_source(part.state->mem_rowsets().size() + part.state->rowsets().size(), SIZE_MAX);
  for (uint32_t i = 0; i < part.rows.size(); ++i) {
    const uint32_t row = part.rows[i];
    const bool found = part.locations[i].found();
    const bool is_unchanged = skips_unchanged_ && unchanged[i];
    if (is_unchanged) {
      outcomes_[row] = RowOutcome::kUnchanged;
      const auto others = stands_for_.find(row);
      if (others == stands_for_.end() || !others->second.differ) {
        part.unchanged.push_back(i);
        continue;
      }
    }
    bool writes = true;
    switch (batch_.op) {
      case WriteOp::kInsert:
        if (found) duplicate_ = std::min(duplicate_.value_or(UINT32_MAX), row);
        break;
      case WriteOp::kInsertOrIgnore:
        outcomes_[row] = found ? RowOutcome::kIgnored : RowOutcome::kInserted;
        writes = !found;
        break;
      case WriteOp::kUpsert:
        if (!is_unchanged) outcomes_[row] = found ? RowOutcome::kUpdated : RowOutcome::kInserted;
        break;
      case WriteOp::kUpdate:
        if (!is_unchanged) outcomes_[row] = found ? RowOutcome::kUpdated : RowOutcome::kAbsent;
        writes = found;
        break;
      case WriteOp::kDelete:
        outcomes_[row] = found ? RowOutcome::kDeleted : RowOutcome::kAbsent;
        writes = false;
        break;
    }
    if (writes) part.written.push_back(i);
    if (found && batch_.op != WriteOp::kInsert && batch_.op != WriteOp::kInsertOrIgnore) {
      NoteDeath(part, i, &group_of_source);
    }
  }
  if (duplicate_.has_value() || part.written.empty()) return Status::Ok();
  if (batch_.op == WriteOp::kUpdate) RETURN_IF_ERROR(Compose(part));
  SelectColumns(part);
  return Status::Ok();
}

// Whether the first row of the batch with the key gives the values of the row that is there.
Result<std::vector<bool>> TableWriter::FindUnchangedRows(const Part& part) const {
  std::vector<RowLocation> locations;
  std::vector<uint32_t> rows;
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < part.rows.size(); ++i) {
    if (!part.locations[i].found()) continue;
    const auto others = stands_for_.find(part.rows[i]);
    locations.push_back(part.locations[i]);
    rows.push_back(others == stands_for_.end() ? part.rows[i] : others->second.first);
    numbers.push_back(i);
  }
  ASSIGN_OR_RETURN(const auto same, FindUnchanged(*part.state, locations, rows, compared_));
  std::vector<bool> unchanged(part.rows.size());
  for (size_t i = 0; i < numbers.size(); ++i) unchanged[numbers[i]] = same[i];
  return unchanged;
}

void TableWriter::NoteDeath(Part& part, uint32_t number, std::vector<size_t>* group_of_source) {
  const RowLocation& location = part.locations[number];
  size_t& group = (*group_of_source)[location.source];
  if (group == SIZE_MAX) {
    group = part.deaths.size();
    const size_t mems = part.state->mem_rowsets().size();
    const bool in_memory = location.source < mems;
    const uint64_t id = in_memory ? part.state->mem_rowsets()[location.source]->id()
                                  : part.state->rowsets()[location.source - mems]->info().id;
    part.deaths.push_back({in_memory, id, {}});
    part.death_sources.push_back(location.source);
    part.death_keys.emplace_back();
  }
  part.deaths[group].positions.push_back(location.row);
  part.death_keys[group].push_back(part.keys[number]);
}

// The columns that an update does not give, from the old rows.
Status TableWriter::Compose(Part& part) {
  const Schema& schema = table_->schema();
  std::vector<RowLocation> old;
  for (const uint32_t i : part.written) old.push_back(part.locations[i]);
  const LocatedRows rows(*part.state, old);
  for (size_t column = 0; column < schema.size(); ++column) {
    ColumnVector& values = part.composed.emplace_back(schema[column].type);
    if (!given_[column]) RETURN_IF_ERROR(rows.Gather(schema[column], &values));
  }
  part.composed_places = rows.places();
  return Status::Ok();
}

void TableWriter::SelectColumns(Part& part) {
  const bool whole = part.written.size() == batch_.rows && repeated_.empty() && parts_.size() == 1;
  part.written_keys.reserve(part.keys.empty() ? 0 : part.written.size());
  for (const uint32_t i : part.written) {
    if (!part.keys.empty()) {
      part.written_keys.push_back(part.keys[i]);
      part.written_hashes.push_back(part.hashes[i]);
    }
    if (!whole) part.selection.push_back(part.rows[i]);
  }
  for (size_t column = 0; column < columns_.size(); ++column) {
    ColumnView view = columns_[column];
    if (batch_.op == WriteOp::kUpdate && !given_[column]) {
      view = part.composed[column].View();
      view.selection = part.composed_places.data();
    } else if (!whole) {
      view.size = part.written.size();
      if (view.selection == nullptr) {
        view.selection = part.selection.data();
      } else {
        auto& positions = nulls_.emplace_back(view.size * sizeof(uint32_t));
        auto* to = reinterpret_cast<uint32_t*>(positions.data());
        for (size_t i = 0; i < view.size; ++i) to[i] = columns_[column].selection[part.selection[i]];
        view.selection = to;
      }
    }
    part.columns.push_back(view);
  }
}

void TableWriter::CountUserBytes(const Part& part) {
  for (size_t column = 0; column < part.columns.size(); ++column) {
    const ColumnView& view = part.columns[column];
    if (!table_->schema()[column].type.IsString()) {
      user_bytes_ += view.size * table_->schema()[column].type.Width();
      continue;
    }
    for (size_t i = 0; i < view.size; ++i) user_bytes_ += view.IsValid(i) ? view.Value<StringRef>(i).size() : 0;
  }
}

// What became of rows that name a key again follows from what became of the first, or of the one that stands for all.
void TableWriter::SettleRepeated() {
  for (const auto& [last, others] : stands_for_) outcomes_[others.first] = outcomes_[last];
  const auto changed = [](const Repeated& each) {
    return each.unchanged ? RowOutcome::kUnchanged : RowOutcome::kUpdated;
  };
  for (const Repeated& each : repeated_) {
    switch (batch_.op) {
      case WriteOp::kInsertOrIgnore:
        outcomes_[each.row] = RowOutcome::kIgnored;
        break;
      case WriteOp::kUpsert:
        outcomes_[each.row] = changed(each);
        break;
      case WriteOp::kUpdate:
        outcomes_[each.row] = outcomes_[each.first] == RowOutcome::kAbsent ? RowOutcome::kAbsent : changed(each);
        break;
      case WriteOp::kDelete:
        outcomes_[each.row] = RowOutcome::kAbsent;
        break;
      case WriteOp::kInsert:
        break;  // an error long before
    }
  }
}

void TableWriter::Log(LoggedRows* logged, ByteBuffer* record) const {
  for (const Part& part : parts_) {
    if (part.written.empty() && part.deaths.empty()) continue;
    TabletChange change;
    change.table = table_->id();
    change.tablet = part.tablet->index();
    if (!part.written.empty()) {
      change.mem_rowset = part.mem_rowset->id();
      change.rows = static_cast<uint32_t>(part.written.size());
      uint32_t& rows_before = logged->try_emplace(part.mem_rowset, part.mem_rowset->rows()).first->second;
      change.first_row = rows_before;
      rows_before += change.rows;
      change.columns = part.columns;
    }
    change.deaths = part.deaths;
    AppendTabletChange(change, table_->schema(), record);
  }
}

void TableWriter::Apply(uint64_t commit, uint64_t lsn) {
  for (Part& part : parts_) {
    if (part.written.empty() && part.deaths.empty()) continue;
    if (!part.written.empty()) {
      part.mem_rowset->Append(part.columns, part.written.size(), part.written_keys, part.written_hashes, commit, lsn);
    }
    ApplyDeaths(*part.state, part.deaths, part.death_sources, commit);
    for (const auto& mem : part.state->mem_rowsets()) mem->ChargeTo(&part.tablet->context().memory);
    part.tablet->SetLastCommit(commit);
  }
}

void ApplyDeaths(const TabletState& state, std::span<const SourceDeaths> deaths, std::span<const uint32_t> sources,
                 uint64_t commit) {
  const size_t mems = state.mem_rowsets().size();
  for (size_t i = 0; i < deaths.size(); ++i) {
    if (sources[i] < mems) {
      state.mem_rowsets()[sources[i]]->Kill(deaths[i].positions, commit);
      continue;
    }
    std::vector<Death> dead;
    dead.reserve(deaths[i].positions.size());
    for (const uint32_t position : deaths[i].positions) dead.push_back({position, commit});
    state.rowsets()[sources[i] - mems]->deletes().Append(dead);
  }
}

}  // namespace petalite::store
