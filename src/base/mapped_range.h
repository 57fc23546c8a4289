// A range of an immutable file as memory: mapped, so that the system can take it back when memory is short and fetch it
// when it is used. A file system that is not the operating system's has it read instead.

#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/file_system.h"

namespace petalite {

// Immutable, thread-safe. The file must not change while this lives.
class MappedRange {
 public:
  virtual ~MappedRange() = default;
  virtual Bytes bytes() const = 0;
};

// `random`: it will be read here and there, so that nothing is fetched ahead.
Result<std::unique_ptr<MappedRange>> MapRange(FileSystem& fs, const std::string& path, uint64_t offset, uint64_t length,
                                              bool random);

}  // namespace petalite
