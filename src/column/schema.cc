#include "petalite/schema.h"

#include <algorithm>

namespace petalite {

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::optional<size_t> Schema::Find(std::string_view name) const {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (SameName(fields[i].name, name)) return i;
  }
  return std::nullopt;
}

}  // namespace petalite
