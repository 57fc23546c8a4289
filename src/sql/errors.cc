#include "sql/errors.h"

#include "duckdb/common/exception.hpp"
#include "duckdb/common/exception/catalog_exception.hpp"
#include "duckdb/common/exception/transaction_exception.hpp"

namespace petalite::sql {

void Throw(const Status& status) {
  // The message is an argument and not the format: it may hold a percent sign.
  switch (status.code()) {
    case StatusCode::kNotFound:
      throw duckdb::CatalogException("%s", status.message());
    case StatusCode::kAlreadyExists:
      throw duckdb::ConstraintException("%s", status.message());
    case StatusCode::kInvalidArgument:
      throw duckdb::InvalidInputException("%s", status.message());
    case StatusCode::kUnsupported:
      throw duckdb::NotImplementedException("%s", status.message());
    case StatusCode::kBusy:
      throw duckdb::TransactionException("%s", status.message());
    case StatusCode::kReadOnly:
      throw duckdb::PermissionException("%s", status.message());
    case StatusCode::kInterrupted:
      throw duckdb::InterruptException();
    default:
      throw duckdb::IOException("%s", status.message());
  }
}

}  // namespace petalite::sql
