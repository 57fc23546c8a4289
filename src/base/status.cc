#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace petalite {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "petalite: %s:%d: CHECK failed: %s\n", file, line, condition);
  std::abort();
}

void ResultMisused(const Status& status) {
  std::fprintf(stderr, "petalite: a Result was misused: %s\n",
               status.ok() ? "it has no error" : status.message().c_str());
  std::abort();
}

}  // namespace petalite
