#include "cli/engine.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "duckdb/common/error_data.hpp"
#include "duckdb/common/progress_bar/display/terminal_progress_bar_display.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/main/config.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/database.hpp"

#include "sql/database_options.h"
#include "sql/extension.h"

namespace petalite::cli {
namespace {

std::atomic<bool> interrupted{false};
std::mutex running_mutex;
duckdb::ClientContext* running = nullptr;  // what an interrupt ends
// Of a shell only:
bool keep_running = false;
bool in_statement = false;
bool terminated = false;  // by SIGTERM, which takes effect when the statement has ended
std::function<void()> before_exit;

[[noreturn]] void ExitInterrupted() {
  if (before_exit) before_exit();
  _exit(kInterrupted);
}

void HandleSignalInShell(int signal) {
  if (signal == SIGTERM) {
    if (!in_statement || terminated) ExitInterrupted();
    terminated = true;
  }
  if (!in_statement || running == nullptr) return;
  interrupted = true;
  running->Interrupt();
}

void WaitForSignals(sigset_t signals) {
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    const std::lock_guard lock(running_mutex);
    if (keep_running) {
      HandleSignalInShell(signal);
      continue;
    }
    if (interrupted.exchange(true) || running == nullptr) ExitInterrupted();
    running->Interrupt();
  }
}

void SetRunning(duckdb::ClientContext* context) {
  const std::lock_guard lock(running_mutex);
  running = context;
}

// A line on standard error that is rewritten in place, on terminals only; standard output is for results.
class StderrProgress : public duckdb::ProgressBarDisplay {
 public:
  static duckdb::unique_ptr<duckdb::ProgressBarDisplay> Make() { return duckdb::make_uniq<StderrProgress>(); }
  void Update(double percentage) override { std::fprintf(stderr, "\r%3.0f %%", percentage); }
  void Finish() override { std::fputs("\r     \r", stderr); }
};

void EnableProgress(duckdb::ClientContext& context) {
  auto& config = duckdb::ClientConfig::GetConfig(context);
  config.enable_progress_bar = isatty(STDERR_FILENO) != 0;
  config.print_progress_bar = true;
  config.wait_time = 1000;
  config.display_create_func = StderrProgress::Make;
}

}  // namespace

void HandleInterrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(WaitForSignals, signals).detach();
}

bool Interrupted() { return interrupted; }

void KeepRunningWhenInterrupted(std::function<void()> restore) {
  const std::lock_guard lock(running_mutex);
  keep_running = true;
  before_exit = std::move(restore);
}

StatementScope::StatementScope() {
  const std::lock_guard lock(running_mutex);
  in_statement = true;
}

StatementScope::~StatementScope() {
  const std::lock_guard lock(running_mutex);
  in_statement = false;
  if (!keep_running) return;  // a script: its interrupt ends the process
  if (terminated) ExitInterrupted();
  interrupted = false;
}

std::string QuoteName(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string QuoteText(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

Result<store::DatabaseOptions> ToDatabaseOptions(const CommonOptions& common) {
  store::DatabaseOptions options;
  options.read_only = common.read_only;
  options.wait_seconds = common.wait_seconds;
  for (const std::string& setting : common.settings) {
    ASSIGN_OR_RETURN(const auto option, store::SplitOption(setting));
    RETURN_IF_ERROR(sql::SetDatabaseOption(option.first, option.second, &options).WithContext("--set"));
  }
  return options;
}

Engine::Engine() {
  duckdb::DBConfig config;
  sql::ConfigureEmbedded(&config);
  instance_ = std::make_unique<duckdb::DuckDB>(nullptr, &config);
  sql::Register(*instance_->instance);
  connection_ = std::make_unique<duckdb::Connection>(*instance_);
  EnableProgress(*connection_->context);
  SetRunning(connection_->context.get());
}

Engine::Engine(const std::string& path, const CommonOptions& common, bool create) : Engine() {
  const auto options = ToDatabaseOptions(common);
  if (!options.ok()) throw std::runtime_error(options.status().message());
  std::string attach = fmt::format("ATTACH {} AS db (TYPE petalite", QuoteText(path));
  if (options->read_only) attach += ", READ_ONLY";
  if (!create) attach += ", must_exist true";
  if (options->wait_seconds > 0) attach += fmt::format(", wait {}", options->wait_seconds);
  std::map<std::string, std::string> settings;  // of two for one option the last counts
  for (const std::string& setting : common.settings) {
    const auto option = store::SplitOption(setting);
    settings[option->first] = option->second;
  }
  for (const auto& [name, value] : settings) attach += fmt::format(", {} {}", name, QuoteText(value));
  if (options->memory_limit > 0) Execute(fmt::format("SET memory_limit = '{}B'", options->memory_limit));
  if (options->threads > 0) Execute(fmt::format("SET threads = {}", options->threads));
  Execute(attach + ")");
  Execute("USE db");
}

Engine::~Engine() { SetRunning(nullptr); }

void Engine::Execute(const std::string& sql) {
  const auto result = connection_->Query(sql);
  if (result->HasError()) result->GetErrorObject().Throw();
}

int Fail(const Status& status) {
  fmt::print(stderr, "petalite: {}\n", status.message());
  return kFailed;
}

int FailWithCurrentException() {
  try {
    throw;
  } catch (const std::exception& exception) {
    const duckdb::ErrorData error(exception);
    fmt::print(stderr, "petalite: {}\n", error.RawMessage());
  }
  return kFailed;
}

}  // namespace petalite::cli
