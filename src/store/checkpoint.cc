// Database's checkpoints: the catalog is brought to what the log says, so that the log can go.

#include <algorithm>
#include <set>

#include "base/log.h"
#include "store/catalog_changes.h"
#include "store/clock.h"
#include "store/database.h"
#include "store/puffin.h"

namespace petalite::store {
namespace {

// A settled death costs a copy of what stays young: worth it once a good part goes.
bool IsWorthSettling(const DeleteLog& deletes, uint64_t horizon) {
  const size_t young = deletes.young();
  if (young == 0 || horizon <= deletes.settled_at()) return false;
  const uint64_t settled = deletes.count() - young;
  return (deletes.CountAt(horizon) - settled) * 4 >= young;
}

std::set<std::string> PuffinPaths(const StoreContext& context, const CatalogImage& image) {
  std::set<std::string> paths;
  for (const auto& [key, tablet] : image.tablets) {
    for (const RowsetImage& rowset : tablet.rowsets) {
      if (rowset.deletes.puffin != 0) paths.insert(context.PuffinPath(key.first, rowset.deletes.puffin));
    }
  }
  return paths;
}

}  // namespace

Status Database::Checkpoint() {
  const std::lock_guard lock(checkpoint_mutex_);
  const uint64_t horizon = snapshots_.Advance(NowMicros(), log_->visible());
  ForgetVersions(std::min(horizon, OldestInMemory()));
  std::vector<std::shared_ptr<Rowset>> retired = context_.retired.Take();
  auto image = MakeImage(horizon);
  Status stored = image.ok() ? catalog_->Apply(image_, *image) : image.status();
  if (!stored.ok()) {
    context_.retired.Add(retired);
    return stored;
  }
  const std::set<std::string> before = PuffinPaths(context_, image_);
  const std::set<std::string> after = PuffinPaths(context_, *image);
  image_ = *std::move(image);
  context_.replay_lsn = image_.replay_lsn;
  for (const auto& rowset : retired) rowset->MarkObsolete();
  retired.clear();
  // What is not removed here is an orphan, which the next writing open removes.
  for (const std::string& path : before) {
    if (after.contains(path)) continue;
    const Status removed = context_.fs.Remove(path);
    if (!removed.ok()) Log(LogLevel::kWarn, "cannot remove a Puffin file that is not used: {}", removed.message());
  }
  return log_->wal().Truncate(image_.replay_lsn);
}

// Each part is as of its own moment, with the place in the log that belongs to it; replay goes by those.
Result<CatalogImage> Database::MakeImage(uint64_t horizon) {
  CatalogImage image;
  image.horizon = horizon;
  std::map<TableId, std::shared_ptr<const Table>> tables;
  {
    const std::lock_guard definitions(definition_mutex_);
    image.version = Current();
    tables = ReadableTables();
    {
      const std::lock_guard versions(version_mutex_);
      for (const auto& [commit, version] : versions_) {
        if (version != image.version) image.older[commit] = DifferenceBetween(Version(), *version);
      }
    }
    log_->WithLogStill([&](Lsn end) {
      image.catalog_lsn = end;
      image.commit = log_->last();
    });
  }
  image.replay_lsn = image.catalog_lsn;
  image.times = snapshots_.Times();
  for (const auto& [id, table] : tables) {
    for (const auto& tablet : table->tablets()) {
      TabletImage& each = image.tablets[{id, tablet->index()}];
      RETURN_IF_ERROR(CaptureTablet(*tablet, image.horizon, &each, &image.replay_lsn));
    }
  }
  image.counters = {context_.next_table_id, context_.next_rowset_id, context_.next_puffin_id};
  // Whoever opens the database begins to read the log at a place that must be there.
  RETURN_IF_ERROR(log_->wal().Sync(log_->wal().end()));
  return image;
}

// The first commit of rows that are only in the log and have a schema that is no longer their table's: replay needs the
// version that they came with.
uint64_t Database::OldestInMemory() const {
  uint64_t oldest = UINT64_MAX;
  const auto current = Current()->TablesById();
  for (const auto& [id, table] : ReadableTables()) {
    const auto now = current.find(id);
    for (const auto& tablet : table->tablets()) {
      for (const auto& mem : std::vector(tablet->state()->mem_rowsets())) {
        const bool stale = now == current.end() || now->second->schema() != mem->schema();
        if (stale && mem->rows() != 0) oldest = std::min(oldest, mem->BornAt(0));
      }
    }
  }
  return oldest;
}

Status Database::CaptureTablet(Tablet& tablet, uint64_t horizon, TabletImage* image, uint64_t* replay_lsn) {
  std::shared_ptr<const TabletState> state;
  uint64_t last_commit = 0;
  {
    const std::lock_guard latch(tablet.latch());
    state = tablet.state();
    last_commit = std::max(tablet.last_commit(), horizon);
    image->applied_lsn = log_->wal().end();
    image->next_mem_rowset = tablet.next_mem_rowset();
    for (const auto& mem : state->mem_rowsets()) {
      image->next_mem_rowset = std::min(image->next_mem_rowset, mem->id());
      if (mem->rows() != 0) *replay_lsn = std::min(*replay_lsn, mem->first_lsn());
    }
    *replay_lsn = std::min(*replay_lsn, image->applied_lsn);
    for (const auto& rowset : state->rowsets()) {
      if (IsWorthSettling(rowset->deletes(), horizon)) rowset->deletes().Settle(horizon);
    }
  }
  for (const auto& rowset : state->rowsets()) {
    image->rowsets.push_back({std::shared_ptr<const RowsetInfo>(rowset, &rowset->info()), rowset->stored_deletes()});
  }
  return StoreDeletes(tablet, *state, last_commit, image);
}

// One Puffin file for all rowsets of the tablet with deaths that no file has yet.
Status Database::StoreDeletes(Tablet& tablet, const TabletState& state, uint64_t last_commit, TabletImage* image) {
  std::unique_ptr<PuffinWriter> writer;
  const uint64_t puffin = context_.next_puffin_id.load();
  for (size_t i = 0; i < state.rowsets().size(); ++i) {
    const Rowset& rowset = *state.rowsets()[i];
    if (rowset.deletes().CountAt(last_commit) == rowset.stored_deletes().location.cardinality) continue;
    if (writer == nullptr) {
      context_.next_puffin_id.fetch_add(1);
      RETURN_IF_ERROR(context_.fs.CreateDirectories(context_.DataDirectory(tablet.table())));
      ASSIGN_OR_RETURN(writer, PuffinWriter::Create(context_.fs, context_.PuffinPath(tablet.table(), puffin)));
    }
    const std::string file = rowset.path().substr(rowset.path().rfind('/') + 1);
    StoredDeletes& stored = image->rowsets[i].deletes;
    ASSIGN_OR_RETURN(stored.location, writer->AddDeleteLog(file, rowset.deletes().ContentsAt(last_commit)));
    stored.puffin = puffin;
    stored.applied_lsn = image->applied_lsn;
  }
  if (writer == nullptr) return Status::Ok();
  ASSIGN_OR_RETURN(const PuffinFileInfo written, writer->Finish());
  context_.metrics.puffin_bytes.fetch_add(written.bytes, std::memory_order_relaxed);
  RETURN_IF_ERROR(context_.fs.SyncDirectory(context_.DataDirectory(tablet.table())));
  // If the checkpoint fails after this, the next one writes those deaths again.
  for (size_t i = 0; i < state.rowsets().size(); ++i) state.rowsets()[i]->SetStoredDeletes(image->rowsets[i].deletes);
  return Status::Ok();
}

}  // namespace petalite::store
