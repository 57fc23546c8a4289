#include "store/sqlite_vfs.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <new>
#include <optional>

#include "base/checksum.h"
#include "store/sqlite_statement.h"

namespace petalite::store {
namespace {

// SQLite leaves opcodes above 100 to VFSes. The argument is a Status*.
constexpr int kTakeErrorControl = 0x7065746c;

using PageBuffer = uint8_t[kCatalogPageSize];

uint32_t PageChecksum(uint64_t page, const uint8_t* bytes) {
  uint8_t number[8];
  StoreLe(number, page);
  return Crc32c({bytes, kCatalogPageSize - kPageChecksumSize}, Crc32c(number));
}

std::string Folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Temporary files, and the copies that a read-only connection works on.
class MemoryFile : public RandomFile {
 public:
  MemoryFile(std::string path, std::shared_ptr<ByteBuffer> content)
      : path_(std::move(path)), content_(std::move(content)) {}

  Status Read(uint64_t offset, MutableBytes out) const override {
    if (offset + out.size() > content_->size()) return IoError("{}: the file ends early", path_);
    std::copy_n(content_->begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
    return Status::Ok();
  }
  Status Write(uint64_t offset, Bytes data) override {
    content_->resize(std::max<size_t>(content_->size(), offset + data.size()));
    std::copy(data.begin(), data.end(), content_->begin() + static_cast<ptrdiff_t>(offset));
    return Status::Ok();
  }
  Status Truncate(uint64_t size) override {
    content_->resize(size);
    return Status::Ok();
  }
  Status Sync() override { return Status::Ok(); }
  Result<uint64_t> Size() const override { return static_cast<uint64_t>(content_->size()); }
  const std::string& path() const override { return path_; }

 private:
  std::string path_;
  std::shared_ptr<ByteBuffer> content_;
};

struct OpenFile {
  std::unique_ptr<RandomFile> file;
  bool has_pages = false;    // the database, whose pages have checksums
  bool entry_synced = true;  // false: its folder must be synced before a Sync of it counts
};

}  // namespace

// What SQLite's callbacks reach through pAppData: where files are, and the last error.
class SqliteVfs {
 public:
  SqliteVfs(FileSystem& fs, bool copies);
  ~SqliteVfs() { sqlite3_vfs_unregister(&vfs_); }
  SqliteVfs(const SqliteVfs&) = delete;
  SqliteVfs& operator=(const SqliteVfs&) = delete;

  // Only with copies: takes a file into memory, if it is there.
  Status Copy(const std::string& path);

  const char* name() const { return name_.c_str(); }
  FileSystem& fs() { return fs_; }
  const sqlite3_vfs& system() const { return *system_; }

  Status Open(const char* path, int flags, OpenFile* opened);
  Status Delete(const std::string& path, bool sync_folder);
  Result<bool> Exists(const std::string& path);

  // The code that SQLite gets for an error, which is kept for TakeFileError.
  int Remember(const Status& status, int code) {
    if (status.ok()) return SQLITE_OK;
    error_ = status;
    return code;
  }
  Status TakeError() { return std::exchange(error_, Status::Ok()); }

 private:
  FileSystem& fs_;
  const bool has_copies_;
  std::map<std::string, std::shared_ptr<ByteBuffer>> copies_;
  std::string name_;
  sqlite3_vfs* system_;
  sqlite3_vfs vfs_{};
  Status error_;
};

namespace {

struct FileHandle {
  sqlite3_file base;  // first, as SQLite demands
  OpenFile* open;
  SqliteVfs* vfs;
};

FileHandle& Handle(sqlite3_file* file) { return *reinterpret_cast<FileHandle*>(file); }
SqliteVfs& Vfs(sqlite3_vfs* vfs) { return *static_cast<SqliteVfs*>(vfs->pAppData); }

int Close(sqlite3_file* file) {
  delete Handle(file).open;
  return SQLITE_OK;
}

Status CheckPage(const std::string& path, uint64_t offset, const uint8_t* page) {
  const uint32_t checksum = PageChecksum(offset / kCatalogPageSize, page);
  const uint8_t* stored = page + kCatalogPageSize - kPageChecksumSize;
  if (LoadLe<uint32_t>(stored) == checksum && LoadLe<uint32_t>(stored + 4) == ~checksum) return Status::Ok();
  return Corruption("{}: offset {}: page checksum: the page is not what was written", path, offset);
}

int Read(sqlite3_file* file, void* out, int amount, sqlite3_int64 at) {
  FileHandle& handle = Handle(file);
  const OpenFile& open = *handle.open;
  const auto offset = static_cast<uint64_t>(at);
  const auto wanted = static_cast<uint64_t>(amount);
  const auto size = open.file->Size();
  if (!size.ok()) return handle.vfs->Remember(size.status(), SQLITE_IOERR_READ);
  const uint64_t there = offset < *size ? std::min(wanted, *size - offset) : 0;
  auto* bytes = static_cast<uint8_t*>(out);
  if (const Status read = open.file->Read(offset, {bytes, there}); !read.ok()) {
    return handle.vfs->Remember(read, SQLITE_IOERR_READ);
  }
  if (open.has_pages && amount == kCatalogPageSize && there > 0) {
    // SQLite would take what is missing of a page for zeros.
    const Status checked = there == wanted ? CheckPage(open.file->path(), offset, bytes)
                                           : Corruption("{}: offset {}: page checksum: the file ends within the page",
                                                        open.file->path(), offset);
    if (!checked.ok()) return handle.vfs->Remember(checked, SQLITE_IOERR_DATA);
  }
  if (there == wanted) return SQLITE_OK;
  std::memset(bytes + there, 0, wanted - there);
  return SQLITE_IOERR_SHORT_READ;
}

int Write(sqlite3_file* file, const void* data, int amount, sqlite3_int64 at) {
  FileHandle& handle = Handle(file);
  OpenFile& open = *handle.open;
  const auto offset = static_cast<uint64_t>(at);
  Bytes bytes(static_cast<const uint8_t*>(data), static_cast<size_t>(amount));
  PageBuffer page;
  if (open.has_pages) {
    if (amount != kCatalogPageSize || offset % kCatalogPageSize != 0) {
      return handle.vfs->Remember(
          Corruption("{}: offset {}: SQLite writes {} bytes, not a page", open.file->path(), offset, amount),
          SQLITE_IOERR_WRITE);
    }
    std::memcpy(page, data, sizeof page);
    const uint32_t checksum = PageChecksum(offset / kCatalogPageSize, page);
    StoreLe(page + kCatalogPageSize - kPageChecksumSize, checksum);
    StoreLe(page + kCatalogPageSize - kPageChecksumSize + 4, ~checksum);
    bytes = page;
  }
  return handle.vfs->Remember(open.file->Write(offset, bytes), SQLITE_IOERR_WRITE);
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  FileHandle& handle = Handle(file);
  return handle.vfs->Remember(handle.open->file->Truncate(static_cast<uint64_t>(size)), SQLITE_IOERR_TRUNCATE);
}

int Sync(sqlite3_file* file, int) {
  FileHandle& handle = Handle(file);
  OpenFile& open = *handle.open;
  if (const Status synced = open.file->Sync(); !synced.ok()) return handle.vfs->Remember(synced, SQLITE_IOERR_FSYNC);
  if (open.entry_synced) return SQLITE_OK;
  const Status synced = handle.vfs->fs().SyncDirectory(Folder(open.file->path()));
  open.entry_synced = synced.ok();
  return handle.vfs->Remember(synced, SQLITE_IOERR_DIR_FSYNC);
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  FileHandle& handle = Handle(file);
  const auto bytes = handle.open->file->Size();
  if (!bytes.ok()) return handle.vfs->Remember(bytes.status(), SQLITE_IOERR_FSTAT);
  *size = static_cast<sqlite3_int64>(*bytes);
  return SQLITE_OK;
}

int Lock(sqlite3_file*, int) { return SQLITE_OK; }

int CheckReservedLock(sqlite3_file*, int* held) {
  *held = 0;
  return SQLITE_OK;
}

int FileControl(sqlite3_file* file, int opcode, void* argument) {
  if (opcode != kTakeErrorControl) return SQLITE_NOTFOUND;
  *static_cast<Status*>(argument) = Handle(file).vfs->TakeError();
  return SQLITE_OK;
}

// Pages of the catalog are journalled one by one, and nothing is assumed of the disk.
int SectorSize(sqlite3_file*) { return kCatalogPageSize; }
int DeviceCharacteristics(sqlite3_file*) { return 0; }

constexpr sqlite3_io_methods kFileMethods = {.iVersion = 1,
                                             .xClose = Close,
                                             .xRead = Read,
                                             .xWrite = Write,
                                             .xTruncate = Truncate,
                                             .xSync = Sync,
                                             .xFileSize = FileSize,
                                             .xLock = Lock,
                                             .xUnlock = Lock,
                                             .xCheckReservedLock = CheckReservedLock,
                                             .xFileControl = FileControl,
                                             .xSectorSize = SectorSize,
                                             .xDeviceCharacteristics = DeviceCharacteristics};

int VfsOpen(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  FileHandle& handle = Handle(file);
  handle.base.pMethods = nullptr;  // SQLite closes a file that has methods, even if this fails
  auto open = std::make_unique<OpenFile>();
  if (const Status opened = Vfs(vfs).Open(path, flags, open.get()); !opened.ok()) {
    return Vfs(vfs).Remember(opened, SQLITE_CANTOPEN);
  }
  handle.base.pMethods = &kFileMethods;
  handle.open = open.release();
  handle.vfs = &Vfs(vfs);
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int VfsDelete(sqlite3_vfs* vfs, const char* path, int sync_folder) {
  const Status deleted = Vfs(vfs).Delete(path, sync_folder != 0);
  if (deleted.code() == StatusCode::kNotFound) return SQLITE_IOERR_DELETE_NOENT;
  return Vfs(vfs).Remember(deleted, SQLITE_IOERR_DELETE);
}

int VfsAccess(sqlite3_vfs* vfs, const char* path, int, int* result) {
  const auto exists = Vfs(vfs).Exists(path);
  if (!exists.ok()) return Vfs(vfs).Remember(exists.status(), SQLITE_IOERR_ACCESS);
  *result = *exists ? 1 : 0;
  return SQLITE_OK;
}

int VfsFullPathname(sqlite3_vfs*, const char* path, int size, char* out) {
  const size_t length = std::strlen(path) + 1;
  if (length > static_cast<size_t>(size)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, length);
  return SQLITE_OK;
}

// The operating system's road, which takes its own VFS.
sqlite3_vfs* System(sqlite3_vfs* vfs) { return const_cast<sqlite3_vfs*>(&Vfs(vfs).system()); }
int VfsRandomness(sqlite3_vfs* vfs, int size, char* out) { return System(vfs)->xRandomness(System(vfs), size, out); }
int VfsSleep(sqlite3_vfs* vfs, int microseconds) { return System(vfs)->xSleep(System(vfs), microseconds); }
int VfsCurrentTime(sqlite3_vfs* vfs, double* time) { return System(vfs)->xCurrentTime(System(vfs), time); }
int VfsLastError(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

SqliteVfs::SqliteVfs(FileSystem& fs, bool copies) : fs_(fs), has_copies_(copies), system_(sqlite3_vfs_find(nullptr)) {
  static std::atomic<uint64_t> next{1};
  name_ = fmt::format("petalite-{}", next.fetch_add(1));
  vfs_.iVersion = 1;
  vfs_.szOsFile = sizeof(FileHandle);
  vfs_.mxPathname = 4096;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = VfsOpen;
  vfs_.xDelete = VfsDelete;
  vfs_.xAccess = VfsAccess;
  vfs_.xFullPathname = VfsFullPathname;
  vfs_.xRandomness = VfsRandomness;
  vfs_.xSleep = VfsSleep;
  vfs_.xCurrentTime = VfsCurrentTime;
  vfs_.xGetLastError = VfsLastError;
  sqlite3_vfs_register(&vfs_, 0);
}

Status SqliteVfs::Copy(const std::string& path) {
  ASSIGN_OR_RETURN(const bool exists, fs_.Exists(path));
  if (!exists) return Status::Ok();
  ASSIGN_OR_RETURN(ByteBuffer content, fs_.ReadAll(path));
  copies_[path] = std::make_shared<ByteBuffer>(std::move(content));
  return Status::Ok();
}

Status SqliteVfs::Open(const char* path, int flags, OpenFile* opened) {
  constexpr int kKept = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL;
  opened->has_pages = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  if (path == nullptr || (flags & kKept) == 0) {
    opened->file = std::make_unique<MemoryFile>("temporary file of the catalog", std::make_shared<ByteBuffer>());
    return Status::Ok();
  }
  const bool create = (flags & SQLITE_OPEN_CREATE) != 0;
  if (has_copies_) {
    auto& content = copies_[path];
    if (content == nullptr && !create) return NotFound("{}: cannot open: there is no such file", path);
    if (content == nullptr) content = std::make_shared<ByteBuffer>();
    opened->file = std::make_unique<MemoryFile>(path, content);
    return Status::Ok();
  }
  if (create) {
    ASSIGN_OR_RETURN(opened->entry_synced, fs_.Exists(path));
  }
  const bool writes = (flags & SQLITE_OPEN_READWRITE) != 0;
  ASSIGN_OR_RETURN(opened->file, fs_.Open(path, create   ? OpenMode::kCreate
                                                : writes ? OpenMode::kReadWrite
                                                         : OpenMode::kRead));
  return Status::Ok();
}

Status SqliteVfs::Delete(const std::string& path, bool sync_folder) {
  if (has_copies_) return copies_.erase(path) != 0 ? Status::Ok() : NotFound("{}: there is no such file", path);
  RETURN_IF_ERROR(fs_.Remove(path));
  return sync_folder ? fs_.SyncDirectory(Folder(path)) : Status::Ok();
}

Result<bool> SqliteVfs::Exists(const std::string& path) {
  if (!has_copies_) return fs_.Exists(path);
  const auto found = copies_.find(path);
  return found != copies_.end() && found->second != nullptr;
}

SqliteConnection::SqliteConnection() = default;

SqliteConnection::~SqliteConnection() { sqlite3_close(db_); }

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::Open(FileSystem& fs, const std::string& path, Mode mode) {
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection);
  connection->vfs_ = std::make_unique<SqliteVfs>(fs, mode == Mode::kRead);
  if (mode == Mode::kRead) {
    RETURN_IF_ERROR(connection->vfs_->Copy(path));
    RETURN_IF_ERROR(connection->vfs_->Copy(path + "-journal"));
  }
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0);
  const int opened = sqlite3_open_v2(path.c_str(), &connection->db_, flags, connection->vfs_->name());
  sqlite3* db = connection->db_;
  if (opened != SQLITE_OK) {
    // There may be no file to ask yet.
    Status error = connection->vfs_->TakeError();
    return error.ok() ? SqliteError(db, path) : error;
  }
  int reserved = kPageChecksumSize;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved) != SQLITE_OK) {
    return SqliteError(db, path);
  }
  const std::string settings = fmt::format(
      "PRAGMA page_size = {}; PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY",
      kCatalogPageSize);
  RETURN_IF_ERROR(SqliteExecute(db, path, settings.c_str()));
  if (mode == Mode::kRead) RETURN_IF_ERROR(SqliteExecute(db, path, "PRAGMA query_only = ON"));
  return connection;
}

Status TakeFileError(sqlite3* db) {
  Status error;
  (void)sqlite3_file_control(db, "main", kTakeErrorControl, &error);
  return error;
}

}  // namespace petalite::store
