#include "bloom/hyperloglog.h"

#include <algorithm>
#include <cmath>

namespace petalite::bloom {
namespace {

// A rank is one more than the zeros ahead of the first one among the hash's remaining bits, of which
// Insert sets the last.
constexpr uint8_t kMaxRank = 64 - HyperLogLog::kPrecision + 1;

}  // namespace

void HyperLogLog::Merge(const HyperLogLog& other) {
  for (size_t i = 0; i < kRegisters; i++) registers_[i] = std::max(registers_[i], other.registers_[i]);
}

double HyperLogLog::Estimate() const {
  constexpr double kCount = kRegisters;
  constexpr double kAlpha = 0.7213 / (1 + 1.079 / kCount);
  double sum = 0;
  size_t zeros = 0;
  for (uint8_t rank : registers_) {
    sum += std::ldexp(1.0, -rank);
    zeros += rank == 0;
  }
  const double raw = kAlpha * kCount * kCount / sum;
  if (raw <= 2.5 * kCount && zeros != 0) return kCount * std::log(kCount / static_cast<double>(zeros));
  return raw;
}

bool HyperLogLog::Load(Bytes bytes) {
  if (bytes.size() != kRegisters) return false;
  if (std::any_of(bytes.begin(), bytes.end(), [](uint8_t rank) { return rank > kMaxRank; })) return false;
  std::copy(bytes.begin(), bytes.end(), registers_.begin());
  return true;
}

}  // namespace petalite::bloom
