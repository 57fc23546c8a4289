// Finds what the writer of a mistyped name probably meant, for error messages.

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace petalite {

// The name with the least edit distance (Levenshtein, ASCII case ignored) from `wanted`, the first
// of several; empty if there are no names. Meant for short names: the cost is the product of the
// lengths.
std::string NearestName(std::string_view wanted, std::span<const std::string_view> names);

}  // namespace petalite
