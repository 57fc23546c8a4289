// A row group on its way into a file: filled by rows, then encoded column by column on a pool.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "parquet/column_buffer.h"
#include "parquet/column_chunk_writer.h"

namespace petalite::parquet {

// The rows of the group that is being filled.
class RowGroupBuffer {
 public:
  // A group is cut when a column of it holds this many bytes, so that long values bound neither
  // memory nor the 32-bit sizes of pages.
  static constexpr size_t kMaxColumnBytes = size_t{256} << 20;

  RowGroupBuffer(const Schema& schema, size_t row_capacity);

  // How many of the rows [begin, begin + count) the group still takes; at least one when it is
  // empty.
  size_t FittingRows(std::span<const ColumnView> columns, size_t begin, size_t count) const;
  // Appends rows that fit; `file_row` is the first one's position in the file.
  Status Append(std::span<const ColumnView> columns, size_t begin, size_t count, uint64_t file_row);
  void Clear();

  size_t rows() const { return columns_.front().rows(); }
  const ColumnBuffer& column(size_t i) const { return columns_[i]; }
  size_t columns() const { return columns_.size(); }

 private:
  size_t row_capacity_;
  std::vector<ColumnBuffer> columns_;
};

// The encoding of one group. Tasks on the pool take one column after another, and so does the
// thread that waits: it finishes even if the pool never gets to it, so that a writer may itself run
// on that pool.
class RowGroupEncoding {
 public:
  RowGroupEncoding(std::unique_ptr<RowGroupBuffer> rows, const std::vector<ChunkOptions>* options);

  void Start(ThreadPool* pool);  // null: everything happens in Wait
  // The chunks, in the order of columns, or the first error. Once.
  Result<std::vector<EncodedChunk>> Wait();
  // Instead of Wait: gives up the columns that nobody has begun and waits for the others.
  void Cancel();
  // After Wait: the buffer, for reuse.
  std::unique_ptr<RowGroupBuffer> ReleaseBuffer();
  size_t rows() const;

 private:
  struct State;

  std::shared_ptr<State> state_;  // shared with tasks that may come too late to find a column
};

}  // namespace petalite::parquet
