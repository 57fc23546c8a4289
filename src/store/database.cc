#include "store/database.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include "base/log.h"
#include "store/catalog_changes.h"
#include "store/clock.h"
#include "store/commit_changes.h"
#include "store/compaction.h"
#include "store/flush.h"
#include "store/maintenance.h"
#include "store/rebase.h"
#include "store/recovery.h"
#include "store/staged_table.h"
#include "store/transaction.h"

namespace petalite::store {
namespace {

// A number that stands alone in a file, as cgroups keep theirs; none for "max" or where there is no such file.
std::optional<uint64_t> ReadNumber(const char* path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

std::string CatalogPath(const std::string& path) { return path + "/catalog.sqlite"; }

// What may stand in a directory that is not a database yet: nothing, or what an interrupted creation left.
Result<bool> IsFresh(FileSystem& fs, const std::string& path) {
  ASSIGN_OR_RETURN(const auto names, fs.List(path));
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "LOCK" || name == "data" || name == "wal" || name.starts_with("catalog.sqlite-");
  });
}

std::string Parent(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return "/";
  const size_t slash = path.rfind('/', end);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Makes a folder and those above it where they are missing, so that they survive a crash.
Status CreateDurably(FileSystem& fs, const std::string& path) {
  ASSIGN_OR_RETURN(const bool exists, fs.Exists(path));
  if (exists) return Status::Ok();
  const std::string parent = Parent(path);
  RETURN_IF_ERROR(CreateDurably(fs, parent));
  RETURN_IF_ERROR(fs.CreateDirectories(path));
  return fs.SyncDirectory(parent);
}

Result<std::unique_ptr<FileLock>> LockWithin(FileSystem& fs, const std::string& path, LockMode mode, double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    auto lock = fs.Lock(path + "/LOCK", mode);
    if (lock.ok() || lock.status().code() != StatusCode::kBusy || std::chrono::steady_clock::now() >= deadline) {
      return lock;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Of the log, not yet written.
size_t LogBuffer(const DatabaseOptions& options) {
  return std::min(options.memory_limit / 16, WalOptions().max_buffered);
}

// Flushes and merges have what the others leave.
MemoryShares SharesOf(const DatabaseOptions& options) {
  const size_t others = options.cache_bytes + options.write_bytes + LogBuffer(options);
  return {.limit = options.memory_limit,
          .cache = options.cache_bytes,
          .writes = options.write_bytes,
          .jobs = options.memory_limit - std::min(options.memory_limit, others)};
}

size_t Default(size_t given, size_t otherwise) { return given != 0 ? given : otherwise; }

// The limits that were not given, from the one that was, or from the machine.
DatabaseOptions Resolved(DatabaseOptions options) {
  options.memory_limit = Default(options.memory_limit, AvailableMemory());
  options.cache_bytes = Default(options.cache_bytes, options.memory_limit / 16 * 5);
  options.write_bytes = Default(options.write_bytes, std::min(options.memory_limit / 4, size_t{1} << 30));
  options.threads = Default(options.threads, AvailableThreads());
  return options;
}

}  // namespace

size_t AvailableMemory() {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  uint64_t memory = pages * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  for (const char* limit : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (const auto bytes = ReadNumber(limit)) memory = std::min(memory, *bytes);
  }
  return memory;
}

size_t AvailableThreads() {
  cpu_set_t set;
  size_t threads = std::max(1u, std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof set, &set) == 0) threads = static_cast<size_t>(CPU_COUNT(&set));
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  uint64_t quota = 0;
  uint64_t period = 0;
  if (file >> quota >> period && period != 0) threads = std::min<size_t>(threads, (quota + period - 1) / period);
  return std::max<size_t>(threads, 1);
}

Database::Database(std::string path, const DatabaseOptions& options, FileSystem& fs)
    : options_(options),
      memory_(SharesOf(options), options.memory_source),
      cache_(memory_),
      pool_(options.threads),
      context_{.fs = fs, .path = std::move(path), .memory = memory_, .cache = cache_, .pool = pool_},
      snapshots_(options.history_retention_micros) {
  context_.snapshots = &snapshots_;
  context_.cold_key_pages = options.cold_key_pages;
  context_.transaction_bytes = options.write_bytes / 8;
}

Database::~Database() {
  if (maintenance_ == nullptr) return;  // it was never open
  maintenance_->Stop();
  if (!options_.read_only && log_->wal().health().ok()) {
    Status closed = Flush();
    if (closed.ok()) closed = Checkpoint();
    if (!closed.ok()) Log(LogLevel::kWarn, "{}: not flushed on close: {}", path(), closed.message());
  }
  versions_.clear();
  maintenance_ = nullptr;
}

Result<std::unique_ptr<Database>> Database::Open(const std::string& path, const DatabaseOptions& given) {
  const DatabaseOptions options = Resolved(given);
  if (SharesOf(options).jobs < options.memory_limit / 8) {
    return InvalidArgument("cache_bytes ({}) and write_bytes ({}) leave too little of memory_limit ({})",
                           options.cache_bytes, options.write_bytes, options.memory_limit);
  }
  FileSystem& fs = options.fs != nullptr ? *options.fs : PosixFileSystem();
  ASSIGN_OR_RETURN(bool exists, fs.Exists(path));
  if (!exists && !options.create) return NotFound("{}: there is no such database", path);
  if (!exists) RETURN_IF_ERROR(CreateDurably(fs, path));
  ASSIGN_OR_RETURN(exists, fs.Exists(CatalogPath(path)));
  if (!exists) {
    ASSIGN_OR_RETURN(const bool fresh, IsFresh(fs, path));
    if (!fresh || !options.create) {
      return InvalidArgument("{}: not a Petalite database: there is no catalog.sqlite in it", path);
    }
  }
  std::unique_ptr<Database> database(new Database(path, options, fs));
  ASSIGN_OR_RETURN(database->lock_, LockWithin(fs, path, options.read_only ? LockMode::kShared : LockMode::kExclusive,
                                               options.wait_seconds));
  ASSIGN_OR_RETURN(exists, fs.Exists(CatalogPath(path)));  // another process may have made it meanwhile
  RETURN_IF_ERROR(database->OpenCatalog(exists));
  return database;
}

Status Database::OpenCatalog(bool exists) {
  FileSystem& fs = context_.fs;
  if (!exists) {
    RETURN_IF_ERROR(CreateDurably(fs, path() + "/data"));
    RETURN_IF_ERROR(CreateDurably(fs, path() + "/wal"));
    RETURN_IF_ERROR(fs.SyncDirectory(Parent(path())));  // an attempt that failed may have left the folder unsynced
    RETURN_IF_ERROR(fs.SyncDirectory(path()));
  }
  ASSIGN_OR_RETURN(catalog_, CatalogFile::Open(fs, CatalogPath(path()), options_.read_only, !exists));
  ASSIGN_OR_RETURN(image_, catalog_->Load());
  snapshots_.RestoreHorizon(image_.horizon);
  for (const CommitTime& each : image_.times) snapshots_.Note(each);
  if (image_.times.empty()) snapshots_.Note({image_.commit, NowMicros()});
  Recovery recovery(context_);
  RETURN_IF_ERROR(recovery.Restore(image_));
  const WalOptions wal_options{.segment_bytes = options_.wal_segment_bytes,
                               .durability = options_.durability,
                               .async_interval_ms = options_.async_interval_ms,
                               .max_buffered = LogBuffer(options_)};
  ASSIGN_OR_RETURN(auto wal, Wal::Open(fs, path() + "/wal", image_.replay_lsn, wal_options, options_.read_only,
                                       [&](const WalRecord& record) { return recovery.Replay(record); }));
  log_ = std::make_unique<CommitLog>(std::move(wal), recovery.last_commit());
  log_->SetLastTime(recovery.last_time());
  context_.log = log_.get();
  context_.replay_lsn = image_.replay_lsn;
  context_.next_table_id = recovery.next_table_id();
  context_.next_rowset_id = recovery.next_rowset_id();
  context_.next_puffin_id = image_.counters.next_puffin_id;
  recovery.MarkDropped();
  versions_ = recovery.versions();
  if (!options_.read_only) RETURN_IF_ERROR(RemoveOrphans());
  maintenance_ = std::make_unique<Maintenance>(*this);
  context_.maintenance = maintenance_.get();
  if (!options_.read_only && options_.background) maintenance_->Start();
  return Status::Ok();
}

std::shared_ptr<const Version> Database::Current() const {
  const std::lock_guard lock(version_mutex_);
  return versions_.rbegin()->second;
}

std::shared_ptr<const Snapshot> Database::CurrentSnapshot() const {
  for (;;) {
    const uint64_t commit = log_->visible();
    auto snapshot = SnapshotAt(commit);
    if (snapshot.ok()) return *std::move(snapshot);  // else the horizon has overtaken it: there is a newer one
  }
}

Result<std::shared_ptr<const Snapshot>> Database::SnapshotAt(uint64_t commit) const {
  if (commit > log_->visible()) {
    return InvalidArgument("version {} is not there yet: the newest is {}", commit, log_->visible());
  }
  auto& snapshots = *context_.snapshots;
  RETURN_IF_ERROR(snapshots.TryHold(commit));
  const std::lock_guard lock(version_mutex_);
  const auto behind = versions_.upper_bound(commit);
  if (behind == versions_.begin()) {
    snapshots.Release(commit);
    return InvalidArgument("the definitions of version {} are gone; the oldest kept are of version {}", commit,
                           behind->first);
  }
  return std::shared_ptr<const Snapshot>(std::make_shared<Snapshot>(snapshots, commit, std::prev(behind)->second));
}

Result<std::shared_ptr<const Snapshot>> Database::SnapshotAtTime(int64_t micros) const {
  ASSIGN_OR_RETURN(const uint64_t commit, context_.snapshots->CommitAt(micros));
  return SnapshotAt(std::min(commit, log_->visible()));
}

void Database::ForgetVersions(uint64_t horizon) {
  std::vector<std::shared_ptr<const Version>> forgotten;  // goes after the lock is released: with them may go files
  const std::lock_guard lock(version_mutex_);
  while (versions_.size() > 1 && std::next(versions_.begin())->first <= horizon) {
    forgotten.push_back(std::move(versions_.begin()->second));
    versions_.erase(versions_.begin());
  }
}

Status Database::health() const { return log_->wal().health(); }

Status Database::CheckWritable() const {
  if (options_.read_only) return ReadOnly("{}: the database is open for reading only", path());
  return Status::Ok();
}

Result<Written> Database::Write(const TableName& name, const WriteBatch& batch, std::vector<RowOutcome>* outcomes) {
  RETURN_IF_ERROR(CheckWritable());
  for (int attempt = 0;; ++attempt) {
    const auto table = Current()->FindTable(name);
    if (table == nullptr) return NoSuchTable(*Current(), name);
    ASSIGN_OR_RETURN(const auto writer, TableWriter::Make(table, batch));
    RETURN_IF_ERROR(maintenance_->WaitForRoom());
    CommitSet set;
    set.writers.push_back(writer.get());
    auto committed = CommitChanges(context_, set);
    // The definition may have changed meanwhile: that alone is no reason to fail.
    if (committed.status().code() == StatusCode::kBusy && attempt < 3) continue;
    RETURN_IF_ERROR(committed.status());
    if (outcomes != nullptr) *outcomes = writer->outcomes();
    return Written{*committed, writer->counts()};
  }
}

Status Database::Commit(Transaction& transaction) {
  const Version& before = transaction.base_->version();
  const auto changes = DifferenceBetween(before, *transaction.view_);
  CommitSet set;
  set.snapshot = transaction.base_->commit();
  std::vector<std::unique_ptr<StagedTable::CommitBatches>> batches;
  for (const auto& [id, staged] : transaction.staged_) {
    ASSIGN_OR_RETURN(auto more, staged->TakeBatches());
    for (auto& each : more) {
      set.writers.push_back(each->writer.get());
      batches.push_back(std::move(each));
    }
    for (const auto& rowset : staged->rowsets()) set.adopted.push_back({staged->table(), rowset});
  }
  if (changes.empty() && set.writers.empty() && set.adopted.empty()) return Status::Ok();
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(maintenance_->WaitForRoom());
  std::unique_lock<std::mutex> definitions;
  if (!changes.empty()) {
    definitions = std::unique_lock(definition_mutex_);
    const auto current = Current();
    ASSIGN_OR_RETURN(auto next, RebaseVersion(before, *transaction.view_, *current));
    set.changes = DifferenceBetween(*current, *next);
    set.before = current;
    set.after = next;
    set.publish = [this, next](uint64_t commit) {
      next->commit = commit;
      const std::lock_guard lock(version_mutex_);
      versions_[commit] = next;
    };
  }
  const auto committed = CommitChanges(context_, set);
  // From here on the log may have the files, whatever came after.
  if (committed.ok() || set.logged) transaction.written_.clear();
  if (!changes.empty() && committed.ok()) maintenance_->RequestCheckpoint();
  return committed.status();
}

std::vector<std::shared_ptr<const Table>> Database::TablesNamed(const std::optional<TableName>& name,
                                                                Status* status) const {
  std::vector<std::shared_ptr<const Table>> tables;
  if (name.has_value()) {
    const auto version = Current();
    tables.push_back(version->FindTable(*name));
    if (tables[0] == nullptr) {
      *status = NoSuchTable(*version, *name);
      tables.clear();
    }
    return tables;
  }
  for (const auto& [_, table] : ReadableTables()) tables.push_back(table);
  return tables;
}

std::map<TableId, std::shared_ptr<const Table>> Database::ReadableTables() const {
  const std::lock_guard lock(version_mutex_);
  std::map<TableId, std::shared_ptr<const Table>> tables;
  for (const auto& [_, version] : versions_) tables.merge(version->TablesById());
  return tables;
}

Schema Database::OldestDefinition(TableId id) const {
  const std::lock_guard lock(version_mutex_);
  for (const auto& [_, version] : versions_) {
    const auto tables = version->TablesById();
    const auto found = tables.find(id);
    if (found != tables.end()) return found->second->schema();
  }
  return {};
}

Status Database::Flush(const std::optional<TableName>& name) {
  RETURN_IF_ERROR(CheckWritable());
  Status status;
  for (const auto& table : TablesNamed(name, &status)) {
    for (const auto& tablet : table->tablets()) RETURN_IF_ERROR(FlushTablet(*tablet, *table));
  }
  RETURN_IF_ERROR(status);
  return Checkpoint();
}

Status Database::Compact(const std::optional<TableName>& name, bool rewrite) {
  RETURN_IF_ERROR(Flush(name));
  Status status;
  for (const auto& table : TablesNamed(name, &status)) {
    for (const auto& tablet : table->tablets()) {
      if (rewrite) {
        for (const auto& rowset : std::vector(tablet->state()->rowsets())) {
          RETURN_IF_ERROR(CompactRowsets(*tablet, *table, {rowset}));
        }
      }
      for (;;) {
        ASSIGN_OR_RETURN(const bool more, maintenance_->CompactOnce(*tablet, *table));
        if (!more) break;
      }
    }
  }
  RETURN_IF_ERROR(status);
  return Checkpoint();
}

Status Database::WaitUntilIdle() { return maintenance_->WaitUntilIdle(); }

Result<std::vector<std::string>> Database::FindOrphans() const {
  const std::lock_guard lock(checkpoint_mutex_);
  // What is used or named when it was listed still is below, or is gone.
  std::vector<std::string> paths;
  ASSIGN_OR_RETURN(const auto tables, context_.fs.List(path() + "/data"));
  for (const std::string& table : tables) {
    const std::string directory = fmt::format("{}/data/{}", path(), table);
    ASSIGN_OR_RETURN(const auto files, context_.fs.List(directory));
    for (const std::string& file : files) paths.push_back(directory + "/" + file);
  }
  std::set<std::string> named;
  for (const auto& [key, tablet] : image_.tablets) {
    for (const RowsetImage& rowset : tablet.rowsets) {
      named.insert(context_.RowsetPath(key.first, rowset.info->id));
      if (rowset.deletes.puffin != 0) named.insert(context_.PuffinPath(key.first, rowset.deletes.puffin));
    }
  }
  std::vector<std::string> orphans;
  for (const std::string& path : paths) {
    if (named.contains(path) || context_.files.Contains(path)) continue;
    ASSIGN_OR_RETURN(const bool exists, context_.fs.Exists(path));
    if (exists) orphans.push_back(path);
  }
  return orphans;
}

// What a crash left of transactions that never committed, of jobs that never ended, and of rowsets that were dropped.
Status Database::RemoveOrphans() {
  ASSIGN_OR_RETURN(const auto orphans, FindOrphans());
  for (const std::string& path : orphans) {
    Log(LogLevel::kInfo, "removing {}, which the catalog does not name", path);
    RETURN_IF_ERROR(context_.fs.Remove(path));
  }
  return Status::Ok();
}

}  // namespace petalite::store
