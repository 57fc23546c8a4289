#include <algorithm>

#include "base/nearest.h"
#include "store/catalog.h"
#include "store/database.h"

namespace petalite::store {
namespace {

Status NoSuchTable(const Version& version, const TableName& name) {
  std::vector<std::string_view> names;
  if (const SchemaVersion* schema = version.FindSchema(name.schema)) {
    for (const auto& [table, _] : schema->tables) names.push_back(table);
  }
  if (names.empty()) return NotFound("there is no table '{}'", name.ToString());
  return NotFound("there is no table '{}'; the nearest is '{}'", name.ToString(), NearestName(name.table, names));
}

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

Status CheckColumns(const TableName& name, const Schema& schema) {
  if (schema.fields.empty()) return InvalidArgument("table '{}' would have no columns", name.ToString());
  for (size_t i = 0; i < schema.size(); ++i) {
    if (*schema.Find(schema[i].name) != i) {
      return InvalidArgument("table '{}': there are two columns '{}'", name.ToString(), schema[i].name);
    }
  }
  return Status::Ok();
}

using TablesById = std::map<TableId, std::shared_ptr<const Table>>;

TablesById ById(const Version& version) {
  TablesById tables;
  for (const auto& [_, schema] : version.schemas) {
    for (const auto& [_, table] : schema.tables) tables[table->id()] = table;
  }
  return tables;
}

Status Conflict(const Table& table) {
  return Busy("conflict: another transaction changed table '{}' meanwhile; try again", table.name().ToString());
}

// Whether `after` is `before` and more rowsets behind it, nothing else.
bool OnlyAppends(const Table& before, const Table& after) {
  return before.name() == after.name() && before.options().given() == after.options().given() &&
         before.rowsets().size() <= after.rowsets().size() &&
         std::equal(before.rowsets().begin(), before.rowsets().end(), after.rowsets().begin());
}

// What one transaction made of a table, given what others have made of it since.
Result<std::shared_ptr<const Table>> RebaseTable(const Table& base, const Table& mine,
                                                 const std::shared_ptr<const Table>& current) {
  if (current == nullptr || mine.is_keyed() || !OnlyAppends(base, mine) || !OnlyAppends(base, *current)) {
    return Conflict(base);
  }
  auto rowsets = current->rowsets();
  rowsets.insert(rowsets.end(), mine.rowsets().begin() + static_cast<ptrdiff_t>(base.rowsets().size()),
                 mine.rowsets().end());
  return std::shared_ptr<const Table>(std::make_shared<Table>(current->id(), current->name(), current->schema(),
                                                              current->key(), current->options(), std::move(rowsets)));
}

// Carries the difference between `base` and `mine` over to `current`.
class Rebase {
 public:
  Rebase(const Version& base, const Version& mine, const Version& current)
      : base_(base), mine_(mine), result_(std::make_shared<Version>(current)) {}

  Result<std::shared_ptr<Version>> Run() {
    RETURN_IF_ERROR(Schemas());
    RETURN_IF_ERROR(Tables());
    RETURN_IF_ERROR(Views());
    return result_;
  }

 private:
  Status Schemas() {
    for (const auto& [name, schema] : mine_.schemas) {
      if (!base_.schemas.contains(name)) result_->schemas[name].name = schema.name;
    }
    for (const auto& [name, _] : base_.schemas) {
      if (mine_.schemas.contains(name)) continue;
      const auto found = result_->schemas.find(name);
      if (found == result_->schemas.end()) continue;
      if (found->second.tables.size() != base_.schemas.at(name).tables.size()) {
        return Busy("conflict: another transaction changed schema '{}' meanwhile; try again", name);
      }
      result_->schemas.erase(found);
    }
    return Status::Ok();
  }

  Status Tables() {
    const TablesById base = ById(base_);
    const TablesById mine = ById(mine_);
    const TablesById current = ById(*result_);
    for (const auto& [id, table] : base) {  // dropped or changed
      const auto now = mine.find(id);
      if (now != mine.end() && now->second == table) continue;
      const auto theirs = current.find(id);
      const bool untouched = theirs != current.end() && theirs->second == table;
      if (now == mine.end()) {
        if (theirs == current.end()) continue;
        if (!untouched) return Conflict(*table);
        result_->schemas[table->name().schema].tables.erase(table->name().table);
        continue;
      }
      std::shared_ptr<const Table> next = now->second;
      if (!untouched) {
        ASSIGN_OR_RETURN(next, RebaseTable(*table, *now->second, theirs == current.end() ? nullptr : theirs->second));
      }
      result_->schemas[table->name().schema].tables.erase(table->name().table);
      RETURN_IF_ERROR(Put(next));
    }
    for (const auto& [id, table] : mine) {
      if (!base.contains(id)) RETURN_IF_ERROR(Put(table));
    }
    return Status::Ok();
  }

  Status Put(const std::shared_ptr<const Table>& table) {
    const auto schema = result_->schemas.find(table->name().schema);
    if (schema == result_->schemas.end() || schema->second.tables.contains(table->name().table) ||
        schema->second.views.contains(table->name().table)) {
      return Conflict(*table);
    }
    schema->second.tables[table->name().table] = table;
    return Status::Ok();
  }

  Status Views() {
    for (const auto& [name, schema] : base_.schemas) {
      const SchemaVersion* mine = mine_.FindSchema(name);
      if (mine == nullptr) continue;
      for (const auto& [view, _] : schema.views) {
        if (!mine->views.contains(view)) result_->schemas[name].views.erase(view);
      }
    }
    for (const auto& [name, schema] : mine_.schemas) {
      const SchemaVersion* base = base_.FindSchema(name);
      for (const auto& [view_name, view] : schema.views) {
        if (base != nullptr && base->views.contains(view_name) && base->views.at(view_name).sql == view.sql) continue;
        result_->schemas[name].views[view_name] = view;
      }
    }
    return Status::Ok();
  }

  const Version& base_;
  const Version& mine_;
  std::shared_ptr<Version> result_;
};

}  // namespace

std::unique_ptr<Transaction> Database::Begin(std::shared_ptr<const Version> base) {
  if (base == nullptr) base = Current();
  return std::unique_ptr<Transaction>(new Transaction(*this, std::move(base)));
}

Transaction::Transaction(Database& database, std::shared_ptr<const Version> base)
    : database_(database), base_(std::move(base)), view_(std::make_shared<Version>(*base_)) {}

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
  Schema schema = definition.schema;
  RETURN_IF_ERROR(CheckColumns(name, schema));
  for (size_t i = 0; i < schema.size(); ++i) schema.fields[i].field_id = static_cast<int32_t>(i + 1);
  ASSIGN_OR_RETURN(auto key, ResolveKey(definition, &schema));
  TableOptions options(schema);
  RETURN_IF_ERROR(options.Apply(schema, definition.options));
  auto table =
      std::make_shared<const Table>(database_.next_table_id_.fetch_add(1), name, std::move(schema), std::move(key),
                                    std::move(options), std::vector<std::shared_ptr<Rowset>>());
  PutTable(table);
  return std::shared_ptr<const Table>(table);
}

Status Transaction::DropTable(const TableName& name) {
  ASSIGN_OR_RETURN(const auto table, GetTable(name));
  view_->schemas[table->name().schema].tables.erase(name.table);
  return Status::Ok();
}

Status Transaction::RenameTable(const TableName& from, const std::string& to) {
  ASSIGN_OR_RETURN(const auto table, GetTable(from));
  SchemaVersion& schema = *FindSchema(from.schema);
  if (schema.tables.contains(to) || schema.views.contains(to)) return AlreadyExists("'{}' exists already", to);
  schema.tables.erase(from.table);
  PutTable(std::make_shared<const Table>(table->id(), TableName{table->name().schema, to}, table->schema(),
                                         table->key(), table->options(), table->rowsets()));
  return Status::Ok();
}

Status Transaction::SetOptions(const TableName& name, const OptionList& options) {
  ASSIGN_OR_RETURN(const auto table, GetTable(name));
  TableOptions changed = table->options();
  RETURN_IF_ERROR(changed.Apply(table->schema(), options));
  PutTable(std::make_shared<const Table>(table->id(), table->name(), table->schema(), table->key(), changed,
                                         table->rowsets()));
  return Status::Ok();
}

Status Transaction::Truncate(const TableName& name) {
  ASSIGN_OR_RETURN(const auto table, GetTable(name));
  PutTable(std::make_shared<const Table>(table->id(), table->name(), table->schema(), table->key(), table->options(),
                                         std::vector<std::shared_ptr<Rowset>>()));
  return Status::Ok();
}

Status Transaction::CreateView(const View& view, bool replace) {
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
  const Status published = database_.Publish(*this);
  if (!published.ok()) {
    Rollback();
    return published;
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
  base_ = nullptr;
  view_ = nullptr;
}

Status Database::Publish(Transaction& transaction) {
  const std::lock_guard commit_lock(commit_mutex_);
  const std::shared_ptr<const Version> current = Current();
  std::shared_ptr<Version> next = transaction.view_;
  if (current != transaction.base_) {
    ASSIGN_OR_RETURN(next, Rebase(*transaction.base_, *transaction.view_, *current).Run());
  }
  next->commit = current->commit + 1;
  const bool was_settled = catalog_->settled();
  const Status applied = catalog_->Apply(*current, *next, {next_table_id_, next_rowset_id_});
  if (!applied.ok()) {
    // The catalog may name the files after all: the next open decides.
    if (was_settled && !catalog_->settled()) transaction.written_.clear();
    return applied;
  }
  // Rowsets that the new version does not name go when the last reader of an older one is done.
  std::set<const Rowset*> named;
  for (const auto& [_, table] : ById(*next)) {
    for (const auto& rowset : table->rowsets()) named.insert(rowset.get());
  }
  const auto drop_unnamed = [&](const std::vector<std::shared_ptr<Rowset>>& rowsets) {
    for (const auto& rowset : rowsets) {
      if (!named.contains(rowset.get())) rowset->MarkObsolete();
    }
  };
  for (const auto& [_, table] : ById(*current)) drop_unnamed(table->rowsets());
  drop_unnamed(transaction.written_);
  // The old version goes after the lock is released: with it may go files.
  std::shared_ptr<const Version> published = std::move(next);
  const std::lock_guard version_lock(version_mutex_);
  current_.swap(published);
  return Status::Ok();
}

}  // namespace petalite::store
