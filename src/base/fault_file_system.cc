#include "base/fault_file_system.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>

#include <unistd.h>

namespace petalite {
namespace {

constexpr uint64_t kSector = 512;

Status SystemError(std::string_view action, const std::string& path, int error) {
  const std::string reason = std::error_code(error, std::generic_category()).message();
  if (error == ENOENT) return NotFound("{}: cannot {}: {}", path, action, reason);
  if (error == EEXIST) return AlreadyExists("{}: cannot {}: {}", path, action, reason);
  return IoError("{}: cannot {}: {}", path, action, reason);
}

// The name under which a path is filed: no slash at the end; the root and the current folder are "".
std::string Normal(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  if (path.starts_with("./")) path.erase(0, 2);
  return path == "." ? "" : path;
}

std::string Parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

struct Change {
  bool truncates;
  uint64_t offset;  // or the size that a truncation leaves
  ByteBuffer data;
};

void Apply(const Change& change, ByteBuffer* content) {
  if (change.truncates) {
    content->resize(change.offset);
    return;
  }
  content->resize(std::max<size_t>(content->size(), change.offset + change.data.size()));
  std::copy(change.data.begin(), change.data.end(), content->begin() + static_cast<ptrdiff_t>(change.offset));
}

struct File {
  ByteBuffer live;              // what reads show
  ByteBuffer durable;           // what a crash leaves
  std::vector<Change> pending;  // what a Sync would add to it

  void Do(Change change) {
    Apply(change, &live);
    pending.push_back(std::move(change));
  }

  void Sync() {
    for (const Change& change : pending) Apply(change, &durable);
    pending.clear();
  }

  void Lose(std::mt19937_64& random) {
    for (Change& change : pending) {
      const uint64_t fate = random() % 3;
      if (fate == 0) continue;
      if (fate == 1 && !change.truncates && !change.data.empty()) {
        const uint64_t end = change.offset + random() % change.data.size();
        const uint64_t torn = std::max(change.offset, end / kSector * kSector);
        change.data.resize(torn - change.offset);
      }
      Apply(change, &durable);
    }
    pending.clear();
  }
};

// A null pointer stands for a folder.
using Entries = std::map<std::string, std::shared_ptr<File>>;

struct EntryChange {
  std::string folder;
  std::string removed;  // empty: nothing
  std::string added;    // empty: nothing
  std::shared_ptr<File> file;
};

void Apply(const EntryChange& change, Entries* entries) {
  if (!change.removed.empty()) entries->erase(change.removed);
  if (!change.added.empty()) (*entries)[change.added] = change.file;
}

struct Holders {
  int shared = 0;
  bool exclusive = false;
};

}  // namespace

struct FaultFileSystem::Disk {
  mutable std::mutex mutex;
  Entries live;
  Entries durable;
  std::vector<EntryChange> pending;
  std::map<std::string, Holders> locks;
  std::mt19937_64 random{1};
  uint64_t crashes = 0;  // open files and locks of before are void
  uint64_t mutations = 0;
  uint64_t reads = 0;
  uint64_t first_failing = 0;  // 0: none
  uint64_t failing = 0;        // how many, from it on
  Fault fault = Fault::kIoError;
  uint64_t failing_read = 0;

  // Counts a mutating call; true: it is to fail.
  bool Fails() {
    ++mutations;
    return first_failing != 0 && mutations >= first_failing && mutations - first_failing < failing;
  }

  Status Refusal(std::string_view action, const std::string& path) const {
    return SystemError(action, path, fault == Fault::kIoError ? EIO : ENOSPC);
  }

  bool IsFolder(const std::string& path) const {
    if (path.empty()) return true;
    const auto found = live.find(path);
    return found != live.end() && found->second == nullptr;
  }

  void Do(EntryChange change) {
    Apply(change, &live);
    pending.push_back(std::move(change));
  }

  Result<std::shared_ptr<File>> Find(std::string_view action, const std::string& path) const {
    if (IsFolder(path)) return SystemError(action, path, EISDIR);
    const auto found = live.find(path);
    if (found == live.end()) return SystemError(action, path, ENOENT);
    return found->second;
  }

  Result<std::shared_ptr<File>> Make(std::string_view action, const std::string& path) {
    if (Fails()) return Refusal(action, path);
    if (!IsFolder(Parent(path))) return SystemError(action, path, live.contains(Parent(path)) ? ENOTDIR : ENOENT);
    if (live.contains(path)) return SystemError(action, path, EEXIST);
    auto file = std::make_shared<File>();
    Do({Parent(path), "", path, file});
    return file;
  }

  Status Write(File& file, const std::string& path, uint64_t offset, Bytes data) {
    const bool fails = Fails();
    if (fails && fault == Fault::kShortWrite) data = data.first(data.size() / 2);
    if (!fails || fault == Fault::kShortWrite) file.Do({false, offset, ByteBuffer(data.begin(), data.end())});
    return fails ? Refusal("write", path) : Status::Ok();
  }

  Status Sync(File& file, const std::string& path) {
    if (Fails()) {
      file.Lose(random);
      return Refusal("sync", path);
    }
    file.Sync();
    return Status::Ok();
  }
};

namespace {

using Disk = FaultFileSystem::Disk;

// What open files share: the disk, and whether a crash has voided them. Every use holds the disk's mutex.
struct Opened {
  Opened(std::shared_ptr<Disk> on, std::shared_ptr<File> opened, std::string name)
      : disk(std::move(on)), file(std::move(opened)), path(std::move(name)), crashes(disk->crashes) {}

  Status Check() const { return crashes == disk->crashes ? Status::Ok() : SystemError("use", path, EBADF); }

  std::shared_ptr<Disk> disk;
  std::shared_ptr<File> file;
  std::string path;
  uint64_t crashes;
};

class FaultRandomFile : public RandomFile {
 public:
  FaultRandomFile(Opened opened, bool writable) : opened_(std::move(opened)), writable_(writable) {}

  Status Read(uint64_t offset, MutableBytes out) const override {
    const std::lock_guard lock(opened_.disk->mutex);
    RETURN_IF_ERROR(opened_.Check());
    if (++opened_.disk->reads == opened_.disk->failing_read) return SystemError("read", path(), EIO);
    const ByteBuffer& live = opened_.file->live;
    const uint64_t there = offset < live.size() ? std::min<uint64_t>(live.size() - offset, out.size()) : 0;
    std::copy_n(live.begin() + static_cast<ptrdiff_t>(there == 0 ? 0 : offset), there, out.begin());
    if (there == out.size()) return Status::Ok();
    return IoError("{}: the file ends at offset {}, {} bytes early", path(), offset + there, out.size() - there);
  }
  Status Write(uint64_t offset, Bytes data) override {
    if (!writable_) return ReadOnly("{}: opened for reading only", path());
    const std::lock_guard lock(opened_.disk->mutex);
    RETURN_IF_ERROR(opened_.Check());
    return opened_.disk->Write(*opened_.file, path(), offset, data);
  }
  Status Truncate(uint64_t size) override {
    if (!writable_) return ReadOnly("{}: opened for reading only", path());
    const std::lock_guard lock(opened_.disk->mutex);
    RETURN_IF_ERROR(opened_.Check());
    if (opened_.disk->Fails()) return opened_.disk->Refusal("truncate", path());
    opened_.file->Do({true, size, {}});
    return Status::Ok();
  }
  Status Sync() override {
    const std::lock_guard lock(opened_.disk->mutex);
    RETURN_IF_ERROR(opened_.Check());
    return opened_.disk->Sync(*opened_.file, path());
  }
  Result<uint64_t> Size() const override {
    const std::lock_guard lock(opened_.disk->mutex);
    RETURN_IF_ERROR(opened_.Check());
    return static_cast<uint64_t>(opened_.file->live.size());
  }
  const std::string& path() const override { return opened_.path; }

 private:
  Opened opened_;
  bool writable_;
};

class FaultSequentialWriter : public SequentialWriter {
 public:
  explicit FaultSequentialWriter(Opened opened) : opened_(std::move(opened)) {}

  Status Append(Bytes data) override {
    const std::lock_guard lock(opened_.disk->mutex);
    RETURN_IF_ERROR(opened_.Check());
    RETURN_IF_ERROR(opened_.disk->Write(*opened_.file, path(), size_, data));
    size_ += data.size();
    return Status::Ok();
  }
  Status Sync() override {
    const std::lock_guard lock(opened_.disk->mutex);
    RETURN_IF_ERROR(opened_.Check());
    return opened_.disk->Sync(*opened_.file, path());
  }
  Status Close() override {
    const std::lock_guard lock(opened_.disk->mutex);
    return opened_.Check();
  }
  uint64_t size() const override { return size_; }
  const std::string& path() const override { return opened_.path; }

 private:
  Opened opened_;
  uint64_t size_ = 0;
};

class FaultFileLock : public FileLock {
 public:
  FaultFileLock(std::shared_ptr<Disk> disk, std::string path, LockMode mode)
      : disk_(std::move(disk)), path_(std::move(path)), mode_(mode), crashes_(disk_->crashes) {}
  ~FaultFileLock() override {
    const std::lock_guard lock(disk_->mutex);
    if (crashes_ != disk_->crashes) return;
    Holders& holders = disk_->locks[path_];
    if (mode_ == LockMode::kExclusive) {
      holders.exclusive = false;
    } else {
      --holders.shared;
    }
  }

 private:
  std::shared_ptr<Disk> disk_;
  std::string path_;
  LockMode mode_;
  uint64_t crashes_;
};

}  // namespace

FaultFileSystem::FaultFileSystem(uint64_t seed) : disk_(std::make_shared<Disk>()) { disk_->random.seed(seed); }
FaultFileSystem::~FaultFileSystem() = default;

void FaultFileSystem::FailAt(uint64_t n, Fault fault) { FailFrom(n, fault, 1); }

void FaultFileSystem::FailFrom(uint64_t n, Fault fault, uint64_t count) {
  const std::lock_guard lock(disk_->mutex);
  disk_->first_failing = disk_->mutations + n;
  disk_->failing = count;
  disk_->fault = fault;
}

void FaultFileSystem::FailReadAt(uint64_t n) {
  const std::lock_guard lock(disk_->mutex);
  disk_->failing_read = disk_->reads + n;
}

void FaultFileSystem::Heal() {
  const std::lock_guard lock(disk_->mutex);
  disk_->first_failing = 0;
  disk_->failing_read = 0;
}

uint64_t FaultFileSystem::mutations() const {
  const std::lock_guard lock(disk_->mutex);
  return disk_->mutations;
}

uint64_t FaultFileSystem::reads() const {
  const std::lock_guard lock(disk_->mutex);
  return disk_->reads;
}

void FaultFileSystem::Crash(uint64_t seed) {
  Heal();
  const std::lock_guard lock(disk_->mutex);
  disk_->random.seed(seed);
  std::map<std::string, uint64_t> kept;  // per folder, how many of its changes
  for (const EntryChange& change : disk_->pending) ++kept[change.folder];
  for (auto& [_, count] : kept) count = disk_->random() % (count + 1);
  for (const EntryChange& change : disk_->pending) {
    if (kept[change.folder] == 0) continue;
    --kept[change.folder];
    Apply(change, &disk_->durable);
  }
  // Parents sort before what is in them, so one pass takes whole trees.
  std::erase_if(disk_->durable, [&](const auto& entry) {
    for (std::string folder = Parent(entry.first); !folder.empty(); folder = Parent(folder)) {
      if (!disk_->durable.contains(folder)) return true;
    }
    return false;
  });
  for (const auto& [_, file] : disk_->durable) {
    if (file == nullptr) continue;
    file->Lose(disk_->random);
    file->live = file->durable;
  }
  disk_->pending.clear();
  disk_->live = disk_->durable;
  disk_->locks.clear();
  ++disk_->crashes;
}

Result<std::unique_ptr<RandomFile>> FaultFileSystem::Open(const std::string& path, OpenMode mode) {
  const std::lock_guard lock(disk_->mutex);
  const std::string name = Normal(path);
  std::shared_ptr<File> file;
  if (mode == OpenMode::kCreate && !disk_->live.contains(name)) {
    ASSIGN_OR_RETURN(file, disk_->Make("open", name));
  } else {
    ASSIGN_OR_RETURN(file, disk_->Find("open", name));
  }
  return std::unique_ptr<RandomFile>(new FaultRandomFile(Opened(disk_, file, path), mode != OpenMode::kRead));
}

Result<std::unique_ptr<SequentialWriter>> FaultFileSystem::Create(const std::string& path) {
  const std::lock_guard lock(disk_->mutex);
  ASSIGN_OR_RETURN(auto file, disk_->Make("create", Normal(path)));
  return std::unique_ptr<SequentialWriter>(new FaultSequentialWriter(Opened(disk_, file, path)));
}

Status FaultFileSystem::Remove(const std::string& path) {
  const std::lock_guard lock(disk_->mutex);
  const std::string name = Normal(path);
  if (disk_->Fails()) return disk_->Refusal("remove", path);
  ASSIGN_OR_RETURN([[maybe_unused]] const auto file, disk_->Find("remove", name));
  disk_->Do({Parent(name), name, "", nullptr});
  return Status::Ok();
}

Status FaultFileSystem::Rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(disk_->mutex);
  const std::string source = Normal(from);
  const std::string target = Normal(to);
  const std::string action = "rename to " + to;
  if (disk_->Fails()) return disk_->Refusal(action, from);
  ASSIGN_OR_RETURN(const auto file, disk_->Find(action, source));
  if (!disk_->IsFolder(Parent(target))) return SystemError(action, from, ENOENT);
  if (disk_->IsFolder(target)) return SystemError(action, from, EISDIR);
  if (source != target) disk_->Do({Parent(target), source, target, file});
  return Status::Ok();
}

Result<bool> FaultFileSystem::Exists(const std::string& path) {
  const std::lock_guard lock(disk_->mutex);
  return Normal(path).empty() || disk_->live.contains(Normal(path));
}

Result<uint64_t> FaultFileSystem::FileSize(const std::string& path) {
  const std::lock_guard lock(disk_->mutex);
  ASSIGN_OR_RETURN(const auto file, disk_->Find("stat", Normal(path)));
  return static_cast<uint64_t>(file->live.size());
}

Status FaultFileSystem::CreateDirectories(const std::string& path) {
  const std::lock_guard lock(disk_->mutex);
  const std::string name = Normal(path);
  std::vector<std::string> missing;
  for (std::string folder = name; !disk_->IsFolder(folder); folder = Parent(folder)) {
    if (disk_->live.contains(folder)) return SystemError("create directory", path, ENOTDIR);
    missing.push_back(folder);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (disk_->Fails()) return disk_->Refusal("create directory", path);
    disk_->Do({Parent(*folder), "", *folder, nullptr});
  }
  return Status::Ok();
}

Status FaultFileSystem::RemoveDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(const auto names, List(path));
  const std::lock_guard lock(disk_->mutex);
  const std::string name = Normal(path);
  if (disk_->Fails()) return disk_->Refusal("remove directory", path);
  if (!names.empty() || name.empty()) return SystemError("remove directory", path, ENOTEMPTY);
  disk_->Do({Parent(name), name, "", nullptr});
  return Status::Ok();
}

Result<std::vector<std::string>> FaultFileSystem::List(const std::string& directory) {
  const std::lock_guard lock(disk_->mutex);
  const std::string folder = Normal(directory);
  if (!disk_->IsFolder(folder)) {
    return SystemError("list", directory, disk_->live.contains(folder) ? ENOTDIR : ENOENT);
  }
  std::vector<std::string> names;
  for (const auto& [path, _] : disk_->live) {
    if (Parent(path) == folder) names.push_back(path.substr(path.rfind('/') + 1));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status FaultFileSystem::SyncDirectory(const std::string& directory) {
  const std::lock_guard lock(disk_->mutex);
  const std::string folder = Normal(directory);
  if (disk_->Fails()) return disk_->Refusal("sync", directory);
  if (!disk_->IsFolder(folder)) return SystemError("sync", directory, ENOENT);
  for (const EntryChange& change : disk_->pending) {
    if (change.folder == folder) Apply(change, &disk_->durable);
  }
  std::erase_if(disk_->pending, [&](const EntryChange& change) { return change.folder == folder; });
  return Status::Ok();
}

Result<std::unique_ptr<FileLock>> FaultFileSystem::Lock(const std::string& path, LockMode mode) {
  const std::lock_guard lock(disk_->mutex);
  const std::string name = Normal(path);
  std::shared_ptr<File> file;
  if (disk_->live.contains(name)) {
    ASSIGN_OR_RETURN(file, disk_->Find("lock", name));
  } else {
    ASSIGN_OR_RETURN(file, disk_->Make("lock", name));
  }
  Holders& holders = disk_->locks[name];
  if (holders.exclusive) return Busy("{}: held by process {}", path, ::getpid());
  if (mode == LockMode::kExclusive && holders.shared > 0) {
    return Busy("{}: held by other processes, which have it open for reading", path);
  }
  const std::string pid = mode == LockMode::kExclusive ? std::to_string(::getpid()) + "\n" : "";
  file->Do({true, 0, {}});
  file->Do({false, 0, ByteBuffer(pid.begin(), pid.end())});
  if (mode == LockMode::kExclusive) {
    holders.exclusive = true;
  } else {
    ++holders.shared;
  }
  return std::unique_ptr<FileLock>(new FaultFileLock(disk_, name, mode));
}

}  // namespace petalite
