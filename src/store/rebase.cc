#include "store/rebase.h"

namespace petalite::store {
namespace {

Status Conflict(const Table& table) {
  return Busy("conflict: another transaction changed table '{}' meanwhile; try again", table.name().ToString());
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
    const auto base = base_.TablesById();
    const auto mine = mine_.TablesById();
    const auto current = result_->TablesById();
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
      if (!untouched) return Conflict(*table);
      result_->schemas[table->name().schema].tables.erase(table->name().table);
      RETURN_IF_ERROR(Put(now->second));
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

Result<std::shared_ptr<Version>> RebaseVersion(const Version& base, const Version& mine, const Version& current) {
  return Rebase(base, mine, current).Run();
}

}  // namespace petalite::store
