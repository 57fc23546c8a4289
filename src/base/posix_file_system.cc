#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_system.h"

namespace petalite {
namespace {

// The system's words for errno, after what was attempted on which path.
Status SystemError(std::string_view action, const std::string& path, int error = errno) {
  const std::string reason = std::error_code(error, std::generic_category()).message();
  if (error == ENOENT) return NotFound("{}: cannot {}: {}", path, action, reason);
  if (error == EEXIST) return AlreadyExists("{}: cannot {}: {}", path, action, reason);
  return IoError("{}: cannot {}: {}", path, action, reason);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Status WriteFully(int fd, const std::string& path, Bytes data, uint64_t offset) {
  while (!data.empty()) {
    const ssize_t written = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return SystemError("write", path);
    }
    data = data.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return Status::Ok();
}

Status SyncDescriptor(int fd, const std::string& path) {
  return ::fdatasync(fd) == 0 ? Status::Ok() : SystemError("sync", path);
}

class PosixRandomFile : public RandomFile {
 public:
  PosixRandomFile(int fd, std::string path, bool writable) : fd_(fd), path_(std::move(path)), writable_(writable) {}

  Status Read(uint64_t offset, MutableBytes out) const override {
    while (!out.empty()) {
      const ssize_t count = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
      if (count < 0) {
        if (errno == EINTR) continue;
        return SystemError("read", path_);
      }
      if (count == 0) return IoError("{}: the file ends at offset {}, {} bytes early", path_, offset, out.size());
      out = out.subspan(static_cast<size_t>(count));
      offset += static_cast<uint64_t>(count);
    }
    return Status::Ok();
  }
  Status Write(uint64_t offset, Bytes data) override {
    if (!writable_) return ReadOnly("{}: opened for reading only", path_);
    return WriteFully(fd_.get(), path_, data, offset);
  }
  Status Truncate(uint64_t size) override {
    return ::ftruncate(fd_.get(), static_cast<off_t>(size)) == 0 ? Status::Ok() : SystemError("truncate", path_);
  }
  Status Allocate(uint64_t size) override {
    if (!writable_) return ReadOnly("{}: opened for reading only", path_);
    int error = EINTR;
    while (error == EINTR) error = ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(size)) == 0 ? 0 : errno;
    if (error == EOPNOTSUPP) return RandomFile::Allocate(size);
    return error == 0 ? Status::Ok() : SystemError("allocate", path_, error);
  }
  Status Sync() override { return SyncDescriptor(fd_.get(), path_); }
  Result<uint64_t> Size() const override {
    struct stat info;
    if (::fstat(fd_.get(), &info) != 0) return SystemError("stat", path_);
    return static_cast<uint64_t>(info.st_size);
  }
  void Forget(uint64_t offset, uint64_t size) const override {
    ::posix_fadvise(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_DONTNEED);
  }
  const std::string& path() const override { return path_; }

 private:
  Descriptor fd_;
  std::string path_;
  bool writable_;
};

class PosixSequentialWriter : public SequentialWriter {
 public:
  PosixSequentialWriter(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  Status Append(Bytes data) override {
    RETURN_IF_ERROR(WriteFully(fd_.get(), path_, data, size_));
    size_ += data.size();
    return Status::Ok();
  }
  Status Sync() override { return SyncDescriptor(fd_.get(), path_); }
  Status Close() override { return ::close(fd_.Release()) == 0 ? Status::Ok() : SystemError("close", path_); }
  uint64_t size() const override { return size_; }
  const std::string& path() const override { return path_; }

 private:
  Descriptor fd_;
  std::string path_;
  uint64_t size_ = 0;
};

class PosixFileLock : public FileLock {
 public:
  explicit PosixFileLock(int fd) : fd_(fd) {}

 private:
  Descriptor fd_;  // flock goes with the open file description
};

class PosixFileSystemImpl : public FileSystem {
 public:
  Result<std::unique_ptr<RandomFile>> Open(const std::string& path, OpenMode mode) override {
    const int flags = mode == OpenMode::kRead ? O_RDONLY : mode == OpenMode::kReadWrite ? O_RDWR : O_RDWR | O_CREAT;
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (fd < 0) return SystemError("open", path);
    return std::unique_ptr<RandomFile>(new PosixRandomFile(fd, path, mode != OpenMode::kRead));
  }
  Result<std::unique_ptr<SequentialWriter>> Create(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return SystemError("create", path);
    return std::unique_ptr<SequentialWriter>(new PosixSequentialWriter(fd, path));
  }
  Status Remove(const std::string& path) override {
    return ::unlink(path.c_str()) == 0 ? Status::Ok() : SystemError("remove", path);
  }
  Status Rename(const std::string& from, const std::string& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? Status::Ok() : SystemError("rename to " + to, from);
  }
  Result<bool> Exists(const std::string& path) override {
    if (::access(path.c_str(), F_OK) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return SystemError("look up", path);
  }
  Result<uint64_t> FileSize(const std::string& path) override {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) return SystemError("stat", path);
    return static_cast<uint64_t>(info.st_size);
  }
  Status CreateDirectories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    return error ? SystemError("create directory", path, error.value()) : Status::Ok();
  }
  Status RemoveDirectory(const std::string& path) override {
    return ::rmdir(path.c_str()) == 0 ? Status::Ok() : SystemError("remove directory", path);
  }
  Result<std::vector<std::string>> List(const std::string& directory) override {
    std::error_code error;
    std::vector<std::string> names;
    std::filesystem::directory_iterator it(directory, error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    if (error) return SystemError("list", directory, error.value());
    std::sort(names.begin(), names.end());
    return names;
  }
  Status SyncDirectory(const std::string& directory) override {
    const Descriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) return SystemError("open", directory);
    return ::fsync(fd.get()) == 0 ? Status::Ok() : SystemError("sync", directory);
  }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, LockMode mode) override;
};

Result<std::unique_ptr<FileLock>> PosixFileSystemImpl::Lock(const std::string& path, LockMode mode) {
  int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  const bool read_only_media = fd < 0 && (errno == EROFS || errno == EACCES) && mode == LockMode::kShared;
  if (read_only_media) fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError("open", path);
  Descriptor descriptor(fd);
  if (::flock(fd, (mode == LockMode::kExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return SystemError("lock", path);
    char pid[32] = {};
    const ssize_t count = ::pread(fd, pid, sizeof pid - 1, 0);
    if (count > 0) return Busy("{}: held by process {}", path, std::string(pid, std::strcspn(pid, "\n")));
    return Busy("{}: held by other processes, which have it open for reading", path);
  }
  if (!read_only_media) {
    const std::string pid = mode == LockMode::kExclusive ? std::to_string(::getpid()) + "\n" : "";
    if (::ftruncate(fd, 0) != 0) return SystemError("truncate", path);
    RETURN_IF_ERROR(WriteFully(fd, path, AsBytes(pid), 0));
  }
  return std::unique_ptr<FileLock>(new PosixFileLock(descriptor.Release()));
}

}  // namespace

FileSystem& PosixFileSystem() {
  static PosixFileSystemImpl* instance = new PosixFileSystemImpl;  // never destroyed: used until the very end
  return *instance;
}

Status RandomFile::Allocate(uint64_t size) {
  ASSIGN_OR_RETURN(const uint64_t now, Size());
  return size > now ? Truncate(size) : Status::Ok();
}

Result<ByteBuffer> FileSystem::ReadAll(const std::string& path) {
  ASSIGN_OR_RETURN(auto file, Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  ByteBuffer bytes(size);
  RETURN_IF_ERROR(file->Read(0, bytes));
  return bytes;
}

}  // namespace petalite
