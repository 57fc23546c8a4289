#include "cli/command.h"
namespace petalite::cli {
void AddShell(CLI::App&, CommonOptions&, Run*) {}
void AddInspect(CLI::App&, CommonOptions&, Run*) {}
}  // namespace petalite::cli
