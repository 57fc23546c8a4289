#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace petalite {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "petalite: %s:%d: CHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace petalite
