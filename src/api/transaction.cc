#include "petalite/transaction.h"

#include "api/tables.h"
#include "store/appender.h"
#include "store/transaction.h"

namespace petalite {
namespace {

std::vector<store::RowPosition> ToStore(std::span<const RowPosition> rows) {
  std::vector<store::RowPosition> positions;
  positions.reserve(rows.size());
  for (const RowPosition& row : rows) positions.push_back({row.tablet, {row.source, row.row}});
  return positions;
}

Status CheckOpen(const store::Transaction& transaction) {
  if (transaction.over()) return InvalidArgument("the transaction is over: it was committed or rolled back");
  return Status::Ok();
}

}  // namespace

Appender::Appender(std::shared_ptr<store::Database> database, std::shared_ptr<store::Transaction> transaction,
                   std::unique_ptr<store::TableAppender> appender)
    : database_(std::move(database)), transaction_(std::move(transaction)), appender_(std::move(appender)) {}
Appender::Appender(Appender&&) noexcept = default;
Appender& Appender::operator=(Appender&&) noexcept = default;
Appender::~Appender() = default;

Status Appender::Append(std::span<const ColumnView> columns, size_t rows) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return appender_->Append(columns, rows);
}

Status Appender::Finish() {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return appender_->Finish();
}

uint64_t Appender::rows() const { return appender_->rows(); }

Transaction::Transaction(std::shared_ptr<store::Database> database, std::shared_ptr<store::Transaction> transaction)
    : database_(std::move(database)), transaction_(std::move(transaction)) {}
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&& other) noexcept {
  std::swap(database_, other.database_);  // what this one was ends with the other
  std::swap(transaction_, other.transaction_);
  return *this;
}
Transaction::~Transaction() {
  if (transaction_ != nullptr) transaction_->Rollback();
}

std::vector<TableName> Transaction::Tables() const {
  return transaction_->over() ? std::vector<TableName>() : TablesOf(transaction_->view());
}

Result<TableReader> Transaction::Open(const TableName& name) const {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  const auto table = transaction_->view().FindTable(name);
  if (table == nullptr) return store::NoSuchTable(transaction_->view(), name);
  ASSIGN_OR_RETURN(auto view, transaction_->View(table));
  return TableReader(database_, std::move(view));
}

Status Transaction::CreateSchema(const std::string& name) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->CreateSchema(name);
}

Status Transaction::DropSchema(const std::string& name, bool cascade) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->DropSchema(name, cascade);
}

Status Transaction::CreateTable(const TableDefinition& definition) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->CreateTable(definition).status();
}

Status Transaction::DropTable(const TableName& table) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->DropTable(table);
}

Status Transaction::RenameTable(const TableName& table, const std::string& to) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->RenameTable(table, to);
}

Status Transaction::SetOptions(const TableName& table, const OptionList& options) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->SetOptions(table, options);
}

Status Transaction::AddColumn(const TableName& table, const Field& field) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->AddColumn(table, field);
}

Status Transaction::DropColumn(const TableName& table, const std::string& column) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->DropColumn(table, column);
}

Status Transaction::RenameColumn(const TableName& table, const std::string& column, const std::string& to) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->RenameColumn(table, column, to);
}

Status Transaction::WidenColumn(const TableName& table, const std::string& column, const Type& type) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->WidenColumn(table, column, type);
}

Status Transaction::Truncate(const TableName& table) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->Truncate(table);
}

Result<WriteCounts> Transaction::Write(const TableName& table, const WriteBatch& batch,
                                       std::vector<RowOutcome>* outcomes) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->Write(table, batch, outcomes);
}

Result<WriteCounts> Transaction::DeleteRows(const TableReader& reader, std::span<const RowPosition> rows) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->DeleteRows(reader.name(), *reader.view_, ToStore(rows));
}

Result<WriteCounts> Transaction::UpdateRows(const TableReader& reader, std::span<const RowPosition> rows,
                                            const WriteBatch& batch) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->UpdateRows(reader.name(), *reader.view_, ToStore(rows), batch);
}

Result<Appender> Transaction::Append(const TableName& table) {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  ASSIGN_OR_RETURN(auto appender, transaction_->Append(table));
  return Appender(database_, transaction_, std::move(appender));
}

Status Transaction::Commit() {
  RETURN_IF_ERROR(CheckOpen(*transaction_));
  return transaction_->Commit();
}

void Transaction::Rollback() { transaction_->Rollback(); }

}  // namespace petalite
