// Cuts text that arrives piece by piece into SQL statements.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace petalite::cli {

class StatementSplitter {
 public:
  void Add(std::string_view text) { text_ += text; }

  // The next statement that has its semicolon, semicolon included. Semicolons in strings, quoted names, dollar-quoted
  // strings and comments do not count.
  std::optional<std::string> Next();

  // Whether nothing but space and comments is left: a new statement would begin here.
  bool empty() const;
  // What is left, however unfinished; nothing is left then.
  std::string Take();

 private:
  std::string text_;
};

}  // namespace petalite::cli
