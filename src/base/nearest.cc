#include "base/nearest.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace petalite {
namespace {

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

size_t EditDistance(std::string_view a, std::string_view b) {
  // One row of the table of distances between prefixes: row[j] belongs to b's first j characters.
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); j++) {
      const size_t replace = diagonal + (ToLower(a[i]) != ToLower(b[j]));
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestName(std::string_view wanted, std::span<const std::string_view> names) {
  std::string_view nearest;
  size_t least = std::numeric_limits<size_t>::max();
  for (std::string_view name : names) {
    const size_t distance = EditDistance(wanted, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return std::string(nearest);
}

}  // namespace petalite
