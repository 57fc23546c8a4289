#include "cli/line_editor.h"

#include <cctype>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <histedit.h>
#include <signal.h>
#include <unistd.h>

namespace petalite::cli {
namespace {

constexpr int kHistoryLines = 2000;

bool IsWordByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

std::string CommonPrefix(const std::vector<std::string>& words) {
  std::string prefix = words.front();
  for (const std::string& word : words) {
    size_t length = 0;
    while (length < prefix.size() && length < word.size() && prefix[length] == word[length]) ++length;
    prefix.resize(length);
  }
  // Never half a character.
  while (prefix.size() < words.front().size() && !prefix.empty() && (words.front()[prefix.size()] & 0xc0) == 0x80) {
    prefix.pop_back();
  }
  return prefix;
}

int CharacterCount(const std::string& text) {
  int count = 0;
  for (const char c : text) count += (c & 0xc0) != 0x80;
  return count;
}

}  // namespace

class LineEditor::Impl {
 public:
  Impl(std::string history_path, Complete complete)
      : history_path_(std::move(history_path)), complete_(std::move(complete)) {
    output_ = isatty(STDOUT_FILENO) != 0 ? stdout : stderr;
    std::setlocale(LC_CTYPE, "C.UTF-8");  // libedit reads characters as the locale has them, and "C" has only ASCII
    editor_ = el_init("petalite", stdin, output_, stderr);
    history_ = history_init();
    history(history_, &event_, H_SETSIZE, kHistoryLines);
    history(history_, &event_, H_SETUNIQUE, 1);
    if (!history_path_.empty()) history(history_, &event_, H_LOAD, history_path_.c_str());
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_SIGNAL, 1);
    el_set(editor_, EL_PROMPT, &Impl::Prompt);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, ::history, history_);
    el_set(editor_, EL_ADDFN, "petalite-complete", "Complete the word", &Impl::OnTab);
    el_set(editor_, EL_ADDFN, "petalite-clear", "Drop the statement", &Impl::OnInterrupt);
    el_set(editor_, EL_ADDFN, "petalite-suspend", "Stop the process", &Impl::OnSuspend);
    el_source(editor_, nullptr);
    // While a line is edited Ctrl-C is a key and no signal: signals are another thread's, which does not know the line.
    el_set(editor_, EL_SETTY, "-d", "-isig", nullptr);
    el_set(editor_, EL_BIND, "^C", "petalite-clear", nullptr);
    el_set(editor_, EL_BIND, "^Z", "petalite-suspend", nullptr);
    el_set(editor_, EL_BIND, "^I", "petalite-complete", nullptr);
    el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  }

  ~Impl() {
    history_end(history_);
    el_end(editor_);
  }

  Outcome Read(const std::string& prompt, std::string* line) {
    prompt_ = prompt;
    cleared_ = false;
    // Before the prompt is shown: a key that came between it and libedit's own switch would be the terminal's, not
    // ours.
    el_set(editor_, EL_PREP_TERM, 1);
    int count = 0;
    const char* text = el_gets(editor_, &count);
    if (text == nullptr || count <= 0 || cleared_) {
      std::fputs(cleared_ ? "^C\n" : "\n", output_);
      std::fflush(output_);
      if (cleared_) el_reset(editor_);
      return cleared_ ? Outcome::kCleared : Outcome::kEnd;
    }
    line->assign(text);
    while (!line->empty() && (line->back() == '\n' || line->back() == '\r')) line->pop_back();
    if (!line->empty()) Remember(*line);
    return Outcome::kLine;
  }

 private:
  static Impl& Of(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<Impl*>(data);
  }

  static char* Prompt(EditLine* editor) { return Of(editor).prompt_.data(); }

  static unsigned char OnInterrupt(EditLine* editor, int) {
    Of(editor).cleared_ = true;
    return CC_EOF;
  }

  // libedit's handler of the signal puts the terminal in order.
  static unsigned char OnSuspend(EditLine*, int) {
    raise(SIGTSTP);
    return CC_REDISPLAY;
  }

  static unsigned char OnTab(EditLine* editor, int) { return Of(editor).CompleteWord(); }

  unsigned char CompleteWord() {
    const LineInfo* info = el_line(editor_);
    const std::string left(info->buffer, info->cursor);
    size_t begin = left.size();
    while (begin > 0 && IsWordByte(left[begin - 1])) --begin;
    if (begin == 1 && left[0] == '.') begin = 0;  // a dot command
    const std::string word = left.substr(begin);
    const std::vector<std::string> found = complete_(left.substr(0, begin), word);
    if (found.empty()) return CC_REFRESH_BEEP;
    std::string replacement = found.size() == 1 ? found.front() + " " : CommonPrefix(found);
    if (found.size() > 1 && replacement.size() <= word.size()) {
      List(found);
      return CC_REDISPLAY;
    }
    if (!word.empty()) el_deletestr(editor_, CharacterCount(word));
    return el_insertstr(editor_, replacement.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  void List(const std::vector<std::string>& words) {
    std::fputc('\n', output_);
    for (const std::string& word : words) std::fprintf(output_, "%s  ", word.c_str());
    std::fputc('\n', output_);
    std::fflush(output_);
  }

  void Remember(const std::string& line) {
    history(history_, &event_, H_ENTER, line.c_str());
    if (!history_path_.empty()) history(history_, &event_, H_SAVE, history_path_.c_str());
  }

  const std::string history_path_;
  const Complete complete_;
  std::FILE* output_;
  EditLine* editor_;
  History* history_;
  HistEvent event_{};
  std::string prompt_;
  bool cleared_ = false;
};

LineEditor::LineEditor(std::string history, Complete complete)
    : impl_(std::make_unique<Impl>(std::move(history), std::move(complete))) {}

LineEditor::~LineEditor() = default;

LineEditor::Outcome LineEditor::Read(const std::string& prompt, std::string* line) { return impl_->Read(prompt, line); }

std::string HistoryPath() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state != nullptr && *state != '\0') {
    folder = state;
  } else if (home != nullptr && *home != '\0') {
    folder = std::filesystem::path(home) / ".local/state";
  } else {
    return {};
  }
  folder /= "petalite";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? std::string() : (folder / "history").string();
}

}  // namespace petalite::cli
