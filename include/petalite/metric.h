// What a database counts and says of itself: the rows of petalite_metrics() in SQL.

#pragma once

#include <cstdint>
#include <string>

namespace petalite {

struct Metric {
  std::string name;  // "filter_probes", "throttled", …
  uint64_t value =
      0;  // since the database was opened, or of this moment; bytes, microseconds or a number as the name says
  std::string text;  // of "throttled": why writers wait; else empty
};

}  // namespace petalite
