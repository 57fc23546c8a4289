#include "store/transaction.h"

#include <algorithm>

#include "base/utf8.h"
#include "store/check_values.h"
#include "store/column_mapping.h"
#include "store/find_column.h"
#include "store/staged_table.h"

namespace petalite::store {
namespace {

// Checks a new table's columns and resolves its key.
Result<std::vector<size_t>> ResolveKey(const TableDefinition& definition, Schema* schema) {
  std::vector<size_t> key;
  for (const std::string& name : definition.key) {
    const auto column = schema->Find(name);
    if (!column) return NotFound("table '{}': there is no key column '{}'", definition.name.ToString(), name);
    Field& field = schema->fields[*column];
    if (!field.type.CanBeKey()) {
      return Unsupported("table '{}': column '{}' of type {} cannot be part of a key", definition.name.ToString(), name,
                         field.type.ToString());
    }
    if (std::find(key.begin(), key.end(), *column) != key.end()) {
      return InvalidArgument("table '{}': the key names column '{}' twice", definition.name.ToString(), name);
    }
    field.nullable = false;
    key.push_back(*column);
  }
  return key;
}

bool IsKeyColumn(const Table& table, size_t column) {
  return std::find(table.key().begin(), table.key().end(), column) != table.key().end();
}

bool IsName(const std::string& name) { return !name.empty() && Utf8ValidPrefix(name) == name.size(); }

Status CheckColumns(const TableName& name, const Schema& schema) {
  if (schema.fields.empty()) return InvalidArgument("table '{}' would have no columns", name.ToString());
  for (size_t i = 0; i < schema.size(); ++i) {
    const Field& field = schema[i];
    if (*schema.Find(field.name) != i) {
      return InvalidArgument("table '{}': there are two columns '{}'", name.ToString(), field.name);
    }
    if (!IsName(field.name))
      return InvalidArgument("table '{}': column {} needs a name, in UTF-8", name.ToString(), i + 1);
    if (!field.type.IsValid()) {
      return InvalidArgument("table '{}': column '{}' has no valid type", name.ToString(), field.name);
    }
    if (!field.initial_default.Fits(field.type)) {
      return InvalidArgument("table '{}': the default of column '{}' is no value of type {}", name.ToString(),
                             field.name, field.type.ToString());
    }
  }
  return Status::Ok();
}

}  // namespace

std::unique_ptr<Transaction> Database::Begin(std::shared_ptr<const Snapshot> base) {
  if (base == nullptr) base = CurrentSnapshot();
  return std::unique_ptr<Transaction>(new Transaction(*this, std::move(base)));
}

Transaction::Transaction(Database& database, std::shared_ptr<const Snapshot> base)
    : database_(database), base_(std::move(base)), view_(std::make_shared<Version>(base_->version())) {}

Transaction::~Transaction() { Rollback(); }

SchemaVersion* Transaction::FindSchema(const std::string& name) {
  const auto found = view_->schemas.find(name);
  return found == view_->schemas.end() ? nullptr : &found->second;
}

Result<std::shared_ptr<const Table>> Transaction::GetTable(const TableName& name) const {
  auto table = view_->FindTable(name);
  if (table == nullptr) return NoSuchTable(*view_, name);
  return table;
}

void Transaction::PutTable(std::shared_ptr<const Table> table) {
  view_->schemas[table->name().schema].tables[table->name().table] = std::move(table);
}

Status Transaction::CreateSchema(const std::string& name) {
  if (!IsName(name)) return InvalidArgument("a schema needs a name, in UTF-8");
  if (FindSchema(name) != nullptr) return AlreadyExists("schema '{}' exists already", name);
  view_->schemas[name].name = name;
  return Status::Ok();
}

Status Transaction::DropSchema(const std::string& name, bool cascade) {
  const SchemaVersion* schema = FindSchema(name);
  if (schema == nullptr) return NotFound("there is no schema '{}'", name);
  if (SameName(name, "main")) return InvalidArgument("schema 'main' cannot be dropped");
  if (!cascade && !(schema->tables.empty() && schema->views.empty())) {
    return InvalidArgument("schema '{}' is not empty; DROP SCHEMA … CASCADE drops what is in it", name);
  }
  view_->schemas.erase(name);
  return Status::Ok();
}

Result<std::shared_ptr<const Table>> Transaction::CreateTable(const TableDefinition& definition) {
  const TableName& name = definition.name;
  const SchemaVersion* schema_version = FindSchema(name.schema);
  if (schema_version == nullptr) return NotFound("there is no schema '{}'", name.schema);
  if (schema_version->tables.contains(name.table)) return AlreadyExists("table '{}' exists already", name.ToString());
  if (schema_version->views.contains(name.table)) {
    return AlreadyExists("'{}' exists already, as a view", name.ToString());
  }
  if (!IsName(name.table)) return InvalidArgument("a table needs a name, in UTF-8");
  Schema schema = definition.schema;
  RETURN_IF_ERROR(CheckColumns(name, schema));
  for (size_t i = 0; i < schema.size(); ++i) schema.fields[i].field_id = static_cast<int32_t>(i + 1);
  schema.next_field_id = static_cast<int32_t>(schema.size() + 1);
  ASSIGN_OR_RETURN(auto key, ResolveKey(definition, &schema));
  TableOptions options(schema);
  RETURN_IF_ERROR(options.Apply(schema, definition.options));
  const TableId id = database_.context_.next_table_id.fetch_add(1);
  auto tablets = MakeTablets(id, key.empty() ? 1 : options.tablets());
  auto table = std::make_shared<const Table>(id, name, std::move(schema), std::move(key), std::move(options),
                                             std::move(tablets));
  PutTable(table);
  return std::shared_ptr<const Table>(table);
}

// The table, if its columns may be changed.
Result<std::shared_ptr<const Table>> Transaction::TableToAlter(const TableName& name) const {
  ASSIGN_OR_RETURN(auto table, GetTable(name));
  if (staged_.contains(table->id())) {
    return Unsupported("table '{}': its columns cannot change in a transaction that has written to it",
                       name.ToString());
  }
  return table;
}

Status Transaction::PutColumns(const Table& table, Schema schema, const TableOptions& options) {
  RETURN_IF_ERROR(CheckColumns(table.name(), schema));
  std::vector<size_t> key;
  for (const size_t column : table.key()) {
    for (size_t i = 0; i < schema.size(); ++i) {
      if (schema[i].field_id == table.schema()[column].field_id) key.push_back(i);
    }
  }
  TableOptions changed(schema);
  RETURN_IF_ERROR(changed.Apply(schema, {options.given().begin(), options.given().end()}));
  PutTable(std::make_shared<const Table>(table.id(), table.name(), std::move(schema), std::move(key),
                                         std::move(changed), table.tablets()));
  return Status::Ok();
}

Status Transaction::AddColumn(const TableName& name, const Field& field) {
  ASSIGN_OR_RETURN(const auto table, TableToAlter(name));
  if (table->schema().Find(field.name)) {
    return AlreadyExists("table '{}' has a column '{}' already", name.ToString(), field.name);
  }
  if (!field.nullable && field.initial_default.is_null()) {
    return InvalidArgument("table '{}': column '{}' must not be null, so it needs a default", name.ToString(),
                           field.name);
  }
  Schema schema = table->schema();
  schema.fields.push_back(field);
  schema.fields.back().field_id = schema.next_field_id++;
  RETURN_IF_ERROR(CheckColumns(name, schema));
  if (!field.initial_default.is_null()) {
    alignas(16) uint8_t slot[16] = {};
    field.initial_default.ToSlot(field.type, slot);
    const Status fits = CheckValues(field, {.values = slot, .size = 1});
    if (!fits.ok()) return fits.WithContext(fmt::format("table '{}': the default", name.ToString()));
  }
  return PutColumns(*table, std::move(schema), table->options());
}

Status Transaction::DropColumn(const TableName& name, const std::string& column) {
  ASSIGN_OR_RETURN(const auto table, TableToAlter(name));
  ASSIGN_OR_RETURN(const size_t position, FindColumn(*table, column));
  if (IsKeyColumn(*table, position)) {
    return Unsupported("table '{}': column '{}' is part of the key and cannot be dropped", name.ToString(), column);
  }
  if (table->schema().size() == 1) return InvalidArgument("table '{}' would have no columns", name.ToString());
  Schema schema = table->schema();
  schema.fields.erase(schema.fields.begin() + static_cast<ptrdiff_t>(position));
  TableOptions options = table->options();
  options.RenameColumn(column, std::nullopt);
  return PutColumns(*table, std::move(schema), options);
}

Status Transaction::RenameColumn(const TableName& name, const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const auto table, TableToAlter(name));
  ASSIGN_OR_RETURN(const size_t position, FindColumn(*table, from));
  const auto taken = table->schema().Find(to);
  if (taken && *taken != position) {
    return AlreadyExists("table '{}' has a column '{}' already", name.ToString(), to);
  }
  Schema schema = table->schema();
  schema.fields[position].name = to;
  RETURN_IF_ERROR(CheckColumns(name, schema));
  TableOptions options = table->options();
  options.RenameColumn(from, to);
  return PutColumns(*table, std::move(schema), options);
}

Status Transaction::WidenColumn(const TableName& name, const std::string& column, const Type& type) {
  ASSIGN_OR_RETURN(const auto table, TableToAlter(name));
  ASSIGN_OR_RETURN(const size_t position, FindColumn(*table, column));
  Field field = table->schema()[position];
  if (IsKeyColumn(*table, position)) {
    return Unsupported("table '{}': column '{}' is part of the key, whose type cannot change", name.ToString(), column);
  }
  if (!CanWiden(field.type, type)) {
    return Unsupported("table '{}': column '{}' of type {} cannot become {}: a type can only be widened",
                       name.ToString(), column, field.type.ToString(), type.ToString());
  }
  field.initial_default = WidenValue(field.type, type, field.initial_default);
  field.type = type;
  Schema schema = table->schema();
  schema.fields[position] = field;
  return PutColumns(*table, std::move(schema), table->options());
}

std::vector<std::shared_ptr<Tablet>> Transaction::MakeTablets(TableId table, size_t count) {
  std::vector<std::shared_ptr<Tablet>> tablets;
  for (uint32_t i = 0; i < count; ++i) {
    auto state = std::make_shared<TabletState>(std::vector<std::shared_ptr<Rowset>>(),
                                               std::vector<std::shared_ptr<MemRowset>>());
    tablets.push_back(std::make_shared<Tablet>(database_.context_, table, i, std::move(state)));
  }
  return tablets;
}

Status Transaction::DropTable(const TableName& name) {
  ASSIGN_OR_RETURN(const auto table, GetTable(name));
  staged_.erase(table->id());
  view_->schemas[table->name().schema].tables.erase(name.table);
  return Status::Ok();
}

Status Transaction::RenameTable(const TableName& from, const std::string& to) {
  ASSIGN_OR_RETURN(const auto table, GetTable(from));
  if (!IsName(to)) return InvalidArgument("a table needs a name, in UTF-8");
  SchemaVersion& schema = *FindSchema(from.schema);
  if (schema.tables.contains(to) || schema.views.contains(to)) return AlreadyExists("'{}' exists already", to);
  schema.tables.erase(from.table);
  PutTable(std::make_shared<const Table>(table->id(), TableName{table->name().schema, to}, table->schema(),
                                         table->key(), table->options(), table->tablets()));
  return Status::Ok();
}

Status Transaction::SetOptions(const TableName& name, const OptionList& options) {
  ASSIGN_OR_RETURN(const auto table, GetTable(name));
  TableOptions changed = table->options();
  RETURN_IF_ERROR(changed.Apply(table->schema(), options));
  if (changed.tablets() != table->options().tablets()) {
    return Unsupported("table '{}': the number of tablets cannot change once it is made", name.ToString());
  }
  PutTable(std::make_shared<const Table>(table->id(), table->name(), table->schema(), table->key(), changed,
                                         table->tablets()));
  return Status::Ok();
}

// Another table of the same definition in its place: who reads the old one goes on doing so.
Status Transaction::Truncate(const TableName& name) {
  ASSIGN_OR_RETURN(const auto table, GetTable(name));
  RETURN_IF_ERROR(DropTable(name));
  const TableId id = database_.context_.next_table_id.fetch_add(1);
  PutTable(std::make_shared<const Table>(id, table->name(), table->schema(), table->key(), table->options(),
                                         MakeTablets(id, table->tablets().size())));
  return Status::Ok();
}

Result<std::shared_ptr<const TableView>> Transaction::View(const std::shared_ptr<const Table>& table) const {
  const auto staged = staged_.find(table->id());
  if (staged == staged_.end()) return base_->View(table);
  return staged->second->View();
}

StagedTable& Transaction::Staged(const std::shared_ptr<const Table>& table) {
  auto& staged = staged_[table->id()];
  if (staged == nullptr) staged = std::make_unique<StagedTable>(table, base_->commit());
  return *staged;
}

Result<WriteCounts> Transaction::DeleteRows(const TableName& name, const TableView& view,
                                            std::span<const RowPosition> positions) {
  RETURN_IF_ERROR(database_.CheckWritable());
  ASSIGN_OR_RETURN(const auto table, GetTable(name));
  if (table->is_keyed()) return InvalidArgument("table '{}' has a key: its rows go by it", name.ToString());
  return Staged(table).DeleteRows(view, positions);
}

Result<WriteCounts> Transaction::UpdateRows(const TableName& name, const TableView& view,
                                            std::span<const RowPosition> positions, const WriteBatch& batch) {
  RETURN_IF_ERROR(database_.CheckWritable());
  ASSIGN_OR_RETURN(const auto table, GetTable(name));
  if (table->is_keyed()) return InvalidArgument("table '{}' has a key: its rows go by it", name.ToString());
  return Staged(table).UpdateRows(view, positions, batch);
}

Result<WriteCounts> Transaction::Write(const TableName& name, const WriteBatch& batch,
                                       std::vector<RowOutcome>* outcomes) {
  RETURN_IF_ERROR(database_.CheckWritable());
  ASSIGN_OR_RETURN(const auto table, GetTable(name));
  return Staged(table).Write(batch, outcomes);
}

Status Transaction::CreateView(const store::View& view, bool replace) {
  SchemaVersion* schema = FindSchema(view.name.schema);
  if (schema == nullptr) return NotFound("there is no schema '{}'", view.name.schema);
  if (schema->tables.contains(view.name.table)) {
    return AlreadyExists("'{}' exists already, as a table", view.name.ToString());
  }
  if (!replace && schema->views.contains(view.name.table)) {
    return AlreadyExists("view '{}' exists already", view.name.ToString());
  }
  schema->views[view.name.table] = view;
  return Status::Ok();
}

Status Transaction::DropView(const TableName& name) {
  SchemaVersion* schema = FindSchema(name.schema);
  if (schema == nullptr || schema->views.erase(name.table) == 0) {
    return NotFound("there is no view '{}'", name.ToString());
  }
  return Status::Ok();
}

Status Transaction::Commit() {
  CHECK(!over_);
  const Status committed = database_.Commit(*this);
  if (!committed.ok()) {
    Rollback();
    return committed;
  }
  End();
  return Status::Ok();
}

void Transaction::Rollback() {
  if (over_) return;
  for (const auto& rowset : written_) rowset->MarkObsolete();
  End();
}

void Transaction::End() {
  over_ = true;
  written_.clear();
  staged_.clear();
  base_ = nullptr;
  view_ = nullptr;
}

}  // namespace petalite::store
