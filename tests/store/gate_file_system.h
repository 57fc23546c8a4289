// A file system whose calls stop at a gate while it is shut, so that a test can let things happen in the middle of a
// flush, a compaction or a commit; or of which some fail, or take long.

#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/file_system.h"

namespace petalite::store {

// Thread-safe. The gate is open at first.
class GateFileSystem : public FileSystem {
 public:
  enum class Call { kCreate, kAppend, kSyncWriter, kSyncFile };

  explicit GateFileSystem(FileSystem& fs) : fs_(fs) {}

  // Such calls on paths that contain `part` wait from now on.
  void Shut(Call call, std::string part) {
    const std::lock_guard lock(mutex_);
    shut_ = true;
    call_ = call;
    part_ = std::move(part);
  }
  // Returns when somebody waits.
  void AwaitWaiter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiters_ != 0; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    shut_ = false;
    changed_.notify_all();
  }

  // Such calls on paths that contain `part` fail from now on; the others go on, as on a disk that is full.
  void Fail(Call call, std::string part, Status error) {
    const std::lock_guard lock(mutex_);
    failing_ = {call, std::move(part)};
    error_ = std::move(error);
  }
  void Heal() {
    const std::lock_guard lock(mutex_);
    failing_.reset();
  }
  // Such calls take so long from now on, and are counted.
  void Slow(Call call, std::string part, std::chrono::microseconds time) {
    const std::lock_guard lock(mutex_);
    slow_ = {call, std::move(part)};
    slow_time_ = time;
  }
  uint64_t slow_calls() const {
    const std::lock_guard lock(mutex_);
    return slow_calls_;
  }

  Result<std::unique_ptr<RandomFile>> Open(const std::string& path, OpenMode mode) override {
    ASSIGN_OR_RETURN(auto file, fs_.Open(path, mode));
    return std::unique_ptr<RandomFile>(new File(*this, std::move(file)));
  }
  Result<std::unique_ptr<SequentialWriter>> Create(const std::string& path) override {
    RETURN_IF_ERROR(Pass(Call::kCreate, path));
    ASSIGN_OR_RETURN(auto writer, fs_.Create(path));
    return std::unique_ptr<SequentialWriter>(new Writer(*this, std::move(writer)));
  }
  Status Remove(const std::string& path) override { return fs_.Remove(path); }
  Status Rename(const std::string& from, const std::string& to) override { return fs_.Rename(from, to); }
  Result<bool> Exists(const std::string& path) override { return fs_.Exists(path); }
  Result<uint64_t> FileSize(const std::string& path) override { return fs_.FileSize(path); }
  Status CreateDirectories(const std::string& path) override { return fs_.CreateDirectories(path); }
  Status RemoveDirectory(const std::string& path) override { return fs_.RemoveDirectory(path); }
  Result<std::vector<std::string>> List(const std::string& directory) override { return fs_.List(directory); }
  Status SyncDirectory(const std::string& directory) override { return fs_.SyncDirectory(directory); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, LockMode mode) override {
    return fs_.Lock(path, mode);
  }

 private:
  class Writer : public SequentialWriter {
   public:
    Writer(GateFileSystem& gate, std::unique_ptr<SequentialWriter> writer) : gate_(gate), writer_(std::move(writer)) {}
    Status Append(Bytes data) override {
      RETURN_IF_ERROR(gate_.Pass(Call::kAppend, path()));
      return writer_->Append(data);
    }
    Status Sync() override {
      RETURN_IF_ERROR(gate_.Pass(Call::kSyncWriter, path()));
      return writer_->Sync();
    }
    Status Close() override { return writer_->Close(); }
    uint64_t size() const override { return writer_->size(); }
    const std::string& path() const override { return writer_->path(); }

   private:
    GateFileSystem& gate_;
    std::unique_ptr<SequentialWriter> writer_;
  };

  class File : public RandomFile {
   public:
    File(GateFileSystem& gate, std::unique_ptr<RandomFile> file) : gate_(gate), file_(std::move(file)) {}
    Status Read(uint64_t offset, MutableBytes out) const override { return file_->Read(offset, out); }
    Status Write(uint64_t offset, Bytes data) override { return file_->Write(offset, data); }
    Status Truncate(uint64_t size) override { return file_->Truncate(size); }
    Status Allocate(uint64_t size) override { return file_->Allocate(size); }
    Status Sync() override {
      RETURN_IF_ERROR(gate_.Pass(Call::kSyncFile, path()));
      return file_->Sync();
    }
    Result<uint64_t> Size() const override { return file_->Size(); }
    void Forget(uint64_t offset, uint64_t size) const override { file_->Forget(offset, size); }
    const std::string& path() const override { return file_->path(); }

   private:
    GateFileSystem& gate_;
    std::unique_ptr<RandomFile> file_;
  };

  struct Calls {
    Call call;
    std::string part;
    bool Have(Call other, const std::string& path) const {
      return call == other && path.find(part) != std::string::npos;
    }
  };

  Status Pass(Call call, const std::string& path) {
    std::unique_lock lock(mutex_);
    const auto stops = [&] { return shut_ && call == call_ && path.find(part_) != std::string::npos; };
    if (stops()) {
      ++waiters_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !stops(); });
      --waiters_;
    }
    const Status status = failing_.has_value() && failing_->Have(call, path) ? error_ : Status::Ok();
    if (!slow_.has_value() || !slow_->Have(call, path)) return status;
    ++slow_calls_;
    const auto time = slow_time_;
    lock.unlock();
    std::this_thread::sleep_for(time);
    return status;
  }

  FileSystem& fs_;
  mutable std::mutex mutex_;  // guards what follows
  std::optional<Calls> failing_;
  Status error_;
  std::optional<Calls> slow_;
  std::chrono::microseconds slow_time_{0};
  uint64_t slow_calls_ = 0;
  std::condition_variable changed_;
  bool shut_ = false;
  Call call_ = Call::kCreate;
  std::string part_;
  int waiters_ = 0;
};

}  // namespace petalite::store
