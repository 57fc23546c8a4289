// The rows of one column of the row group that is being filled, in the form that pages need: nulls
// are a bitmap, and the other values lie side by side as their physical type's PLAIN bytes (booleans
// as one byte each). So a PLAIN page is a slice of this buffer, and a hash of a value's bytes here
// is the hash that a column filter holds.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "parquet/metadata.h"
#include "petalite/column_view.h"
#include "petalite/schema.h"

namespace petalite::parquet {

// Whether Parquet has a place for the value: its intervals hold neither negative parts, nor microseconds, nor more than
// 2^32 milliseconds; and a timestamp in seconds is written in milliseconds.
bool IntervalFits(const Interval& value);
bool SecondsFit(int64_t seconds);
inline constexpr std::string_view kIntervalUnfit =
    "Parquet's intervals hold neither negative parts, nor microseconds, nor more than 2^32 milliseconds";
inline constexpr std::string_view kSecondsUnfit = "the timestamp does not fit in 64-bit milliseconds";

// The PLAIN bytes of the view's strings [begin, begin + count): length prefixes and contents.
size_t PlainStringBytes(const ColumnView& view, size_t begin, size_t count);

// Bytes without the zeroes that a std::vector fills its growth with. Eight bytes behind the end may
// be read, and kSlack written, so that short values are copied and compared in whole words.
class RawBuffer {
 public:
  static constexpr size_t kSlack = 16;

  void Reserve(size_t capacity);
  void Clear() { size_ = 0; }
  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }
  void set_size(size_t size) { size_ = size; }

 private:
  std::unique_ptr<uint8_t[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

class ColumnBuffer {
 public:
  // A longer value fits no page: page sizes are 32-bit.
  static constexpr size_t kMaxValueBytes = size_t{1} << 30;

  ColumnBuffer(Field field, size_t row_capacity);

  // Appends `count` rows of the view from `begin`; `file_row` is the first one's position in the
  // file, for messages. At most row_capacity rows in all.
  Status Append(const ColumnView& view, size_t begin, size_t count, uint64_t file_row);
  void Clear();

  const Field& field() const { return field_; }
  const SchemaElement& element() const { return element_; }
  PhysicalType physical() const { return *element_.type; }
  size_t width() const { return width_; }  // bytes of a value here; 0 for BYTE_ARRAY
  bool is_byte_array() const { return width_ == 0; }

  size_t rows() const { return rows_; }
  size_t values() const { return values_; }  // rows that are not null
  // One bit per row, set = valid; null when no row is null.
  const uint64_t* validity() const { return values_ == rows_ ? nullptr : validity_.data(); }
  size_t bytes() const { return data_.size(); }

  // Of the value at position i among those that are not null.
  template <typename T>
  const T* fixed() const {
    return reinterpret_cast<const T*>(data_.data());
  }
  std::string_view value(size_t i) const {
    const auto* data = reinterpret_cast<const char*>(data_.data());
    if (!is_byte_array()) return {data + i * width_, width_};
    return {data + offsets_[i] + 4, offsets_[i + 1] - offsets_[i] - 4};
  }
  // PLAIN bytes of the values [begin, end); not for booleans.
  Bytes Plain(size_t begin, size_t end) const {
    if (!is_byte_array()) return {data_.data() + begin * width_, (end - begin) * width_};
    return {data_.data() + offsets_[begin], offsets_[end] - offsets_[begin]};
  }

 private:
  size_t AppendValidity(const ColumnView& view, size_t begin, size_t count);
  template <typename In, typename Convert>
  Status AppendFixed(const ColumnView& view, size_t begin, size_t count, uint64_t file_row, std::string_view misfit,
                     Convert convert);
  template <typename In>
  Status AppendAsIs(const ColumnView& view, size_t begin, size_t count, uint64_t file_row);
  Status AppendDecimal(const ColumnView& view, size_t begin, size_t count, uint64_t file_row);
  template <bool kAllValid>
  void CopyStrings(const ColumnView& view, size_t begin, size_t count);
  Status AppendStrings(const ColumnView& view, size_t begin, size_t count, uint64_t file_row);
  Status CheckUtf8(const ColumnView& view, size_t begin, size_t count, size_t first_value, uint64_t file_row) const;
  Status RowError(uint64_t file_row, std::string_view what) const;

  Field field_;
  SchemaElement element_;
  size_t width_;
  size_t row_capacity_;
  size_t rows_ = 0;
  size_t values_ = 0;
  std::vector<uint64_t> validity_;  // empty until the first null
  RawBuffer data_;
  std::vector<uint32_t> offsets_;  // BYTE_ARRAY: of each value's length prefix, and the end
};

}  // namespace petalite::parquet
