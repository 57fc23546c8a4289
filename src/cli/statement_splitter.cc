#include "cli/statement_splitter.h"

#include <cctype>
#include <utility>

namespace petalite::cli {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

// The position behind `end`, looked for from `from`; the text's end if it is not there yet.
size_t Behind(std::string_view text, std::string_view end, size_t from) {
  const size_t found = text.find(end, from);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

// The "$tag$" that begins at `at`, or nothing: "$1" is a parameter.
std::string_view DollarTag(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
  const bool digit = end > at + 1 && std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0;
  if (digit || end == text.size() || text[end] != '$') return {};
  return text.substr(at, end + 1 - at);
}

bool IsComment(std::string_view text, size_t at) {
  const std::string_view two = text.substr(at, 2);
  return two == "--" || two == "/*";
}

// The position behind the token at `at`: a quoted thing or a comment as a whole, otherwise one character.
size_t BehindToken(std::string_view text, size_t at) {
  const char c = text[at];
  // A doubled quote reads as one string behind another: the same extent.
  if (c == '\'' || c == '"') return Behind(text, text.substr(at, 1), at + 1);
  if (IsComment(text, at)) return Behind(text, c == '-' ? "\n" : "*/", at + 2);
  if (c == '$') {
    const std::string_view tag = DollarTag(text, at);
    if (!tag.empty()) return Behind(text, tag, at + tag.size());
  }
  return at + 1;
}

}  // namespace

std::optional<std::string> StatementSplitter::Next() {
  for (size_t at = 0; at < text_.size();) {
    const size_t next = BehindToken(text_, at);
    if (text_[at] == ';') {
      std::string statement = text_.substr(0, next);
      text_.erase(0, next);
      return statement;
    }
    at = next;
  }
  return std::nullopt;
}

bool StatementSplitter::empty() const {
  for (size_t at = 0; at < text_.size();) {
    const bool nothing = kSpace.find(text_[at]) != std::string_view::npos || IsComment(text_, at);
    if (!nothing) return false;
    const bool open = text_.compare(at, 2, "/*") == 0 && text_.find("*/", at + 2) == std::string::npos;
    if (open) return false;
    at = BehindToken(text_, at);
  }
  return true;
}

std::string StatementSplitter::Take() { return std::exchange(text_, {}); }

}  // namespace petalite::cli
