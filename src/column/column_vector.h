// Rows of one column in memory, owned: what is buffered before it can be written.

#pragma once

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "column/types.h"
#include "petalite/column_view.h"

namespace petalite {

// Strings are copied into blocks of the vector's own, which do not move while it grows. Not thread-safe.
class ColumnVector {
 public:
  explicit ColumnVector(Type type) : type_(type), width_(type.Width()) {}

  void Append(const ColumnView& view);
  // Valid until the next Append or Clear.
  ColumnView View() const;
  void Clear();

  size_t size() const { return size_; }
  size_t memory_bytes() const { return values_.capacity() + validity_.capacity() * 8 + block_bytes_; }

 private:
  void AppendStrings(const ColumnView& view, StringRef* to);
  char* Allocate(size_t size);

  Type type_;
  size_t width_;
  size_t size_ = 0;
  ByteBuffer values_;
  std::vector<uint64_t> validity_;  // empty until the first null
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_left_ = 0;  // free bytes at the end of the last block
  size_t block_size_ = 0;  // of the last block
  size_t block_bytes_ = 0;
};

}  // namespace petalite
