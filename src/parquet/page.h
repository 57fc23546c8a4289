// Pages and dictionaries as the reader decodes them: immutable, shared by the page cache, scans and
// lookups.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "column/types.h"
#include "petalite/column_view.h"

namespace petalite::parquet {

// The values of a chunk's dictionary, in the column type's layout. One entry more than the file
// has: the last is the null slot (zeroes, or an empty string), at position size(), so that a page's
// codes can name it.
class Dictionary {
 public:
  uint32_t size() const { return size_; }
  const void* values() const { return values_.data(); }
  size_t memory_bytes() const { return sizeof(*this) + values_.capacity() + arena_.capacity(); }

 private:
  friend class PageDecoder;
  uint32_t size_ = 0;
  ByteBuffer values_;
  ByteBuffer arena_;  // what string values point into
};

// The rows of one data page. Either flat (values) or, for string layouts encoded by dictionary,
// codes into the chunk's dictionary. Code and slot of a null row: the dictionary's null slot;
// zeroes or an empty string.
class DecodedPage {
 public:
  uint32_t rows() const { return rows_; }
  bool is_dictionary() const { return dictionary_ != nullptr; }
  const void* values() const { return values_.data(); }    // flat only
  const uint32_t* codes() const { return codes_.data(); }  // dictionary only
  const std::shared_ptr<const Dictionary>& dictionary() const { return dictionary_; }
  uint32_t null_count() const { return null_count_; }
  // One bit per row, set = valid; null where no row is null.
  const uint64_t* validity() const { return validity_.empty() ? nullptr : validity_.data(); }
  // The dictionary, which the chunk's pages share, is not counted.
  size_t memory_bytes() const {
    return sizeof(*this) + values_.capacity() + arena_.capacity() + codes_.capacity() * 4 + validity_.capacity() * 8;
  }

 private:
  friend class PageDecoder;
  uint32_t rows_ = 0;
  uint32_t null_count_ = 0;
  ByteBuffer values_;
  ByteBuffer arena_;
  std::vector<uint32_t> codes_;
  std::vector<uint64_t> validity_;
  std::shared_ptr<const Dictionary> dictionary_;
};

}  // namespace petalite::parquet
