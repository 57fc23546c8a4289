#include "cli/table_name.h"

namespace petalite::cli {

TableName ParseTableName(std::string_view text) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      parts.back().push_back('"');
      ++i;
    } else if (c == '"' && (quoted || parts.back().empty())) {
      quoted = !quoted;
    } else if (c == '.' && !quoted && parts.size() == 1) {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  if (parts.size() == 1) return {"main", parts[0]};
  return {parts[0], parts[1]};
}

}  // namespace petalite::cli
