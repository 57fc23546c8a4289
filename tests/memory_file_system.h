// Files in memory, for tests and benchmarks of what writes a file from front to back and reads it
// again, damages it, or opens bytes made up by a fuzzer. Any call may be made to fail: see fail_at. Not thread-safe.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"

namespace petalite {

class MemoryFileSystem : public FileSystem {
 public:
  // The number of the mutating call (create, append, sync, close; counted from 0) that fails.
  size_t fail_at = SIZE_MAX;
  size_t calls = 0;
  // When false, a file has a size but no bytes: for measuring what writes it.
  bool keep_bytes = true;

  // The bytes of a file, made if absent. Files that are open see changes.
  ByteBuffer& operator[](const std::string& path) {
    auto& file = files_[path];
    if (file == nullptr) file = std::make_shared<ByteBuffer>();
    return *file;
  }
  bool Has(const std::string& path) const { return files_.contains(path); }
  const ByteBuffer& bytes(const std::string& path) const { return *files_.at(path); }

  Result<std::unique_ptr<SequentialWriter>> Create(const std::string& path) override {
    RETURN_IF_ERROR(Count("create", path));
    if (Has(path)) return AlreadyExists("{}: cannot create: exists", path);
    files_[path] = std::make_shared<ByteBuffer>();
    return std::unique_ptr<SequentialWriter>(new Writer(this, path, files_[path]));
  }
  Result<std::unique_ptr<RandomFile>> Open(const std::string& path, OpenMode mode) override {
    if (mode != OpenMode::kRead) return Unsupported("{}: files in memory are opened for reading only", path);
    if (!Has(path)) return NotFound("{}: no such file", path);
    return std::unique_ptr<RandomFile>(new File(path, files_[path]));
  }
  Status Remove(const std::string& path) override {
    return files_.erase(path) == 1 ? Status::Ok() : NotFound("{}: no such file", path);
  }
  Result<bool> Exists(const std::string& path) override { return Has(path); }
  Result<uint64_t> FileSize(const std::string& path) override {
    if (!Has(path)) return NotFound("{}: no such file", path);
    return uint64_t{files_[path]->size()};
  }
  Status Rename(const std::string& from, const std::string&) override { return NoDirectories(from); }
  Status CreateDirectories(const std::string& path) override { return NoDirectories(path); }
  Status RemoveDirectory(const std::string& path) override { return NoDirectories(path); }
  Result<std::vector<std::string>> List(const std::string& path) override { return NoDirectories(path); }
  Status SyncDirectory(const std::string& path) override { return NoDirectories(path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, LockMode) override { return NoDirectories(path); }

 private:
  class Writer : public SequentialWriter {
   public:
    Writer(MemoryFileSystem* fs, std::string path, std::shared_ptr<ByteBuffer> bytes)
        : fs_(fs), path_(std::move(path)), bytes_(std::move(bytes)) {}
    Status Append(Bytes data) override {
      RETURN_IF_ERROR(fs_->Count("append", path_));
      size_ += data.size();
      if (fs_->keep_bytes) AppendBytes(*bytes_, data);
      return Status::Ok();
    }
    Status Sync() override { return fs_->Count("sync", path_); }
    Status Close() override { return fs_->Count("close", path_); }
    uint64_t size() const override { return size_; }
    const std::string& path() const override { return path_; }

   private:
    MemoryFileSystem* fs_;
    uint64_t size_ = 0;
    std::string path_;
    std::shared_ptr<ByteBuffer> bytes_;
  };

  class File : public RandomFile {
   public:
    File(std::string path, std::shared_ptr<const ByteBuffer> bytes)
        : path_(std::move(path)), bytes_(std::move(bytes)) {}
    Status Read(uint64_t offset, MutableBytes out) const override {
      if (offset > bytes_->size() || out.size() > bytes_->size() - offset) return IoError("{}: ends early", path_);
      if (!out.empty()) std::memcpy(out.data(), bytes_->data() + offset, out.size());
      return Status::Ok();
    }
    Status Write(uint64_t, Bytes) override { return ReadOnly("{}: opened for reading only", path_); }
    Status Truncate(uint64_t) override { return ReadOnly("{}: opened for reading only", path_); }
    Status Sync() override { return Status::Ok(); }
    Result<uint64_t> Size() const override { return uint64_t{bytes_->size()}; }
    const std::string& path() const override { return path_; }

   private:
    std::string path_;
    std::shared_ptr<const ByteBuffer> bytes_;
  };

  Status Count(std::string_view call, const std::string& path) {
    return calls++ == fail_at ? IoError("{}: cannot {}: injected", path, call) : Status::Ok();
  }
  static Status NoDirectories(const std::string& path) { return Unsupported("{}: only files are in memory", path); }

  std::map<std::string, std::shared_ptr<ByteBuffer>> files_;
};

}  // namespace petalite
