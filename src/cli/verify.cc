#include "store/verify.h"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "cli/command.h"
#include "cli/engine.h"

namespace petalite::cli {
namespace {

Result<int> RunVerify(const std::string& path, bool salvage, const CommonOptions& common) {
  ASSIGN_OR_RETURN(store::DatabaseOptions options, ToDatabaseOptions(common));
  if (salvage) {
    ASSIGN_OR_RETURN(const auto found, store::SalvageLog(path, options));
    for (const std::string& line : found) fmt::print("{}: the log is kept up to here\n", line);
  }
  options.read_only = true;
  ASSIGN_OR_RETURN(const auto database, store::Database::Open(path, options));
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const auto progress = [&](size_t done, size_t all) {
    if (terminal) fmt::print(stderr, "\r{} of {} rowsets", done, all);
    if (terminal && done == all) fmt::print(stderr, "\r\033[K");
    return !Interrupted();
  };
  ASSIGN_OR_RETURN(const auto damage, store::Verify(*database, progress));
  for (const store::Damage& each : damage) fmt::print("{}\n", each.what);
  ASSIGN_OR_RETURN(const auto orphans, database->FindOrphans());
  for (const std::string& each : orphans) {
    fmt::print("{}: left behind, and no part of the database; the next open for writing removes it\n", each);
  }
  if (damage.empty()) fmt::print("{}: sound\n", path);
  return damage.empty() ? kDone : kFailed;
}

}  // namespace

void AddVerify(CLI::App& app, CommonOptions& common, Run* run) {
  auto path = std::make_shared<std::string>();
  auto salvage = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "verify", "Check every checksum, page, bound, filter, key and file of a database; status 1 if there is damage");
  command->add_option("DB", *path, "Directory of the database")->required();
  command->add_flag("--salvage", *salvage,
                    "Where the log is damaged: keep what is whole in front of the damage, so that the database opens");
  command->callback([=, &common] {
    *run = [=, &common] {
      const auto status = RunVerify(*path, *salvage, common);
      return status.ok() ? *status : Fail(status.status());
    };
  });
}

}  // namespace petalite::cli
