// Files as Petalite needs them: immutable ones read at random, new ones written from front to back,
// small ones that are written anywhere (the catalog), directories, a lock. Everything that touches
// a disk goes through a FileSystem, so that tests can make any step fail, lose what was not synced,
// or tear a write.
//
// Thread-safety: a FileSystem and an open RandomFile may be used by any number of threads; a
// SequentialWriter by one at a time. Paths are UTF-8. Errors name the path and the system's reason.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace petalite {

// An open file read, and perhaps written, at any position.
class RandomFile {
 public:
  virtual ~RandomFile() = default;

  // Fills `out` from `offset`; fewer bytes than asked, because the file ends, are an error that
  // says so.
  virtual Status Read(uint64_t offset, MutableBytes out) const = 0;
  virtual Status Write(uint64_t offset, Bytes data) = 0;  // kReadOnly if opened so
  virtual Status Truncate(uint64_t size) = 0;
  // Grows the file to `size` with zeros whose room on the disk is taken now, where the system can do that; never
  // shrinks.
  virtual Status Allocate(uint64_t size);
  virtual Status Sync() = 0;
  virtual Result<uint64_t> Size() const = 0;
  // Asks the system to keep nothing of this range in memory.
  virtual void Forget(uint64_t offset, uint64_t size) const {}
  virtual const std::string& path() const = 0;
};

// A new file, written from front to back.
class SequentialWriter {
 public:
  virtual ~SequentialWriter() = default;

  virtual Status Append(Bytes data) = 0;
  virtual Status Sync() = 0;   // fdatasync: what was appended survives a crash, if the directory entry does
  virtual Status Close() = 0;  // no Sync implied; called at most once
  virtual uint64_t size() const = 0;
  virtual const std::string& path() const = 0;
};

// Held until destroyed.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class OpenMode { kRead, kReadWrite, kCreate };  // kCreate: read and write, made if absent
enum class LockMode { kShared, kExclusive };

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<RandomFile>> Open(const std::string& path, OpenMode mode) = 0;
  // Fails with kAlreadyExists when the path exists.
  virtual Result<std::unique_ptr<SequentialWriter>> Create(const std::string& path) = 0;
  virtual Status Remove(const std::string& path) = 0;
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Result<bool> Exists(const std::string& path) = 0;
  virtual Result<uint64_t> FileSize(const std::string& path) = 0;
  virtual Status CreateDirectories(const std::string& path) = 0;
  virtual Status RemoveDirectory(const std::string& path) = 0;                      // must be empty
  virtual Result<std::vector<std::string>> List(const std::string& directory) = 0;  // names, sorted
  // Makes creations, renames and removals within `directory` durable.
  virtual Status SyncDirectory(const std::string& directory) = 0;
  // Takes an advisory lock on `path`, which is created if absent and, for kExclusive, then holds
  // the pid as text; kBusy, with the holder's pid where one is written, when another process (or
  // opener) holds it.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path, LockMode mode) = 0;

  // Reads a whole file.
  Result<ByteBuffer> ReadAll(const std::string& path);
};

// The operating system's files. Lives as long as the program.
FileSystem& PosixFileSystem();

}  // namespace petalite
