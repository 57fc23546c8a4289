// Lines typed at a terminal, with editing, history and completion (libedit).

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace petalite::cli {

class LineEditor {
 public:
  enum class Outcome { kLine, kCleared, kEnd };  // kCleared: Ctrl-C; kEnd: Ctrl-D on an empty line

  // What `word` can become, when `before` stands to the left of it: whole words.
  using Complete = std::function<std::vector<std::string>(const std::string& before, const std::string& word)>;

  // `history`: a file, read now and written after every line; empty, or not writable: history ends with the process.
  LineEditor(std::string history, Complete complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // One line, without its end.
  Outcome Read(const std::string& prompt, std::string* line);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// $XDG_STATE_HOME/petalite/history, or below ~/.local/state; its folder is made. Empty if that cannot be.
std::string HistoryPath();

}  // namespace petalite::cli
