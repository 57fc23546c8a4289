#include "store/recovery.h"

#include <algorithm>

#include "base/hash.h"
#include "column/key_encoding.h"
#include "store/catalog_changes.h"
#include "store/commit_log.h"

namespace petalite::store {

Status Recovery::Restore(const CatalogImage& image) {
  catalog_lsn_ = image.catalog_lsn;
  last_commit_ = image.commit;
  last_time_ = image.times.empty() ? 0 : image.times.back().time;
  next_table_id_ = image.counters.next_table_id;
  next_rowset_id_ = image.counters.next_rowset_id;
  for (const auto& [key, tablet_image] : image.tablets) {
    std::vector<std::shared_ptr<Rowset>> rowsets;
    for (const RowsetImage& rowset : tablet_image.rowsets) {
      ASSIGN_OR_RETURN(auto made, MakeRowset(key.first, rowset));
      rowsets.push_back(std::move(made));
    }
    auto state = std::make_shared<TabletState>(std::move(rowsets), std::vector<std::shared_ptr<MemRowset>>());
    auto tablet = std::make_shared<Tablet>(context_, key.first, key.second, std::move(state));
    tablet->SetNextMemRowset(tablet_image.next_mem_rowset);
    tablet->SetLastCommit(image.commit);
    tablets_[key] = {std::move(tablet), tablet_image.applied_lsn};
  }
  auto version = std::make_shared<Version>(*image.version);
  for (auto& [_, schema] : version->schemas) {
    for (auto& [_, table] : schema.tables) {
      std::vector<std::shared_ptr<Tablet>> tablets;
      for (uint32_t i = 0; const Progress* found = Find(table->id(), i); ++i) tablets.push_back(found->tablet);
      if (tablets.empty()) return Corruption("catalog: table '{}' has no tablets", table->name().ToString());
      table = std::make_shared<Table>(table->id(), table->name(), table->schema(), table->key(), table->options(),
                                      std::move(tablets));
    }
  }
  const auto existing = [this](TableId table, uint32_t count) {
    std::vector<std::shared_ptr<Tablet>> tablets;
    for (uint32_t i = 0; i < count; ++i) {
      if (const Progress* found = Find(table, i)) tablets.push_back(found->tablet);
    }
    return tablets;
  };
  for (const auto& [commit, changes] : image.older) {
    auto older = std::make_shared<Version>();
    RETURN_IF_ERROR(ApplyChanges(changes, existing, older.get()));
    older->commit = commit;
    versions_[commit] = std::move(older);
  }
  version_ = std::move(version);
  Define();
  return Status::Ok();
}

void Recovery::MarkDropped() {
  for (const auto& [key, progress] : tablets_) {
    if (!tables_.contains(key.first)) progress.tablet->MarkDropped();
  }
}

void Recovery::Define() {
  versions_[version_->commit] = version_;
  for (const auto& [_, table] : tables_) {
    for (const auto& tablet : table->tablets()) tablet->SetDefinition(nullptr);
  }
  tables_ = version_->TablesById();
  for (const auto& [_, table] : tables_) {
    for (const auto& tablet : table->tablets()) tablet->SetDefinition(table.get());
  }
}

Recovery::Progress* Recovery::Find(TableId table, uint32_t tablet) {
  const auto found = tablets_.find({table, tablet});
  return found == tablets_.end() ? nullptr : &found->second;
}

const Table* Recovery::DefinitionAt(TableId id, uint64_t commit) const {
  const Table* found = nullptr;
  for (const auto& [made, version] : versions_) {
    if (made > commit && found != nullptr) break;
    const auto tables = version->TablesById();
    const auto table = tables.find(id);
    if (table != tables.end()) found = table->second.get();
  }
  return found;
}

std::vector<std::shared_ptr<Tablet>> Recovery::MakeTablets(TableId table, uint32_t count) {
  std::vector<std::shared_ptr<Tablet>> tablets;
  for (uint32_t i = 0; i < count; ++i) {
    auto state = std::make_shared<TabletState>(std::vector<std::shared_ptr<Rowset>>(),
                                               std::vector<std::shared_ptr<MemRowset>>());
    tablets.push_back(std::make_shared<Tablet>(context_, table, i, std::move(state)));
    tablets_[{table, i}] = {tablets.back(), 0};
  }
  next_table_id_ = std::max(next_table_id_, table + 1);
  return tablets;
}

Result<std::shared_ptr<Rowset>> Recovery::MakeRowset(TableId table, const RowsetImage& image) {
  auto rowset = std::make_shared<Rowset>(context_, context_.RowsetPath(table, image.info->id), *image.info);
  if (image.deletes.puffin != 0) {
    ASSIGN_OR_RETURN(auto deletes, LoadDeleteLog(context_.fs, context_.PuffinPath(table, image.deletes.puffin),
                                                 image.deletes.location));
    rowset->SetDeletes(std::move(deletes));
    rowset->SetStoredDeletes(image.deletes);
  }
  next_rowset_id_ = std::max(next_rowset_id_, image.info->id + 1);
  return rowset;
}

Status Recovery::Replay(const WalRecord& record) {
  switch (static_cast<RecordType>(record.type)) {
    case RecordType::kCommit:
      return ReplayCommit(record);
    case RecordType::kStorage:
      return ReplayStorage(record);
  }
  return Unsupported("unknown type {}", record.type);
}

Status Recovery::ReplayCommit(const WalRecord& wal_record) {
  ASSIGN_OR_RETURN(const CommitRecord record, ParseCommitRecord(wal_record.payload));
  if (wal_record.lsn >= catalog_lsn_ && !record.meta.catalog.empty()) {
    auto version = std::make_shared<Version>(*version_);
    const auto make = [this](TableId table, uint32_t count) { return MakeTablets(table, count); };
    RETURN_IF_ERROR(ApplyChanges(record.meta.catalog, make, version.get()));
    version->commit = record.commit;
    version_ = std::move(version);
    Define();
  }
  for (const AddedRowset& added : record.meta.rowsets) {
    Progress* progress = Find(added.table, added.info.tablet);
    next_rowset_id_ = std::max(next_rowset_id_, added.info.id + 1);
    if (progress == nullptr || wal_record.lsn < progress->applied_lsn) continue;  // dropped since, or known
    ASSIGN_OR_RETURN(auto rowset, MakeRowset(added.table, {std::make_shared<RowsetInfo>(added.info), {}}));
    rowset->SetCommit(record.commit);
    std::vector<Death> dead;
    for (const uint32_t position : added.dead) dead.push_back({position, record.commit});
    rowset->deletes().Append(dead);
    const auto state = progress->tablet->state();
    auto rowsets = state->rowsets();
    rowsets.push_back(std::move(rowset));
    progress->tablet->SetState(std::make_shared<TabletState>(std::move(rowsets), state->mem_rowsets()));
    progress->tablet->SetLastCommit(record.commit);
  }
  for (const DecodedChange& change : record.changes) {
    RETURN_IF_ERROR(ReplayChange(change, record, wal_record.lsn));
  }
  last_commit_ = std::max(last_commit_, record.commit);
  last_time_ = std::max(last_time_, record.time);
  context_.snapshots->Note({record.commit, record.time});
  return Status::Ok();
}

Status Recovery::ReplayChange(const DecodedChange& decoded, const CommitRecord& record, Lsn lsn) {
  const TabletChange& change = decoded.change;
  const Table* table = DefinitionAt(change.table, record.commit);
  Progress* progress = Find(change.table, change.tablet);
  if (table == nullptr || progress == nullptr) return Status::Ok();  // dropped since
  Tablet& tablet = *progress->tablet;
  // A batch's deaths may be in the memrowset that takes its rows, never among them: either order would do.
  if (change.rows != 0) RETURN_IF_ERROR(ReplayRows(tablet, *table, decoded, record.commit, lsn));
  const auto state = tablet.state();
  for (const SourceDeaths& deaths : change.deaths) {
    RETURN_IF_ERROR(ReplayDeaths(*state, deaths, record.commit, lsn));
  }
  tablet.SetLastCommit(std::max(tablet.last_commit(), record.commit));
  return Status::Ok();
}

namespace {

Status CheckColumns(const DecodedChange& decoded, const Table& table) {
  const Schema& schema = table.schema();
  if (decoded.widths().size() != schema.size()) {
    return Corruption("rows of {} columns, table '{}' has {}", decoded.widths().size(), table.name().ToString(),
                      schema.size());
  }
  for (size_t i = 0; i < schema.size(); ++i) {
    const size_t width = schema[i].type.IsString() ? 0 : schema[i].type.Width();
    if (decoded.widths()[i] == width) continue;
    return Corruption("values of {} bytes for column '{}' of table '{}', whose type is {}", decoded.widths()[i],
                      schema[i].name, table.name().ToString(), schema[i].type.ToString());
  }
  return Status::Ok();
}

}  // namespace

Status Recovery::ReplayRows(Tablet& tablet, const Table& table, const DecodedChange& decoded, uint64_t commit,
                            Lsn lsn) {
  const TabletChange& change = decoded.change;
  const auto state = tablet.state();
  const auto& mems = state->mem_rowsets();
  const MemRowsetId last = mems.empty() ? 0 : mems.back()->id();
  if (change.mem_rowset < tablet.next_mem_rowset() && change.mem_rowset != last) return Status::Ok();  // flushed
  RETURN_IF_ERROR(CheckColumns(decoded, table));
  MemRowset& mem =
      change.mem_rowset == last ? *mems.back() : tablet.AddMemRowset(change.mem_rowset, table.schema(), table.key());
  if (change.first_row != mem.rows()) {
    return Corruption("rows from number {} on, the memrowset has {}", change.first_row, mem.rows());
  }
  EncodedKeys encoded;
  std::vector<std::string_view> keys;
  std::vector<uint64_t> hashes;
  if (table.is_keyed()) {
    std::vector<ColumnView> columns;
    for (const size_t column : table.key()) columns.push_back(change.columns[column]);
    RETURN_IF_ERROR(EncodeKeys(table.KeyTypes(), columns, &encoded));
    for (size_t i = 0; i < encoded.size(); ++i) {
      keys.push_back(encoded[i]);
      hashes.push_back(Xxh64(encoded[i]));
    }
  }
  mem.Append(change.columns, change.rows, keys, hashes, commit, lsn);
  mem.ChargeTo(&context_.memory);
  return Status::Ok();
}

// Deaths of what is gone are known to what took its place.
Status Recovery::ReplayDeaths(const TabletState& state, const SourceDeaths& deaths, uint64_t commit, Lsn lsn) {
  const auto check = [&](uint64_t rows) -> Status {
    for (const uint32_t position : deaths.positions) {
      if (position >= rows) return Corruption("row {} died, and there are {}", position, rows);
    }
    return Status::Ok();
  };
  if (deaths.in_memory) {
    for (const auto& mem : state.mem_rowsets()) {
      if (mem->id() != deaths.source) continue;
      RETURN_IF_ERROR(check(mem->rows()));
      mem->Kill(deaths.positions, commit);
    }
    return Status::Ok();
  }
  for (const auto& rowset : state.rowsets()) {
    if (rowset->info().id != deaths.source || lsn < rowset->stored_deletes().applied_lsn) continue;
    RETURN_IF_ERROR(check(rowset->info().rows));
    std::vector<Death> dead;
    for (const uint32_t position : deaths.positions) dead.push_back({position, commit});
    rowset->deletes().Append(dead);
  }
  return Status::Ok();
}

Status Recovery::ReplayStorage(const WalRecord& wal_record) {
  ASSIGN_OR_RETURN(StorageRecord record, ParseStorageRecord(wal_record.payload));
  for (const auto& added : record.added) next_rowset_id_ = std::max(next_rowset_id_, added.info.id + 1);
  Progress* progress = Find(record.table, record.tablet);
  if (progress == nullptr || wal_record.lsn < progress->applied_lsn) return Status::Ok();
  const auto state = progress->tablet->state();
  std::vector<std::shared_ptr<Rowset>> rowsets;
  std::vector<std::shared_ptr<MemRowset>> mems;
  for (const auto& rowset : state->rowsets()) {
    const bool removed =
        std::find(record.removed.begin(), record.removed.end(), rowset->info().id) != record.removed.end();
    if (!removed) rowsets.push_back(rowset);
    if (removed) context_.retired.Add({rowset});
  }
  for (const auto& mem : state->mem_rowsets()) {
    if (mem->id() != record.mem_rowset) {
      mems.push_back(mem);
    } else {
      context_.memory.Remove(MemoryUse::kMemRowsets, mem->charged());
    }
  }
  for (StorageRecord::Added& added : record.added) {
    ASSIGN_OR_RETURN(auto rowset, MakeRowset(record.table, {std::make_shared<RowsetInfo>(added.info), {}}));
    rowset->deletes().Append(added.deaths);
    rowsets.push_back(std::move(rowset));
  }
  if (record.mem_rowset != 0) {
    progress->tablet->SetNextMemRowset(std::max(progress->tablet->next_mem_rowset(), record.mem_rowset + 1));
  }
  progress->tablet->SetState(std::make_shared<TabletState>(std::move(rowsets), std::move(mems)));
  return Status::Ok();
}

}  // namespace petalite::store
