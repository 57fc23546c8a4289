// Changes that become visible together or not at all, over any number of tables: definitions and rows.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "petalite/table.h"
#include "petalite/table_reader.h"
#include "petalite/write_batch.h"

namespace petalite {

namespace store {
class TableAppender;
class Transaction;
}  // namespace store

// Many rows into one table. A few join the transaction as any write does; more go into files of their own, which the
// commit adopts. Rows of a keyed table come in any order; a key that occurs twice, among them or in the table, is an
// error that names it. Legal order of calls: Append any number of times, Finish. For one thread, that of its
// transaction; once that is over, its calls fail with kInvalidArgument.
class Appender {
 public:
  Appender(Appender&&) noexcept;
  Appender& operator=(Appender&&) noexcept;
  ~Appender();

  // One view per column of the table, in order, each of `rows` rows. Copies. Errors name the column or key and the row.
  Status Append(std::span<const ColumnView> columns, size_t rows);
  // The rows join the transaction when this has returned.
  Status Finish();
  uint64_t rows() const;

 private:
  friend class Transaction;
  Appender(std::shared_ptr<store::Database> database, std::shared_ptr<store::Transaction> transaction,
           std::unique_ptr<store::TableAppender> appender);
  std::shared_ptr<store::Database> database_;
  std::shared_ptr<store::Transaction> transaction_;
  std::unique_ptr<store::TableAppender> appender_;
};

// Sees the newest snapshot of when it began, and its own changes; others see those when Commit has returned. Isolation
// is snapshot isolation: of two that change the same row or definition, or insert the same key, the first to commit
// wins. Destroyed without Commit, it leaves nothing behind. For one thread at a time. After Commit or Rollback it is
// over, and every call but Rollback fails with kInvalidArgument.
//
// Errors: kReadOnly if the database is open for reading; kNotFound, with the nearest name, for a table or column that
// is not there; kAlreadyExists; kInvalidArgument for what makes no sense. A change that fails has no effect, and the
// transaction goes on.
class Transaction {
 public:
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;
  ~Transaction();

  std::vector<TableName> Tables() const;
  // Rows as they are now to this transaction; later changes are seen by a reader that is opened later.
  Result<TableReader> Open(const TableName& table) const;

  Status CreateSchema(const std::string& name);
  // Not empty and not `cascade`: kInvalidArgument.
  Status DropSchema(const std::string& name, bool cascade = false);
  Status CreateTable(const TableDefinition& definition);
  Status DropTable(const TableName& table);
  Status RenameTable(const TableName& table, const std::string& to);
  // Rowsets that are written from now on obey.
  Status SetOptions(const TableName& table, const OptionList& options);
  // Changes of columns rewrite no row. A column that is added has its field's initial_default, or null, in the rows
  // that are there. Key columns can be renamed, and nothing else. A type can become a wider one of its kind: a longer
  // integer, double from float, decimal of more digits. They fail if this transaction has written to the table.
  Status AddColumn(const TableName& table, const Field& field);
  Status DropColumn(const TableName& table, const std::string& column);
  Status RenameColumn(const TableName& table, const std::string& column, const std::string& to);
  Status WidenColumn(const TableName& table, const std::string& column, const Type& type);
  // The table keeps its definition and loses its rows.
  Status Truncate(const TableName& table);

  // One batch, which has effect as a whole or, on an error, none. kAlreadyExists, naming the key, for an insert of one
  // that is there. `outcomes`, if given, gets one per row.
  Result<WriteCounts> Write(const TableName& table, const WriteBatch& batch,
                            std::vector<RowOutcome>* outcomes = nullptr);
  // Of an unkeyed table: rows by their positions in a reader that Open gave. An update gives some columns and writes
  // the rows anew, behind the others. kBusy if a compaction has moved them meanwhile.
  Result<WriteCounts> DeleteRows(const TableReader& reader, std::span<const RowPosition> rows);
  Result<WriteCounts> UpdateRows(const TableReader& reader, std::span<const RowPosition> rows, const WriteBatch& batch);
  Result<Appender> Append(const TableName& table);

  // kBusy, naming table and key, if another transaction has committed a change of what this one changed.
  Status Commit();
  void Rollback();

 private:
  friend class Database;
  Transaction(std::shared_ptr<store::Database> database, std::shared_ptr<store::Transaction> transaction);

  std::shared_ptr<store::Database> database_;
  std::shared_ptr<store::Transaction> transaction_;
};

}  // namespace petalite
