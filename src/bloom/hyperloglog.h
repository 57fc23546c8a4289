// HyperLogLog: an estimate of how many distinct 64-bit hashes were seen, in 1 KiB, with a standard
// error of 3.3 % (Flajolet et al., "HyperLogLog", 2007; small counts by linear counting; 64-bit
// hashes need no large-range correction, Heule et al., 2013). Sketches of parts merge into the
// sketch of the whole.

#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace petalite::bloom {

class HyperLogLog {
 public:
  static constexpr int kPrecision = 10;
  static constexpr size_t kRegisters = size_t{1} << kPrecision;

  void Insert(uint64_t hash) {
    const size_t index = hash >> (64 - kPrecision);
    const uint64_t rest = hash << kPrecision | (uint64_t{1} << (kPrecision - 1));
    const auto rank = static_cast<uint8_t>(__builtin_clzll(rest) + 1);
    if (rank > registers_[index]) registers_[index] = rank;
  }
  void Merge(const HyperLogLog& other);
  double Estimate() const;

  Bytes bytes() const { return registers_; }
  // False if the bytes are no sketch.
  [[nodiscard]] bool Load(Bytes bytes);

 private:
  std::array<uint8_t, kRegisters> registers_{};
};

}  // namespace petalite::bloom
