#include "base/cpu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace petalite {

std::string_view IsaName(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "?";
}

std::vector<Isa> SupportedIsas() {
  std::vector<Isa> isas = {Isa::kScalar};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
    isas.push_back(Isa::kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi")) {
      isas.push_back(Isa::kAvx512);
    }
  }
#endif
  return isas;
}

static Isa ChooseIsa() {
  const std::vector<Isa> supported = SupportedIsas();
  const char* forced = std::getenv("PETALITE_FORCE_ISA");
  if (forced == nullptr) return supported.back();
  for (Isa isa : supported) {
    if (IsaName(isa) == forced) return isa;
  }
  std::fprintf(stderr, "petalite: PETALITE_FORCE_ISA=%s: this processor offers only", forced);
  for (Isa isa : supported) std::fprintf(stderr, " %s", IsaName(isa).data());
  std::fputc('\n', stderr);
  std::exit(2);
}

Isa ActiveIsa() {
  static const Isa chosen = ChooseIsa();
  return chosen;
}

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

}  // namespace petalite
