#include "sql/table_definition.h"

#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/parser/constraints/not_null_constraint.hpp"
#include "duckdb/parser/constraints/unique_constraint.hpp"
#include "duckdb/parser/expression/cast_expression.hpp"
#include "duckdb/parser/expression/columnref_expression.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"

#include "sql/errors.h"
#include "sql/types.h"

namespace petalite::sql {
namespace {

using duckdb::ConstraintType;

bool IsNullConstant(const duckdb::ParsedExpression& expression) {
  return expression.GetExpressionClass() == duckdb::ExpressionClass::CONSTANT &&
         expression.Cast<duckdb::ConstantExpression>().value.IsNull();
}

Schema ToSchema(const duckdb::CreateTableInfo& info) {
  Schema schema;
  for (const auto& column : info.columns.Logical()) {
    if (column.Generated()) {
      Throw(Unsupported("column '{}': generated columns are not supported", column.Name()));
    }
    if (column.HasDefaultValue() && !IsNullConstant(column.DefaultValue())) {
      Throw(Unsupported("column '{}': DEFAULT is not supported", column.Name()));
    }
    schema.fields.push_back({.name = column.Name(), .type = Must(FromDuck(column.Type(), column.Name()))});
  }
  return schema;
}

std::vector<std::string> KeyColumns(const duckdb::CreateTableInfo& info, const duckdb::UniqueConstraint& constraint) {
  if (constraint.HasIndex()) return {info.columns.GetColumn(constraint.GetIndex()).Name()};
  const auto& names = constraint.GetColumnNames();
  return {names.begin(), names.end()};
}

// TRUE or FALSE, which the parser has as casts of 't' and 'f'; null if it is neither.
const char* BooleanText(const duckdb::ParsedExpression& expression) {
  if (expression.GetExpressionClass() != duckdb::ExpressionClass::CAST) return nullptr;
  const auto& cast = expression.Cast<duckdb::CastExpression>();
  if (cast.cast_type.ToString() != "BOOLEAN" || cast.child->GetExpressionClass() != duckdb::ExpressionClass::CONSTANT) {
    return nullptr;
  }
  const std::string text = cast.child->Cast<duckdb::ConstantExpression>().value.ToString();
  return text == "t" ? "true" : text == "f" ? "false" : nullptr;
}

}  // namespace

OptionList ToOptions(const duckdb::case_insensitive_map_t<duckdb::unique_ptr<duckdb::ParsedExpression>>& options) {
  OptionList list;
  for (const auto& [name, expression] : options) {
    if (expression->GetExpressionClass() == duckdb::ExpressionClass::CONSTANT) {
      list.emplace_back(name, expression->Cast<duckdb::ConstantExpression>().value.ToString());
    } else if (expression->GetExpressionClass() == duckdb::ExpressionClass::COLUMN_REF) {
      list.emplace_back(name, expression->Cast<duckdb::ColumnRefExpression>().GetColumnName());  // codec = zstd
    } else if (const char* text = BooleanText(*expression)) {
      list.emplace_back(name, text);
    } else {
      Throw(InvalidArgument("option '{}': the value must be a constant", name));
    }
  }
  return list;
}

TableDefinition ToDefinition(const duckdb::CreateTableInfo& info) {
  TableDefinition definition;
  definition.name = {info.schema, info.table};
  definition.schema = ToSchema(info);
  for (const auto& constraint : info.constraints) {
    if (constraint->type == ConstraintType::NOT_NULL) {
      const auto index = constraint->Cast<duckdb::NotNullConstraint>().index;
      definition.schema.fields[index.index].nullable = false;
      continue;
    }
    if (constraint->type != ConstraintType::UNIQUE || !constraint->Cast<duckdb::UniqueConstraint>().IsPrimaryKey()) {
      Throw(Unsupported("table '{}': constraint {} is not supported; a table may have NOT NULL and PRIMARY KEY",
                        info.table, constraint->ToString()));
    }
    definition.key = KeyColumns(info, constraint->Cast<duckdb::UniqueConstraint>());
  }
  if (!info.partition_keys.empty() || !info.sort_keys.empty()) {
    Throw(Unsupported("table '{}': PARTITIONED BY and SORTED BY are not supported", info.table));
  }
  definition.options = ToOptions(info.options);
  return definition;
}

duckdb::unique_ptr<duckdb::CreateTableInfo> ToCreateInfo(duckdb::SchemaCatalogEntry& schema,
                                                         const store::Table& table) {
  auto info = duckdb::make_uniq<duckdb::CreateTableInfo>(schema, table.name().table);
  for (size_t i = 0; i < table.schema().size(); ++i) {
    const Field& field = table.schema()[i];
    info->columns.AddColumn(duckdb::ColumnDefinition(field.name, ToDuck(field.type)));
    if (!field.nullable) {
      info->constraints.push_back(duckdb::make_uniq<duckdb::NotNullConstraint>(duckdb::LogicalIndex(i)));
    }
  }
  if (table.is_keyed()) {
    duckdb::vector<duckdb::string> names;
    for (const size_t column : table.key()) names.push_back(table.schema()[column].name);
    info->constraints.push_back(duckdb::make_uniq<duckdb::UniqueConstraint>(std::move(names), true));
  }
  for (const auto& [name, value] : table.options().given()) {
    info->options[name] = duckdb::make_uniq<duckdb::ConstantExpression>(duckdb::Value(value));
  }
  return info;
}

}  // namespace petalite::sql
