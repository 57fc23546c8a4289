#include "cli/pager.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace petalite::cli {

std::string FindPager() {
  if (const char* pager = std::getenv("PAGER")) return pager;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((std::filesystem::path(folder) / "less").c_str(), X_OK) == 0) return "less -FRSX";
  }
  return {};
}

Pager::Pager(std::string command) : command_(std::move(command)) {
  if (!command_.empty()) RedirectOutput(this);
}

Pager::~Pager() {
  if (!command_.empty()) RedirectOutput(nullptr);
  if (input_ >= 0) close(input_);
  if (process_ < 0) return;
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Pager::Start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("the pager: no pipe can be made");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  // This process blocks SIGINT and ignores SIGPIPE; its child must not inherit that.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh";
  std::string option = "-c";
  std::string command = command_;
  char* arguments[] = {shell.data(), option.data(), command.data(), nullptr};
  const int error = posix_spawn(&process_, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[0]);
  input_ = ends[1];
  if (error != 0) {
    process_ = -1;
    throw std::runtime_error("the pager '" + command_ + "' cannot be started");
  }
}

void Pager::Write(std::string_view text) {
  if (input_ < 0) Start();
  while (!text.empty()) {
    const ssize_t count = write(input_, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw PagerClosed();
    text.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace petalite::cli
