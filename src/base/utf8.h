// UTF-8 as Unicode defines it (table 3-7 of the standard): no surrogates, no overlong forms,
// nothing above U+10FFFF.

#pragma once

#include <cstddef>
#include <string_view>

namespace petalite {

// The length of the longest prefix of whole, valid code points: text.size() if and only if all of
// it is valid; otherwise the position of the first byte that is not.
size_t Utf8ValidPrefix(std::string_view text);

inline bool IsValidUtf8(std::string_view text) { return Utf8ValidPrefix(text) == text.size(); }

}  // namespace petalite
