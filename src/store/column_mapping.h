// Where the columns of a table are in what was written under an older schema of it: by field id, since names and
// positions change. A column that was added later has its default there; one whose type was widened is converted.

#pragma once

#include <memory>
#include <vector>

#include "petalite/column_view.h"
#include "petalite/schema.h"

namespace petalite::store {

struct ColumnSource {
  static constexpr size_t kAbsent = SIZE_MAX;
  size_t position = kAbsent;  // in the source
  Type type;                  // there
  bool converted = false;     // its type differs

  bool absent() const { return position == kAbsent; }
  // The source's values, statistics and filters are the table's.
  bool same() const { return !absent() && !converted; }
};

// The position of a table's column in a source; ColumnSource::kAbsent if it was added later.
size_t PositionOf(const Schema& source, const Field& field);

class ColumnMapping {
 public:
  ColumnMapping(const Schema& table, const Schema& source);

  // Of a column of the table.
  const ColumnSource& operator[](size_t column) const { return sources_[column]; }
  bool identity() const { return identity_; }

 private:
  std::vector<ColumnSource> sources_;
  bool identity_ = true;
};

// Whether every value of `from` is one of `to`, which can be read as such: integers into wider ones of the same or
// wider signedness, float into double, decimals into those with more digits in front and the same scale.
bool CanWiden(const Type& from, const Type& to);

// Converts `count` values in place of `from`'s layout into `to`'s. CanWiden(from, to).
void WidenValues(const Type& from, const Type& to, const void* values, size_t count, void* out);
Value WidenValue(const Type& from, const Type& to, const Value& value);

// `count` times a field's default in its layout; strings point into the field.
void FillDefault(const Field& field, size_t count, void* out);

}  // namespace petalite::store
