#include "store/appender.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/hash.h"
#include "column/column_vector.h"
#include "column/key_encoding.h"
#include "store/check_values.h"
#include "store/key_prefix.h"
#include "store/lookup.h"
#include "store/rowset_writer.h"
#include "store/staged_table.h"

namespace petalite::store {

inline constexpr size_t kFewBytes = size_t{4} << 20;

// What the two appenders share: one rowset file after another, and their hand-over to the transaction.
class RowsetSequence {
 public:
  RowsetSequence(Database& database, Transaction& transaction, std::shared_ptr<const Table> table, uint32_t tablet)
      : database_(database), transaction_(transaction), table_(std::move(table)), tablet_(tablet) {}

  const std::shared_ptr<const Table>& table() const { return table_; }
  const std::vector<std::shared_ptr<Rowset>>& finished() const { return finished_; }
  RowsetWriter* current() { return writer_.get(); }

  Status Append(std::span<const ColumnView> columns, size_t rows, std::span<const std::string_view> keys) {
    if (writer_ == nullptr) {
      StoreContext& context = database_.context_;
      const RowsetId id = context.next_rowset_id.fetch_add(1);
      RETURN_IF_ERROR(context.fs.CreateDirectories(context.DataDirectory(table_->id())));
      ASSIGN_OR_RETURN(writer_, RowsetWriter::Create(context, table_->id(),
                                                     {.schema = table_->schema(),
                                                      .options = table_->options(),
                                                      .key = table_->key(),
                                                      .id = id,
                                                      .tablet = tablet_}));
    }
    RETURN_IF_ERROR(writer_->Append(columns, rows, keys));
    return writer_->bytes() >= table_->options().rowset_bytes() ? FinishRowset() : Status::Ok();
  }

  Status FinishRowset() {
    if (writer_ == nullptr) return Status::Ok();
    ASSIGN_OR_RETURN(RowsetInfo info, writer_->Finish());
    auto rowset = std::make_shared<Rowset>(database_.context_, writer_->path(), std::move(info));
    transaction_.written_.push_back(rowset);  // from here on it goes with the transaction
    finished_.push_back(std::move(rowset));
    writer_ = nullptr;
    return Status::Ok();
  }

  // Every rowset is complete and synced, and so is the directory that names it.
  Status HandOver() {
    RETURN_IF_ERROR(FinishRowset());
    if (finished_.empty()) return Status::Ok();
    RETURN_IF_ERROR(database_.fs().SyncDirectory(database_.context_.DataDirectory(table_->id())));
    RETURN_IF_ERROR(database_.fs().SyncDirectory(database_.path() + "/data"));
    StagedTable& staged = transaction_.Staged(table_);
    for (const auto& rowset : finished_) staged.AddRowset(rowset);
    return Status::Ok();
  }

 private:
  Database& database_;
  Transaction& transaction_;
  const std::shared_ptr<const Table> table_;
  const uint32_t tablet_;
  std::unique_ptr<RowsetWriter> writer_;
  std::vector<std::shared_ptr<Rowset>> finished_;
};

namespace {

// Rows that wait, column by column.
class RowBuffer {
 public:
  explicit RowBuffer(const Schema& schema) {
    for (const Field& field : schema.fields) columns_.emplace_back(field.type);
  }

  void Append(std::span<const ColumnView> columns, size_t rows) {
    for (size_t i = 0; i < columns.size(); ++i) columns_[i].Append(columns[i]);
    rows_ += rows;
  }
  size_t rows() const { return rows_; }
  size_t memory_bytes() const {
    size_t bytes = 0;
    for (const ColumnVector& column : columns_) bytes += column.memory_bytes();
    return bytes;
  }
  std::vector<ColumnView> Views() const {
    std::vector<ColumnView> views;
    for (const ColumnVector& column : columns_) views.push_back(column.View());
    return views;
  }
  // As an insert into the transaction, like any other.
  Status Stage(Transaction& transaction, const Table& table) const {
    if (rows_ == 0) return Status::Ok();
    const WriteBatch batch{.op = WriteOp::kInsert, .columns = Views(), .rows = rows_};
    return transaction.Write(table.name(), batch).status();
  }
  void Clear() {
    for (ColumnVector& column : columns_) column.Clear();
    rows_ = 0;
  }

 private:
  std::vector<ColumnVector> columns_;
  size_t rows_ = 0;
};

// While there are few rows they are only kept; once there are many, they go to files as they come.
class UnkeyedAppender : public TableAppender {
 public:
  UnkeyedAppender(Transaction& transaction, size_t few_bytes, RowsetSequence rowsets)
      : transaction_(transaction), few_bytes_(few_bytes), rowsets_(std::move(rowsets)), buffer_(table().schema()) {}

  Status Append(std::span<const ColumnView> columns, size_t rows) override {
    for (size_t i = 0; i < columns.size(); ++i) {
      const Status checked = CheckValues(table().schema()[i], columns[i], rows_);
      if (!checked.ok()) return checked.WithContext(TableContext());
    }
    rows_ += rows;
    if (many_) return rowsets_.Append(columns, rows, {}).WithContext(TableContext());
    buffer_.Append(columns, rows);
    if (buffer_.memory_bytes() < few_bytes_) return Status::Ok();
    many_ = true;
    const Status written = rowsets_.Append(buffer_.Views(), buffer_.rows(), {}).WithContext(TableContext());
    buffer_.Clear();
    return written;
  }
  Status Finish() override { return many_ ? rowsets_.HandOver() : buffer_.Stage(transaction_, table()); }
  uint64_t rows() const override { return rows_; }

 private:
  const Table& table() const { return *rowsets_.table(); }
  std::string TableContext() const { return fmt::format("table '{}'", table().name().ToString()); }

  Transaction& transaction_;
  const size_t few_bytes_;
  RowsetSequence rowsets_;
  RowBuffer buffer_;
  bool many_ = false;
  uint64_t rows_ = 0;
};

// Buffers rows and their encoded keys. While keys rise, a row group's worth goes straight to the file; otherwise the
// buffer fills up to the memory budget, is sorted, and becomes a rowset of its own unless it lies behind the last one.
class KeyedAppender : public TableAppender {
 public:
  KeyedAppender(Transaction& transaction, StoreContext& context, size_t few_bytes, size_t budget,
                std::vector<RowsetSequence> rowsets)
      : transaction_(transaction),
        context_(context),
        few_bytes_(few_bytes),
        budget_(budget),
        rowsets_(std::move(rowsets)),
        types_(table().KeyTypes()),
        buffer_(table().schema()),
        charge_(context.memory, MemoryUse::kStaged) {}

  Status Append(std::span<const ColumnView> columns, size_t rows) override {
    if (rows == 0) return Status::Ok();
    RETURN_IF_ERROR(AppendKeys(columns, rows).WithContext(TableContext()));
    for (size_t i = 0; i < columns.size(); ++i) {
      const Status checked = CheckValues(table().schema()[i], columns[i], rows_);
      if (!checked.ok()) return checked.WithContext(TableContext());
    }
    buffer_.Append(columns, rows);
    rows_ += rows;
    constexpr size_t kSortBytes = 20;  // that sorting a row takes
    const size_t bytes = key_bytes_ + buffer_.memory_bytes() + (sorted_ ? 0 : keys_.size() * kSortBytes);
    charge_.Set(bytes);
    context_.memory.Settle();
    many_ = many_ || bytes >= few_bytes_;
    const bool full = (many_ && sorted_ && keys_.size() >= table().options().row_group_rows()) || bytes >= budget_ ||
                      context_.memory.IsCrowded(bytes) || keys_.size() > UINT32_MAX / 2;
    if (!full) return Status::Ok();
    RETURN_IF_ERROR(FlushRun().WithContext(TableContext()));
    charge_.Set(buffer_.memory_bytes());
    return Status::Ok();
  }

  Status Finish() override {
    if (!many_) return buffer_.Stage(transaction_, table());
    if (!keys_.empty()) RETURN_IF_ERROR(FlushRun().WithContext(TableContext()));
    for (RowsetSequence& rowsets : rowsets_) RETURN_IF_ERROR(rowsets.HandOver());
    return Status::Ok();
  }

  uint64_t rows() const override { return rows_; }

 private:
  const Table& table() const { return *rowsets_[0].table(); }
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
      entries[i] = {KeyPrefix(keys_[i]), i};
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

  // Whether a key of the run is in the table already, as the transaction sees it, or in a rowset that this appender
  // finished.
  Status CheckPresent() const {
    ASSIGN_OR_RETURN(const auto view, transaction_.View(rowsets_[0].table()));
    ASSIGN_OR_RETURN(const auto found, FindFirstPresent(*view, keys_));
    if (found.has_value()) return Duplicate(keys_[*found]);
    std::vector<uint64_t> hashes;
    for (const std::string_view key : keys_) hashes.push_back(Xxh64(key));
    std::vector<RowLocation> locations(keys_.size());
    for (const RowsetSequence& rowsets : rowsets_) {
      if (rowsets.finished().empty()) continue;
      const TabletState finished(rowsets.finished(), {});
      const KeyResolver resolver(context_, finished, kNewestCommit);
      RETURN_IF_ERROR(resolver.Find(keys_, hashes, locations));
      for (size_t i = 0; i < keys_.size(); ++i) {
        if (locations[i].found()) return Duplicate(keys_[i]);
      }
    }
    return Status::Ok();
  }

  Status FlushRun() {
    many_ = true;
    std::vector<uint32_t> order;
    if (sorted_) {
      order.resize(keys_.size());
      std::iota(order.begin(), order.end(), 0);
    } else {
      RETURN_IF_ERROR(SortRun(&order));
    }
    // A rowset that the run does not lie behind is finished before its keys are looked for.
    for (RowsetSequence& rowsets : rowsets_) {
      if (rowsets.current() != nullptr && keys_[order.front()] <= rowsets.current()->last_key()) {
        RETURN_IF_ERROR(rowsets.FinishRowset());
      }
    }
    RETURN_IF_ERROR(CheckPresent());
    RETURN_IF_ERROR(WriteRun(order));
    buffer_.Clear();
    batches_.clear();
    keys_.clear();
    key_bytes_ = 0;
    sorted_ = true;
    return Status::Ok();
  }

  Status WriteRun(const std::vector<uint32_t>& order) {
    if (rowsets_.size() == 1) return WritePieces(order, &rowsets_[0]);
    std::vector<std::vector<uint32_t>> orders(rowsets_.size());
    for (const uint32_t row : order) orders[table().TabletOf(Xxh64(keys_[row]))].push_back(row);
    for (size_t i = 0; i < orders.size(); ++i) RETURN_IF_ERROR(WritePieces(orders[i], &rowsets_[i]));
    return Status::Ok();
  }

  // In pieces, so that a rowset that grows too large can be closed between them.
  Status WritePieces(const std::vector<uint32_t>& order, RowsetSequence* rowsets) {
    const size_t piece = table().options().row_group_rows();
    std::vector<std::string_view> keys;
    for (size_t begin = 0; begin < order.size(); begin += piece) {
      const size_t rows = std::min(piece, order.size() - begin);
      std::vector<ColumnView> views = buffer_.Views();
      for (ColumnView& view : views) {
        view.selection = order.data() + begin;
        view.size = rows;
      }
      keys.clear();
      for (size_t i = begin; i < begin + rows; ++i) keys.push_back(keys_[order[i]]);
      RETURN_IF_ERROR(rowsets->Append(views, rows, keys));
    }
    return Status::Ok();
  }

  Transaction& transaction_;
  StoreContext& context_;
  const size_t few_bytes_;
  const size_t budget_;
  std::vector<RowsetSequence> rowsets_;  // one per tablet
  const std::vector<Type> types_;
  RowBuffer buffer_;
  MemoryCharge charge_;                 // for it and the keys
  std::deque<EncodedKeys> batches_;     // what keys_ points into
  std::vector<std::string_view> keys_;  // of the buffer's rows
  size_t key_bytes_ = 0;
  bool sorted_ = true;  // keys_ rise strictly
  bool many_ = false;   // too many to be written as a batch
  uint64_t rows_ = 0;
};

}  // namespace

Result<std::unique_ptr<TableAppender>> Transaction::Append(const TableName& name) {
  ASSIGN_OR_RETURN(auto table, GetTable(name));
  // A load takes half of the memory for writes; up to a sixteenth of that it is a batch like others.
  const size_t budget = database_.options().write_bytes / 2;
  const size_t few = std::min(budget / 16, kFewBytes);
  std::vector<RowsetSequence> rowsets;
  for (uint32_t i = 0; i < table->tablets().size(); ++i) rowsets.emplace_back(database_, *this, table, i);
  if (table->is_keyed()) {
    return std::unique_ptr<TableAppender>(
        std::make_unique<KeyedAppender>(*this, database_.context_, few, budget, std::move(rowsets)));
  }
  return std::unique_ptr<TableAppender>(std::make_unique<UnkeyedAppender>(*this, few, std::move(rowsets[0])));
}

}  // namespace petalite::store
