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

// What cannot be removed is an orphan, which the next writing open removes.
void RemovePuffins(FileSystem& fs, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const auto exists = fs.Exists(path);
    if (exists.ok() && !*exists) continue;  // it could not even be created
    const Status removed = fs.Remove(path);
    if (!removed.ok()) Log(LogLevel::kWarn, "cannot remove a Puffin file that is not used: {}", removed.message());
  }
}

}  // namespace

// Delete logs that a checkpoint wrote: they count once the catalog names their files.
struct Database::NewDeletes {
  std::vector<std::string> paths;  // unfinished ones too
  std::vector<std::pair<std::shared_ptr<const Rowset>, StoredDeletes>> stored;
};

Status Database::Checkpoint() {
  const std::lock_guard lock(checkpoint_mutex_);
  const uint64_t horizon = snapshots_.Advance(NowMicros(), log_->visible());
  ForgetVersions(std::min(horizon, OldestInMemory()));
  std::vector<std::shared_ptr<Rowset>> retired = context_.retired.Take();
  NewDeletes deletes;
  const bool was_settled = catalog_->settled();
  auto image = MakeImage(horizon, &deletes);
  Status stored = image.ok() ? catalog_->Apply(image_, *image) : image.status();
  if (!stored.ok()) {
    context_.retired.Add(retired);
    // Unless the disk does not say whether the catalog names them.
    if (catalog_->settled() || !was_settled) RemovePuffins(context_.fs, deletes.paths);
    return stored;
  }
  for (const auto& [rowset, each] : deletes.stored) rowset->SetStoredDeletes(each);
  const std::set<std::string> before = PuffinPaths(context_, image_);
  const std::set<std::string> after = PuffinPaths(context_, *image);
  image_ = *std::move(image);
  context_.replay_lsn = image_.replay_lsn;
  for (const auto& rowset : retired) rowset->MarkObsolete();
  retired.clear();
  std::vector<std::string> unused;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(unused));
  RemovePuffins(context_.fs, unused);
  return log_->wal().Truncate(image_.replay_lsn);
}

// Each part is as of its own moment, with the place in the log that belongs to it; replay goes by those.
Result<CatalogImage> Database::MakeImage(uint64_t horizon, NewDeletes* deletes) {
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
      RETURN_IF_ERROR(CaptureTablet(*tablet, &image, deletes));
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

Status Database::CaptureTablet(Tablet& tablet, CatalogImage* catalog, NewDeletes* deletes) {
  TabletImage& image = catalog->tablets[{tablet.table(), tablet.index()}];
  const uint64_t horizon = catalog->horizon;
  uint64_t& replay_lsn = catalog->replay_lsn;
  std::shared_ptr<const TabletState> state;
  uint64_t last_commit = 0;
  {
    const std::lock_guard latch(tablet.latch());
    state = tablet.state();
    last_commit = std::max(tablet.last_commit(), horizon);
    image.applied_lsn = log_->wal().end();
    image.next_mem_rowset = tablet.next_mem_rowset();
    for (const auto& mem : state->mem_rowsets()) {
      image.next_mem_rowset = std::min(image.next_mem_rowset, mem->id());
      if (mem->rows() != 0) replay_lsn = std::min(replay_lsn, mem->first_lsn());
    }
    replay_lsn = std::min(replay_lsn, image.applied_lsn);
    for (const auto& rowset : state->rowsets()) {
      if (IsWorthSettling(rowset->deletes(), horizon)) rowset->deletes().Settle(horizon);
    }
  }
  for (const auto& rowset : state->rowsets()) {
    image.rowsets.push_back({std::shared_ptr<const RowsetInfo>(rowset, &rowset->info()), rowset->stored_deletes()});
  }
  return StoreDeletes(tablet, *state, last_commit, &image, deletes);
}

// One Puffin file for all rowsets of the tablet with deaths that no file has yet.
Status Database::StoreDeletes(Tablet& tablet, const TabletState& state, uint64_t last_commit, TabletImage* image,
                              NewDeletes* deletes) {
  std::unique_ptr<PuffinWriter> writer;
  const uint64_t puffin = context_.next_puffin_id.load();
  const std::string path = context_.PuffinPath(tablet.table(), puffin);
  std::vector<size_t> written;  // positions of rowsets
  for (size_t i = 0; i < state.rowsets().size(); ++i) {
    const Rowset& rowset = *state.rowsets()[i];
    if (rowset.deletes().CountAt(last_commit) == rowset.stored_deletes().location.cardinality) continue;
    if (writer == nullptr) {
      context_.next_puffin_id.fetch_add(1);
      RETURN_IF_ERROR(context_.fs.CreateDirectories(context_.DataDirectory(tablet.table())));
      deletes->paths.push_back(path);
      ASSIGN_OR_RETURN(writer, PuffinWriter::Create(context_.fs, path));
    }
    const std::string file = rowset.path().substr(rowset.path().rfind('/') + 1);
    StoredDeletes& stored = image->rowsets[i].deletes;
    ASSIGN_OR_RETURN(stored.location, writer->AddDeleteLog(file, rowset.deletes().ContentsAt(last_commit)));
    stored.puffin = puffin;
    stored.applied_lsn = image->applied_lsn;
    written.push_back(i);
  }
  if (writer == nullptr) return Status::Ok();
  ASSIGN_OR_RETURN(const PuffinFileInfo info, writer->Finish());
  context_.metrics.puffin_bytes.fetch_add(info.bytes, std::memory_order_relaxed);
  for (const size_t i : written) {
    image->rowsets[i].deletes.footer_crc = info.footer_crc;
    deletes->stored.emplace_back(state.rowsets()[i], image->rowsets[i].deletes);
  }
  return context_.fs.SyncDirectory(context_.DataDirectory(tablet.table()));
}

std::vector<Status> Database::CheckDeleteLogs(const std::optional<TableId>& only) const {
  const std::lock_guard lock(checkpoint_mutex_);
  std::vector<Status> damage;
  const auto note = [&](const Status& status) {
    if (!status.ok()) damage.push_back(status);
  };
  std::set<std::string> checked;
  for (const auto& [key, tablet] : image_.tablets) {
    if (only.has_value() && key.first != *only) continue;
    for (const RowsetImage& rowset : tablet.rowsets) {
      const StoredDeletes& deletes = rowset.deletes;
      if (deletes.puffin == 0) continue;
      const std::string path = context_.PuffinPath(key.first, deletes.puffin);
      if (checked.insert(path).second) note(CheckPuffinFile(context_.fs, path, deletes.footer_crc));
      note(LoadDeleteLog(context_.fs, path, deletes.location).status());
    }
  }
  return damage;
}

}  // namespace petalite::store
