// A table as a snapshot or a transaction sees it: rows by key, and scans.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "petalite/column_view.h"
#include "petalite/predicate.h"
#include "petalite/schema.h"
#include "petalite/table.h"

namespace petalite {

namespace store {
class Database;
class TableView;
}  // namespace store

class Scan;

// Values of the columns that were asked for, in that order.
using Row = std::vector<Value>;

// Where a row of an unkeyed table is, for Transaction::DeleteRows and UpdateRows. Means something only together with
// the TableReader whose scan gave it.
struct RowPosition {
  uint32_t tablet = 0;
  uint32_t source = 0;
  uint32_t row = 0;
};

struct ColumnPredicate {
  std::string column;
  Predicate predicate;
};

struct ScanOptions {
  std::vector<std::string> columns = {};  // names of those to read, in this order; empty: all
  // A scan gives the rows that satisfy all of them. Zone maps, column filters and the page index spare what cannot.
  std::vector<ColumnPredicate> where = {};
};

// Immutable: what is committed later is not seen. It keeps what it reads in memory and on disk, so hold it for a query;
// hold a Snapshot for longer. Copies are cheap and share it. Thread-safe. Every function fails with kCorruption, naming
// file and place, where stored bytes are not what was written, and with kIoError where they cannot be read.
class TableReader {
 public:
  const TableName& name() const;
  const Schema& schema() const;
  // Names of the primary key's columns, in key order; empty for an unkeyed table.
  std::vector<std::string> key() const;
  // How many rows there are; an estimate, at most too high by rows that are dead.
  uint64_t estimated_rows() const;

  // The row with this key, whose values come in key order; none if there is none. `columns`: names; empty: all. Errors:
  // kNotFound for an unknown column; kInvalidArgument for an unkeyed table, or values that are not of the key's types.
  Result<std::optional<Row>> Get(std::span<const Value> key, std::span<const std::string> columns = {}) const;
  Result<std::optional<Row>> Get(std::initializer_list<Value> key, std::span<const std::string> columns = {}) const {
    return Get(std::span(key.begin(), key.size()), columns);
  }
  // One for each of `keys`, in their order: filters and key pages are consulted for all of them together.
  Result<std::vector<std::optional<Row>>> GetMany(std::span<const Row> keys,
                                                  std::span<const std::string> columns = {}) const;

  // Errors: kNotFound for an unknown column; kInvalidArgument for a constant that is not of its column's type.
  Result<Scan> NewScan(const ScanOptions& options = {}) const;

 private:
  friend class Snapshot;
  friend class Transaction;
  friend class ScanReader;
  TableReader(std::shared_ptr<store::Database> database, std::shared_ptr<const store::TableView> view)
      : database_(std::move(database)), view_(std::move(view)) {}

  std::shared_ptr<store::Database> database_;
  std::shared_ptr<const store::TableView> view_;
};

// Some rows of a scan, column by column.
struct RowBlock {
  size_t rows = 0;  // at least 1
  std::vector<ColumnView>
      columns;  // in the order of ScanOptions::columns; values lie as the column's type has it (type.h)
};

// Gives the blocks of a scan that no other reader of it has got. For one thread.
class ScanReader {
 public:
  ScanReader(ScanReader&&) noexcept;
  ScanReader& operator=(ScanReader&&) noexcept;
  ~ScanReader();

  // False at the end. What a block points to stays until the next call, or the reader's end. Order among rows is the
  // table's only within a block.
  Result<bool> Next(RowBlock* block);
  // Of an unkeyed table: where a row of the last block is.
  RowPosition PositionOf(size_t row) const;

 private:
  friend class Scan;
  struct State;
  explicit ScanReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A scan that threads share, each with a reader of its own. Copies share it too.
class Scan {
 public:
  ScanReader NewReader() const;

 private:
  friend class TableReader;
  friend class ScanReader;
  struct Shared;
  explicit Scan(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  std::shared_ptr<Shared> shared_;
};

}  // namespace petalite
