// From the physical values that encodings yield to the layout that column/types.h gives a type:
// narrowing, decimals of any physical type, big-endian UUIDs, INT96, and so on.

#pragma once

#include <cstddef>
#include <cstdint>

#include "parquet/schema_mapping.h"

namespace petalite::parquet {

// Bytes of one PLAIN value of the leaf's physical type (1 for a boolean, which encodings deliver as
// bytes); 0 for byte arrays, which they deliver as StringRefs.
size_t PhysicalWidth(const LeafColumn& leaf);

// Copyable; holds no reference to the leaf. Thread-safe.
class Conversion {
 public:
  explicit Conversion(const LeafColumn& leaf);

  // Physical values are the type's layout as they stand, and any of them is a value of the type.
  bool is_identity() const { return kernel_ == nullptr; }
  size_t physical_width() const { return physical_width_; }  // StringRefs count as what they are
  size_t layout_width() const { return layout_width_; }

  // Converts `count` values and returns how many it converted: fewer than `count` if the next one
  // is no value of the type (it does not fit, or is outside the decimal's precision). Strings made
  // of fixed-length byte arrays point into `in`.
  size_t Run(const void* in, size_t count, void* out) const;

 private:
  struct Parameters {
    size_t physical_width = 0;
    __int128 limit = 0;  // decimals: the least positive number with too many digits
  };
  using Kernel = size_t (*)(const Parameters&, const uint8_t* in, size_t count, uint8_t* out);
  friend struct ConversionKernels;

  size_t physical_width_;
  size_t layout_width_;
  Kernel kernel_ = nullptr;
  Parameters parameters_;
};

}  // namespace petalite::parquet
