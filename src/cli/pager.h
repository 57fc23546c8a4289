// A program that shows results a screen at a time. It is started by the first write, so that a statement without a
// result, or one that still runs, leaves the terminal alone.

#pragma once

#include <exception>
#include <string>

#include <sys/types.h>

#include "cli/output.h"

namespace petalite::cli {

// The reader has seen enough: not an error, but the statement need not go on.
class PagerClosed : public std::exception {
 public:
  const char* what() const noexcept override { return "the pager was closed"; }
};

// $PAGER, else less if it is installed, else nothing.
std::string FindPager();

class Pager : public OutputSink {
 public:
  // `command` is run by the shell (sh); empty: none, and output goes where it always goes.
  explicit Pager(std::string command);
  // Waits until the reader is done.
  ~Pager() override;

  void Write(std::string_view text) override;

 private:
  void Start();

  const std::string command_;
  pid_t process_ = -1;
  int input_ = -1;
};

}  // namespace petalite::cli
