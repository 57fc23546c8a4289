// A file system in memory, for tests that damage files or open bytes made up by a fuzzer. Files are
// read and written; there are no directories and no locks.

#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "base/file_system.h"

namespace petalite {

class MemoryFileSystem final : public FileSystem {
 public:
  // The bytes of a file, made if absent. Files that are open see changes.
  ByteBuffer& operator[](const std::string& path) {
    auto& file = files_[path];
    if (file == nullptr) file = std::make_shared<ByteBuffer>();
    return *file;
  }

  Result<std::unique_ptr<RandomFile>> Open(const std::string& path, OpenMode mode) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return NotFound("{}: no such file", path);
    if (mode != OpenMode::kRead) return Unsupported("{}: only opened for reading", path);
    return std::unique_ptr<RandomFile>(std::make_unique<Reader>(path, found->second));
  }
  Result<std::unique_ptr<SequentialWriter>> Create(const std::string& path) override {
    if (files_.contains(path)) return AlreadyExists("{}: exists", path);
    (void)(*this)[path];
    return std::unique_ptr<SequentialWriter>(std::make_unique<Writer>(path, files_[path]));
  }
  Status Remove(const std::string& path) override {
    return files_.erase(path) != 0 ? Status::Ok() : NotFound("{}: no such file", path);
  }
  Result<bool> Exists(const std::string& path) override { return files_.contains(path); }
  Result<uint64_t> FileSize(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return NotFound("{}: no such file", path);
    return uint64_t{found->second->size()};
  }
  Status SyncDirectory(const std::string&) override { return Status::Ok(); }

  Status Rename(const std::string&, const std::string&) override { return Missing(); }
  Status CreateDirectories(const std::string&) override { return Missing(); }
  Status RemoveDirectory(const std::string&) override { return Missing(); }
  Result<std::vector<std::string>> List(const std::string&) override { return Missing(); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string&, LockMode) override { return Missing(); }

 private:
  using SharedBytes = std::shared_ptr<ByteBuffer>;

  class Reader final : public RandomFile {
   public:
    Reader(std::string path, SharedBytes bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {}

    Status Read(uint64_t offset, MutableBytes out) const override {
      if (offset > bytes_->size() || out.size() > bytes_->size() - offset) {
        return IoError("{}: {} bytes at offset {} are beyond the end", path_, out.size(), offset);
      }
      std::copy_n(bytes_->begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
      return Status::Ok();
    }
    Status Write(uint64_t, Bytes) override { return ReadOnly("{}: opened for reading", path_); }
    Status Truncate(uint64_t) override { return ReadOnly("{}: opened for reading", path_); }
    Status Sync() override { return Status::Ok(); }
    Result<uint64_t> Size() const override { return uint64_t{bytes_->size()}; }
    const std::string& path() const override { return path_; }

   private:
    std::string path_;
    SharedBytes bytes_;
  };

  class Writer final : public SequentialWriter {
   public:
    Writer(std::string path, SharedBytes bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {}

    Status Append(Bytes data) override {
      AppendBytes(*bytes_, data);
      return Status::Ok();
    }
    Status Sync() override { return Status::Ok(); }
    Status Close() override { return Status::Ok(); }
    uint64_t size() const override { return bytes_->size(); }
    const std::string& path() const override { return path_; }

   private:
    std::string path_;
    SharedBytes bytes_;
  };

  static Status Missing() { return Unsupported("the file system in memory has no such operation"); }

  std::map<std::string, SharedBytes> files_;
};

}  // namespace petalite
