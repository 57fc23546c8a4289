#include "parquet/row_group_writer.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace petalite::parquet {

RowGroupBuffer::RowGroupBuffer(const Schema& schema, size_t row_capacity) : row_capacity_(row_capacity) {
  for (const Field& field : schema.fields) columns_.emplace_back(field, row_capacity);
}

size_t RowGroupBuffer::FittingRows(std::span<const ColumnView> columns, size_t begin, size_t count) const {
  size_t fitting = std::min(count, row_capacity_ - rows());
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!columns_[c].is_byte_array()) continue;
    if (columns_[c].bytes() + PlainStringBytes(columns[c], begin, fitting) <= kMaxColumnBytes) continue;
    size_t bytes = columns_[c].bytes();
    for (size_t i = 0; i < fitting; ++i) {
      bytes += PlainStringBytes(columns[c], begin + i, 1);
      if (bytes > kMaxColumnBytes) fitting = i;
    }
  }
  return rows() == 0 ? std::max<size_t>(fitting, 1) : fitting;
}

Status RowGroupBuffer::Append(std::span<const ColumnView> columns, size_t begin, size_t count, uint64_t file_row) {
  for (size_t c = 0; c < columns.size(); ++c) {
    RETURN_IF_ERROR(columns_[c].Append(columns[c], begin, count, file_row));
  }
  return Status::Ok();
}

void RowGroupBuffer::Clear() {
  for (ColumnBuffer& column : columns_) column.Clear();
}

struct RowGroupEncoding::State {
  // Encodes the next column that nobody has taken; false if there is none.
  bool EncodeOne();

  std::unique_ptr<RowGroupBuffer> rows;
  const std::vector<ChunkOptions>* options;
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::condition_variable finished;
  size_t pending = 0;                               // columns
  std::vector<std::optional<EncodedChunk>> chunks;  // of those that are encoded
  Status first_error;
};

bool RowGroupEncoding::State::EncodeOne() {
  const size_t column = next.fetch_add(1);
  if (column >= chunks.size()) return false;
  Result<EncodedChunk> chunk = EncodeColumnChunk(rows->column(column), (*options)[column]);
  const std::lock_guard lock(mutex);
  if (chunk.ok()) {
    chunks[column] = *std::move(chunk);
  } else if (first_error.ok()) {
    first_error = chunk.status().WithContext(fmt::format("column '{}'", rows->column(column).field().name));
  }
  if (--pending == 0) finished.notify_all();
  return true;
}

RowGroupEncoding::RowGroupEncoding(std::unique_ptr<RowGroupBuffer> rows, const std::vector<ChunkOptions>* options)
    : state_(std::make_shared<State>()) {
  state_->pending = rows->columns();
  state_->chunks.resize(rows->columns());
  state_->rows = std::move(rows);
  state_->options = options;
}

void RowGroupEncoding::Start(ThreadPool* pool) {
  if (pool == nullptr) return;
  for (size_t i = 0; i < state_->chunks.size(); ++i) pool->Submit([state = state_] { state->EncodeOne(); });
}

Result<std::vector<EncodedChunk>> RowGroupEncoding::Wait() {
  while (state_->EncodeOne()) {
  }
  std::unique_lock lock(state_->mutex);
  state_->finished.wait(lock, [this] { return state_->pending == 0; });
  RETURN_IF_ERROR(state_->first_error);
  std::vector<EncodedChunk> chunks;
  for (std::optional<EncodedChunk>& chunk : state_->chunks) chunks.push_back(*std::move(chunk));
  return chunks;
}

void RowGroupEncoding::Cancel() {
  const size_t columns = state_->chunks.size();
  const size_t begun = std::min(state_->next.exchange(columns), columns);
  std::unique_lock lock(state_->mutex);
  state_->pending -= columns - begun;
  state_->finished.wait(lock, [this] { return state_->pending == 0; });
}

std::unique_ptr<RowGroupBuffer> RowGroupEncoding::ReleaseBuffer() { return std::move(state_->rows); }

size_t RowGroupEncoding::rows() const { return state_->rows->rows(); }

}  // namespace petalite::parquet
