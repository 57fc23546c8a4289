// Changes that become visible together or not at all: definitions, rows, rowsets that a bulk load wrote.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "petalite/write_batch.h"
#include "store/database.h"

namespace petalite::store {

class StagedTable;
class TableAppender;

// Reads one snapshot, and its own changes. Destroyed without Commit, it leaves nothing behind. For one thread at a
// time.
class Transaction {
 public:
  ~Transaction();

  // The definitions it began with and its own changes.
  const Version& view() const { return *view_; }
  const std::shared_ptr<const Snapshot>& snapshot() const { return base_; }
  // Rows as the transaction sees them.
  Result<std::shared_ptr<const TableView>> View(const std::shared_ptr<const Table>& table) const;

  Status CreateSchema(const std::string& name);
  Status DropSchema(const std::string& name, bool cascade);
  Result<std::shared_ptr<const Table>> CreateTable(const TableDefinition& definition);
  Status DropTable(const TableName& name);
  Status RenameTable(const TableName& from, const std::string& to);
  // New rowsets obey the new options.
  Status SetOptions(const TableName& name, const OptionList& options);
  // Changes of a table's columns; rows that are there are not rewritten. A column that is added has its field's default
  // (or null) in them, and gets a field id of its own. Key columns can be renamed, and nothing else. A type can be
  // widened (column_mapping.h). An error if this transaction has written to the table.
  Status AddColumn(const TableName& name, const Field& field);
  Status DropColumn(const TableName& name, const std::string& column);
  Status RenameColumn(const TableName& name, const std::string& from, const std::string& to);
  Status WidenColumn(const TableName& name, const std::string& column, const Type& type);
  Status CreateView(const store::View& view, bool replace);
  Status DropView(const TableName& name);
  // The table keeps its definition and loses its rows.
  Status Truncate(const TableName& name);

  // One batch, which has effect as a whole or, on an error, none; `outcomes`, if given, gets one per row. Keys of rows
  // are compared with the snapshot and with what this transaction wrote before.
  Result<WriteCounts> Write(const TableName& table, const WriteBatch& batch,
                            std::vector<RowOutcome>* outcomes = nullptr);
  // Of an unkeyed table: rows by their positions in a view that View gave (MorselReader::PositionOf). An update gives
  // some columns and writes the rows anew, behind the others. kBusy if a compaction has moved them meanwhile.
  Result<WriteCounts> DeleteRows(const TableName& table, const TableView& view, std::span<const RowPosition> positions);
  Result<WriteCounts> UpdateRows(const TableName& table, const TableView& view, std::span<const RowPosition> positions,
                                 const WriteBatch& batch);
  // Adds rows to a table; they join the transaction when the appender's Finish has returned.
  Result<std::unique_ptr<TableAppender>> Append(const TableName& name);

  // First committer wins: kBusy, naming table and key, if another transaction committed a change of a row or definition
  // that this one changed too. The transaction is over either way.
  Status Commit();
  void Rollback();
  // It was committed or rolled back: nothing but Rollback may be called.
  bool over() const { return over_; }

 private:
  friend class Database;
  friend class RowsetSequence;
  Transaction(Database& database, std::shared_ptr<const Snapshot> base);

  // Lets go of the versions and files, which others may be waiting to see removed.
  void End();
  SchemaVersion* FindSchema(const std::string& name);
  Result<std::shared_ptr<const Table>> GetTable(const TableName& name) const;
  void PutTable(std::shared_ptr<const Table> table);
  Result<std::shared_ptr<const Table>> TableToAlter(const TableName& name) const;
  Status PutColumns(const Table& table, Schema schema, const TableOptions& options);
  StagedTable& Staged(const std::shared_ptr<const Table>& table);
  std::vector<std::shared_ptr<Tablet>> MakeTablets(TableId table, size_t count);

  Database& database_;
  std::shared_ptr<const Snapshot> base_;
  std::shared_ptr<Version> view_;
  std::map<TableId, std::unique_ptr<StagedTable>> staged_;
  std::vector<std::shared_ptr<Rowset>> written_;  // files of this transaction, obsolete unless it commits
  bool over_ = false;
};

}  // namespace petalite::store
