#include "base/mapped_range.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace petalite {
namespace {

class ReadRange : public MappedRange {
 public:
  explicit ReadRange(ByteBuffer bytes) : bytes_(std::move(bytes)) {}
  Bytes bytes() const override { return bytes_; }

 private:
  ByteBuffer bytes_;
};

class PosixRange : public MappedRange {
 public:
  PosixRange(void* base, size_t mapped, size_t skip) : base_(base), mapped_(mapped), skip_(skip) {}
  ~PosixRange() override { ::munmap(base_, mapped_); }
  Bytes bytes() const override { return {static_cast<const uint8_t*>(base_) + skip_, mapped_ - skip_}; }

 private:
  void* const base_;
  const size_t mapped_;
  const size_t skip_;  // from the page that holds the first byte
};

}  // namespace

Result<std::unique_ptr<MappedRange>> MapRange(FileSystem& fs, const std::string& path, uint64_t offset, uint64_t length,
                                              bool random) {
  if (&fs != &PosixFileSystem()) {
    ASSIGN_OR_RETURN(const auto file, fs.Open(path, OpenMode::kRead));
    ByteBuffer bytes(length);
    RETURN_IF_ERROR(file->Read(offset, bytes));
    return std::unique_ptr<MappedRange>(std::make_unique<ReadRange>(std::move(bytes)));
  }
  ASSIGN_OR_RETURN(const uint64_t size, fs.FileSize(path));
  if (offset > size || length > size - offset) return Corruption("{}: it ends at {}", path, size);
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t skip = offset % page;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return IoError("{}: cannot open: {}", path, std::strerror(errno));
  void* const base = ::mmap(nullptr, skip + length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset - skip));
  const int error = errno;
  ::close(fd);
  if (base == MAP_FAILED) return IoError("{}: cannot map: {}", path, std::strerror(error));
  if (random) ::madvise(base, skip + length, MADV_RANDOM);
  return std::unique_ptr<MappedRange>(std::make_unique<PosixRange>(base, skip + length, skip));
}

}  // namespace petalite
