// The set of a rowset's dead positions: a Roaring bitmap, and its portable form on disk.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

struct roaring_bitmap_s;  // CRoaring's

namespace petalite::store {

// Immutable, thread-safe.
class DeleteVector {
 public:
  // Positions come in any order; `base` may be null. Costs a copy of the base, and the positions.
  static std::shared_ptr<const DeleteVector> Of(std::span<const uint32_t> positions);
  static std::shared_ptr<const DeleteVector> With(const DeleteVector* base, std::span<const uint32_t> positions);
  static std::shared_ptr<const DeleteVector> Without(const DeleteVector& base, std::span<const uint32_t> positions);

  bool Contains(uint32_t position) const;
  uint64_t count() const { return count_; }
  // Of [begin, end).
  uint64_t CountRange(uint32_t begin, uint32_t end) const;

  // Writes the positions of [begin, end) that are not in the set, less `begin`, ascending, and returns how many they
  // are. `out` has room for end − begin.
  uint32_t LiveRows(uint32_t begin, uint32_t end, uint32_t* out) const;

  void ForEach(const std::function<void(uint32_t)>& visit) const;  // ascending
  std::vector<uint32_t> ToVector() const;                          // ascending

  size_t memory_bytes() const;

  // The portable form of a 32-bit bitmap (https://github.com/RoaringBitmap/RoaringFormatSpec). Parse takes what any
  // writer of that form made and nothing else: every rule of the form is checked, and all bytes are used.
  ByteBuffer Serialize() const;
  static Result<std::shared_ptr<const DeleteVector>> Parse(Bytes bytes);

 private:
  struct Free {
    void operator()(roaring_bitmap_s* bitmap) const;
  };
  using Bitmap = std::unique_ptr<roaring_bitmap_s, Free>;

  explicit DeleteVector(Bitmap bitmap);
  static void Compact(roaring_bitmap_s* bitmap);
  static std::shared_ptr<const DeleteVector> Adopt(Bitmap bitmap);

  Bitmap bitmap_;
  uint64_t count_;
};

}  // namespace petalite::store
