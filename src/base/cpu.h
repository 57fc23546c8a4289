// The instruction sets that kernels are written for, and the choice among them at run time.
//
// PETALITE_FORCE_ISA in the environment (scalar, avx2, avx512) lowers the choice, for tests and
// comparisons; an unknown name, or one that this processor lacks, ends the program with a message
// rather than be ignored.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace petalite {

enum class Isa { kScalar = 0, kAvx2 = 1, kAvx512 = 2 };

std::string_view IsaName(Isa isa);

// What this processor and operating system can run, scalar first.
std::vector<Isa> SupportedIsas();

// The set that kernels use: the best supported one, or what PETALITE_FORCE_ISA says. Read once;
// thread-safe.
Isa ActiveIsa();

// The processor's name as the system gives it, for benchmark headers.
std::string CpuName();

}  // namespace petalite
