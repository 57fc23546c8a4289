// The benchmarks of `petalite bench`.

#pragma once

#include "cli/command.h"

namespace petalite::cli {

void AddBenchTpch(CLI::App& bench, Run* run);
void AddBenchLookup(CLI::App& bench, Run* run);
void AddBenchFilter(CLI::App& bench, Run* run);
void AddBenchScan(CLI::App& bench, Run* run);
void AddBenchInsert(CLI::App& bench, Run* run);
void AddBenchRecovery(CLI::App& bench, Run* run);

}  // namespace petalite::cli
