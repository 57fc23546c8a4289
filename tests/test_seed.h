// The seed of a random test: new in each run, or PETALITE_TEST_SEED to repeat a failure. The trace
// that a failing expectation prints names it.
//
//   const uint64_t seed = TestSeed();
//   SCOPED_TRACE(SeedTrace(seed));

#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace petalite {

inline uint64_t TestSeed() {
  const char* given = std::getenv("PETALITE_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

inline std::string SeedTrace(uint64_t seed) { return "repeat with PETALITE_TEST_SEED=" + std::to_string(seed); }

}  // namespace petalite
