// The columns of a table or a file.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "petalite/type.h"
#include "petalite/value.h"

namespace petalite {

struct Field {
  std::string name;
  Type type;
  bool nullable = true;
  int32_t field_id = 0;   // never reused within a table; 0: none
  Value initial_default;  // what rows have that were written before the column was added

  bool operator==(const Field&) const = default;
};

struct Schema {
  std::vector<Field> fields;
  int32_t next_field_id = 0;  // of a table's schema: the next column that is added has it; 0: not a table's

  size_t size() const { return fields.size(); }
  const Field& operator[](size_t i) const { return fields[i]; }
  // The position of a column: names compare without regard to ASCII case, as SQL has them.
  std::optional<size_t> Find(std::string_view name) const;
  bool operator==(const Schema&) const = default;
};

// Whether two names are the same without regard to ASCII case.
bool SameName(std::string_view a, std::string_view b);

}  // namespace petalite
