#include "store/appender.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "column/column_vector.h"
#include "column/key_encoding.h"
#include "store/lookup.h"
#include "store/rowset_writer.h"

namespace petalite::store {

// What the two appenders share: one rowset file after another, and their hand-over to the transaction.
class RowsetSequence {
 public:
  RowsetSequence(Database& database, Transaction& transaction, std::shared_ptr<const Table> table)
      : database_(database), transaction_(transaction), table_(std::move(table)) {}

  const std::shared_ptr<const Table>& table() const { return table_; }
  const std::vector<std::shared_ptr<Rowset>>& finished() const { return finished_; }
  RowsetWriter* current() { return writer_.get(); }

  Status Append(std::span<const ColumnView> columns, size_t rows, std::span<const std::string_view> keys) {
    if (writer_ == nullptr) {
      const RowsetId id = database_.next_rowset_id_.fetch_add(1);
      RETURN_IF_ERROR(database_.fs().CreateDirectories(database_.DataDirectory(table_->id())));
      ASSIGN_OR_RETURN(writer_, RowsetWriter::Create(database_.fs(), &database_.pool(),
                                                     database_.RowsetPath(table_->id(), id), *table_, id));
    }
    RETURN_IF_ERROR(writer_->Append(columns, rows, keys));
    return writer_->bytes() >= table_->options().rowset_bytes() ? FinishRowset() : Status::Ok();
  }

  Status FinishRowset() {
    if (writer_ == nullptr) return Status::Ok();
    ASSIGN_OR_RETURN(RowsetInfo info, writer_->Finish());
    auto rowset = std::make_shared<Rowset>(database_.fs(), writer_->path(), std::move(info), table_->schema(),
                                           &database_.cache());
    transaction_.written_.push_back(rowset);  // from here on it goes with the transaction
    finished_.push_back(std::move(rowset));
    writer_ = nullptr;
    return Status::Ok();
  }

  // Every rowset is complete and synced, and so is the directory that names it.
  Status HandOver() {
    RETURN_IF_ERROR(FinishRowset());
    if (finished_.empty()) return Status::Ok();
    RETURN_IF_ERROR(database_.fs().SyncDirectory(database_.DataDirectory(table_->id())));
    RETURN_IF_ERROR(database_.fs().SyncDirectory(database_.path() + "/data"));
    ASSIGN_OR_RETURN(const auto now, transaction_.GetTable(table_->name()));
    auto rowsets = now->rowsets();
    rowsets.insert(rowsets.end(), finished_.begin(), finished_.end());
    transaction_.PutTable(std::make_shared<const Table>(now->id(), now->name(), now->schema(), now->key(),
                                                        now->options(), std::move(rowsets)));
    return Status::Ok();
  }

  size_t memory_budget() const { return database_.options().memory_limit / 2; }

 private:
  Database& database_;
  Transaction& transaction_;
  const std::shared_ptr<const Table> table_;
  std::unique_ptr<RowsetWriter> writer_;
  std::vector<std::shared_ptr<Rowset>> finished_;
};

namespace {

class UnkeyedAppender : public TableAppender {
 public:
  explicit UnkeyedAppender(RowsetSequence rowsets) : rowsets_(std::move(rowsets)) {}

  Status Append(std::span<const ColumnView> columns, size_t rows) override {
    rows_ += rows;
    return rowsets_.Append(columns, rows, {}).WithContext(TableContext());
  }
  Status Finish() override { return rowsets_.HandOver(); }
  uint64_t rows() const override { return rows_; }

 private:
  std::string TableContext() const { return fmt::format("table '{}'", rowsets_.table()->name().ToString()); }

  RowsetSequence rowsets_;
  uint64_t rows_ = 0;
};

// Buffers rows and their encoded keys. While keys rise, a row group's worth goes straight to the file; otherwise the
// buffer fills up to the memory budget, is sorted, and becomes a rowset of its own unless it lies behind the last one.
class KeyedAppender : public TableAppender {
 public:
  explicit KeyedAppender(RowsetSequence rowsets) : rowsets_(std::move(rowsets)), types_(table().KeyTypes()) {
    for (const Field& field : table().schema().fields) buffer_.emplace_back(field.type);
  }

  Status Append(std::span<const ColumnView> columns, size_t rows) override {
    if (rows == 0) return Status::Ok();
    RETURN_IF_ERROR(AppendKeys(columns, rows).WithContext(TableContext()));
    size_t bytes = key_bytes_;
    for (size_t i = 0; i < columns.size(); ++i) {
      buffer_[i].Append(columns[i]);
      bytes += buffer_[i].memory_bytes();
    }
    rows_ += rows;
    const bool full = (sorted_ && keys_.size() >= table().options().row_group_rows()) ||
                      bytes >= rowsets_.memory_budget() || keys_.size() > UINT32_MAX / 2;
    return full ? FlushRun().WithContext(TableContext()) : Status::Ok();
  }

  Status Finish() override {
    if (!keys_.empty()) RETURN_IF_ERROR(FlushRun().WithContext(TableContext()));
    return rowsets_.HandOver();
  }

  uint64_t rows() const override { return rows_; }

 private:
  const Table& table() const { return *rowsets_.table(); }
  std::string TableContext() const { return fmt::format("table '{}'", table().name().ToString()); }

  Status AppendKeys(std::span<const ColumnView> columns, size_t rows) {
    std::vector<ColumnView> key_columns;
    for (const size_t column : table().key()) {
      key_columns.push_back(columns[column]);
      if (columns[column].validity == nullptr) continue;
      for (size_t row = 0; row < rows; ++row) {
        if (columns[column].IsValid(row)) continue;
        return InvalidArgument("row {}: key column '{}' is null", rows_ + row, table().schema()[column].name);
      }
    }
    EncodedKeys& encoded = batches_.emplace_back();
    RETURN_IF_ERROR(EncodeKeys(types_, key_columns, &encoded));
    for (size_t i = 0; i < rows; ++i) {
      const std::string_view key = encoded[i];
      sorted_ = sorted_ && (keys_.empty() || keys_.back() < key);
      keys_.push_back(key);
      key_bytes_ += key.size() + sizeof key;
    }
    return Status::Ok();
  }

  Status Duplicate(std::string_view key) const {
    ASSIGN_OR_RETURN(const auto values, DecodeKey(types_, key));
    return AlreadyExists("duplicate key {}", FormatKey(types_, values));
  }

  // Sorts the buffer's positions by key.
  Status SortRun(std::vector<uint32_t>* order) const {
    struct Entry {
      uint64_t prefix;  // the first eight bytes, as a number that orders like them
      uint32_t row;
    };
    std::vector<Entry> entries(keys_.size());
    for (uint32_t i = 0; i < keys_.size(); ++i) {
      uint64_t prefix = 0;
      std::memcpy(&prefix, keys_[i].data(), std::min<size_t>(8, keys_[i].size()));
      entries[i] = {__builtin_bswap64(prefix), i};
    }
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
      if (a.prefix != b.prefix) return a.prefix < b.prefix;
      const int order = keys_[a.row].compare(keys_[b.row]);
      return order != 0 ? order < 0 : a.row < b.row;
    });
    order->reserve(entries.size());
    const Entry* earliest = nullptr;  // the second row of the pair that occurs first in what was appended
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0 && keys_[entries[i].row] == keys_[entries[i - 1].row] &&
          (earliest == nullptr || entries[i].row < earliest->row)) {
        earliest = &entries[i];
      }
      order->push_back(entries[i].row);
    }
    return earliest == nullptr ? Status::Ok() : Duplicate(keys_[earliest->row]);
  }

  // Whether a key of the run is in the table already, or in a rowset that this appender finished.
  Status CheckAgainst(const Table& rowsets, std::span<const std::string_view> keys) const {
    ASSIGN_OR_RETURN(const auto found, FindFirstPresent(rowsets, keys));
    return found.has_value() ? Duplicate(keys[found->number]) : Status::Ok();
  }

  Status FlushRun() {
    std::vector<uint32_t> order;
    std::vector<std::string_view> keys;
    if (sorted_) {
      keys.assign(keys_.begin(), keys_.end());
    } else {
      RETURN_IF_ERROR(SortRun(&order));
      keys.reserve(order.size());
      for (const uint32_t row : order) keys.push_back(keys_[row]);
    }
    if (rowsets_.current() != nullptr && keys.front() <= rowsets_.current()->last_key()) {
      RETURN_IF_ERROR(rowsets_.FinishRowset());
    }
    RETURN_IF_ERROR(CheckAgainst(table(), keys_));
    const Table finished(0, table().name(), table().schema(), table().key(), table().options(), rowsets_.finished());
    RETURN_IF_ERROR(CheckAgainst(finished, keys_));
    RETURN_IF_ERROR(WriteRun(order, keys));
    for (ColumnVector& column : buffer_) column.Clear();
    batches_.clear();
    keys_.clear();
    key_bytes_ = 0;
    sorted_ = true;
    return Status::Ok();
  }

  // In pieces, so that a rowset that grows too large can be closed between them.
  Status WriteRun(const std::vector<uint32_t>& order, std::span<const std::string_view> keys) {
    std::vector<uint32_t> identity;
    const uint32_t* selection = order.data();
    if (order.empty()) {
      identity.resize(keys.size());
      std::iota(identity.begin(), identity.end(), 0);
      selection = identity.data();
    }
    const size_t piece = table().options().row_group_rows();
    for (size_t begin = 0; begin < keys.size(); begin += piece) {
      const size_t rows = std::min(piece, keys.size() - begin);
      std::vector<ColumnView> views;
      for (const ColumnVector& column : buffer_) {
        ColumnView view = column.View();
        view.selection = selection + begin;
        view.size = rows;
        views.push_back(view);
      }
      RETURN_IF_ERROR(rowsets_.Append(views, rows, keys.subspan(begin, rows)));
    }
    return Status::Ok();
  }

  RowsetSequence rowsets_;
  const std::vector<Type> types_;
  std::vector<ColumnVector> buffer_;
  std::deque<EncodedKeys> batches_;     // what keys_ points into
  std::vector<std::string_view> keys_;  // of the buffer's rows
  size_t key_bytes_ = 0;
  bool sorted_ = true;  // keys_ rise strictly
  uint64_t rows_ = 0;
};

}  // namespace

Result<std::unique_ptr<TableAppender>> Transaction::Append(const TableName& name) {
  ASSIGN_OR_RETURN(auto table, GetTable(name));
  RowsetSequence rowsets(database_, *this, table);
  if (table->is_keyed()) return std::unique_ptr<TableAppender>(std::make_unique<KeyedAppender>(std::move(rowsets)));
  return std::unique_ptr<TableAppender>(std::make_unique<UnkeyedAppender>(std::move(rowsets)));
}

}  // namespace petalite::store
