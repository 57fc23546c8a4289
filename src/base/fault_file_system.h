// A file system in memory for tests: it counts what is done to it, fails where it is told to, and loses at a crash what
// was not synced. It behaves like the worst disk that POSIX allows:
//
//  - the content of a file survives a crash only if Sync returned ok after it was written; of the writes since, each is
//    kept, lost or torn at a sector of 512 bytes, as the seed has it;
//  - a creation, renaming or removal survives only if SyncDirectory of its folder returned ok after it; of the changes
//    of a folder since, a prefix as long as the seed has it is kept. What stands in a folder that is lost is lost too;
//  - a Sync that fails has lost some of the writes for good: a later Sync that succeeds does not bring them back,
//  although
//    reads go on to show them until the crash.
//
// Faults are armed in numbers of calls from now on, 1 being the next. Mutating calls are creations of files and folders
// (that of Lock included), writes, truncations, syncs of files and folders, renamings and removals; a call that fails
// for its own reasons counts too. Thread-safe, as FileSystem demands. Files that were open at a crash fail from then
// on.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace petalite {

enum class Fault {
  kNoSpace,     // ENOSPC; nothing is done
  kIoError,     // EIO; nothing is done
  kShortWrite,  // half of a write is done, then ENOSPC; as kNoSpace for other calls
};

class FaultFileSystem : public FileSystem {
 public:
  // `seed` decides what failed syncs lose.
  explicit FaultFileSystem(uint64_t seed = 1);
  ~FaultFileSystem() override;

  // The n-th mutating call fails; those after it succeed.
  void FailAt(uint64_t n, Fault fault);
  // `count` mutating calls fail, beginning with the n-th.
  void FailFrom(uint64_t n, Fault fault, uint64_t count = INT64_MAX);
  // The n-th Read of a file fails with EIO.
  void FailReadAt(uint64_t n);
  // Nothing fails any more.
  void Heal();

  // Calls since the creation of this object.
  uint64_t mutations() const;
  uint64_t reads() const;

  // Loses what was not synced, releases all locks, and disarms the faults.
  void Crash(uint64_t seed);

  Result<std::unique_ptr<RandomFile>> Open(const std::string& path, OpenMode mode) override;
  Result<std::unique_ptr<SequentialWriter>> Create(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;  // files only
  Result<bool> Exists(const std::string& path) override;
  Result<uint64_t> FileSize(const std::string& path) override;
  Status CreateDirectories(const std::string& path) override;
  Status RemoveDirectory(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& directory) override;
  Status SyncDirectory(const std::string& directory) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path, LockMode mode) override;

  struct Disk;  // defined with the implementation; open files and locks share it

 private:
  std::shared_ptr<Disk> disk_;
};

}  // namespace petalite
