#include "store/database.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include "base/log.h"
#include "store/catalog.h"

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
    return name == "LOCK" || name == "data" || name.starts_with("catalog.sqlite-");
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

size_t Default(size_t given, size_t otherwise) { return given != 0 ? given : otherwise; }

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
    : path_(std::move(path)), options_(options), fs_(fs), cache_(options.cache_bytes), pool_(options.threads) {}

Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::Open(const std::string& path, const DatabaseOptions& given) {
  DatabaseOptions options = given;
  options.cache_bytes = Default(options.cache_bytes, AvailableMemory() / 4);
  options.memory_limit = Default(options.memory_limit, AvailableMemory() / 8);
  options.threads = Default(options.threads, AvailableThreads());
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
  if (!exists) {
    RETURN_IF_ERROR(CreateDurably(fs, path + "/data"));
    RETURN_IF_ERROR(fs.SyncDirectory(Parent(path)));  // an attempt that failed may have left the folder unsynced
  }
  ASSIGN_OR_RETURN(database->catalog_, CatalogFile::Open(fs, CatalogPath(path), options.read_only, !exists));
  CatalogCounters counters;
  Database* self = database.get();
  ASSIGN_OR_RETURN(database->current_, database->catalog_->Load(
                                           [self](TableId table, RowsetInfo info, const Schema& schema) {
                                             const std::string file = self->RowsetPath(table, info.id);
                                             return std::make_shared<Rowset>(self->fs_, file, std::move(info), schema,
                                                                             &self->cache_);
                                           },
                                           &counters));
  database->next_table_id_ = counters.next_table_id;
  database->next_rowset_id_ = counters.next_rowset_id;
  if (!options.read_only) RETURN_IF_ERROR(database->RemoveOrphans());
  return database;
}

std::shared_ptr<const Version> Database::Current() const {
  const std::lock_guard lock(version_mutex_);
  return current_;
}

std::string Database::DataDirectory(TableId table) const { return fmt::format("{}/data/{}", path_, table); }

std::string Database::RowsetPath(TableId table, RowsetId rowset) const {
  return fmt::format("{}/{}.parquet", DataDirectory(table), rowset);
}

Result<std::vector<std::string>> Database::FindOrphans() const {
  std::set<std::string> named;
  const auto version = Current();
  for (const auto& [_, schema] : version->schemas) {
    for (const auto& [_, table] : schema.tables) {
      for (const auto& rowset : table->rowsets()) named.insert(rowset->path());
    }
  }
  std::vector<std::string> orphans;
  ASSIGN_OR_RETURN(const auto tables, fs_.List(path_ + "/data"));
  for (const std::string& table : tables) {
    const std::string directory = fmt::format("{}/data/{}", path_, table);
    ASSIGN_OR_RETURN(const auto files, fs_.List(directory));
    for (const std::string& file : files) {
      const std::string path = directory + "/" + file;
      if (!named.contains(path)) orphans.push_back(path);
    }
  }
  return orphans;
}

// What a crash left of transactions that never committed, and of rowsets that were dropped.
Status Database::RemoveOrphans() {
  ASSIGN_OR_RETURN(const auto orphans, FindOrphans());
  for (const std::string& path : orphans) {
    Log(LogLevel::kInfo, "removing {}, which the catalog does not name", path);
    RETURN_IF_ERROR(fs_.Remove(path));
  }
  return Status::Ok();
}

}  // namespace petalite::store
