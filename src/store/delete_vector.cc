#include "store/delete_vector.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <roaring/roaring.h>

namespace petalite::store {
namespace {

// The portable form: a cookie, the containers' keys and cardinalities, their offsets, and the containers. Arrays and
// bitsets hold one bit of a position's lower half each; runs are (first, length − 1).
constexpr uint32_t kCookieNoRuns = 12346;
constexpr uint16_t kCookieRuns = 12347;
constexpr uint32_t kNoOffsetThreshold = 4;  // with runs, fewer containers than this have no offsets
constexpr uint32_t kMaxArray = 4096;
constexpr size_t kBitsetWords = 1024;

struct Container {
  uint16_t key;
  uint32_t cardinality;
  bool runs;
};

Status BadContainer(size_t i, std::string_view what) { return Corruption("delete vector: container {}: {}", i, what); }

Status CheckRuns(ByteReader& reader, size_t i, uint32_t cardinality) {
  uint16_t runs = 0;
  if (!reader.Read(&runs) || runs == 0) return BadContainer(i, "no runs");
  int64_t last = -2;  // a run begins at least one position after the end of the one before
  uint32_t sum = 0;
  for (uint16_t r = 0; r < runs; ++r) {
    uint16_t first = 0;
    uint16_t more = 0;
    if (!reader.Read(&first) || !reader.Read(&more)) return BadContainer(i, "ends early");
    if (first <= last + 1 && last >= 0) return BadContainer(i, "runs out of order");
    if (first + more > UINT16_MAX) return BadContainer(i, "a run beyond the container");
    last = first + more;
    sum += more + 1u;
  }
  return sum == cardinality ? Status::Ok() : BadContainer(i, "wrong cardinality");
}

Status CheckArray(ByteReader& reader, size_t i, uint32_t cardinality) {
  int32_t last = -1;
  for (uint32_t v = 0; v < cardinality; ++v) {
    uint16_t value = 0;
    if (!reader.Read(&value)) return BadContainer(i, "ends early");
    if (value <= last) return BadContainer(i, "positions out of order");
    last = value;
  }
  return Status::Ok();
}

Status CheckBitset(ByteReader& reader, size_t i, uint32_t cardinality) {
  uint32_t sum = 0;
  for (size_t w = 0; w < kBitsetWords; ++w) {
    uint64_t word = 0;
    if (!reader.Read(&word)) return BadContainer(i, "ends early");
    sum += static_cast<uint32_t>(std::popcount(word));
  }
  return sum == cardinality ? Status::Ok() : BadContainer(i, "wrong cardinality");
}

// Reads the header up to the offsets, and says whether those follow.
Status ReadHeader(ByteReader& reader, std::vector<Container>* containers, bool* has_offsets) {
  uint32_t cookie = 0;
  uint32_t count = 0;
  Bytes run_flags;
  if (!reader.Read(&cookie)) return Corruption("delete vector: no header");
  const bool runs = (cookie & 0xffff) == kCookieRuns;
  if (runs) {
    count = (cookie >> 16) + 1;
    if (!reader.Take((count + 7) / 8, &run_flags)) return Corruption("delete vector: ends in its header");
    if (count % 8 != 0 && run_flags.back() >> (count % 8) != 0) return Corruption("delete vector: stray run flags");
  } else if (cookie != kCookieNoRuns || !reader.Read(&count) || count > 65536) {
    return Corruption("delete vector: malformed header");
  }
  *has_offsets = !runs || count >= kNoOffsetThreshold;
  int32_t last_key = -1;
  for (uint32_t i = 0; i < count; ++i) {
    Container container{};
    uint16_t less_one = 0;
    if (!reader.Read(&container.key) || !reader.Read(&less_one)) return Corruption("delete vector: ends in its header");
    if (container.key <= last_key) return BadContainer(i, "keys out of order");
    last_key = container.key;
    container.cardinality = less_one + 1u;
    container.runs = runs && (run_flags[i / 8] >> (i % 8) & 1) != 0;
    containers->push_back(container);
  }
  return Status::Ok();
}

// CRoaring trusts what it is given: a bitmap that breaks the rules would answer differently from one call to the next,
// or make it read elsewhere.
Status CheckPortable(Bytes bytes) {
  ByteReader reader(bytes);
  std::vector<Container> containers;
  bool has_offsets = false;
  RETURN_IF_ERROR(ReadHeader(reader, &containers, &has_offsets));
  Bytes offsets;
  if (has_offsets && !reader.Take(containers.size() * sizeof(uint32_t), &offsets)) {
    return Corruption("delete vector: ends in its header");
  }
  for (size_t i = 0; i < containers.size(); ++i) {
    const Container& container = containers[i];
    if (has_offsets && LoadLe<uint32_t>(&offsets[i * sizeof(uint32_t)]) != reader.position()) {
      return BadContainer(i, "wrong offset");
    }
    if (container.runs) {
      RETURN_IF_ERROR(CheckRuns(reader, i, container.cardinality));
    } else if (container.cardinality <= kMaxArray) {
      RETURN_IF_ERROR(CheckArray(reader, i, container.cardinality));
    } else {
      RETURN_IF_ERROR(CheckBitset(reader, i, container.cardinality));
    }
  }
  if (reader.remaining() != 0) return Corruption("delete vector: {} bytes too many", reader.remaining());
  return Status::Ok();
}

}  // namespace

void DeleteVector::Free::operator()(roaring_bitmap_s* bitmap) const { roaring_bitmap_free(bitmap); }

DeleteVector::DeleteVector(Bitmap bitmap)
    : bitmap_(std::move(bitmap)), count_(roaring_bitmap_get_cardinality(bitmap_.get())) {}

void DeleteVector::Compact(roaring_bitmap_s* bitmap) {
  roaring_bitmap_run_optimize(bitmap);
  roaring_bitmap_shrink_to_fit(bitmap);
}

std::shared_ptr<const DeleteVector> DeleteVector::Adopt(Bitmap bitmap) {
  CHECK(bitmap != nullptr);  // CRoaring's way to say that memory ran out
  return std::shared_ptr<const DeleteVector>(new DeleteVector(std::move(bitmap)));
}

std::shared_ptr<const DeleteVector> DeleteVector::Of(std::span<const uint32_t> positions) {
  return With(nullptr, positions);
}

std::shared_ptr<const DeleteVector> DeleteVector::With(const DeleteVector* base, std::span<const uint32_t> positions) {
  Bitmap bitmap(base == nullptr ? roaring_bitmap_create() : roaring_bitmap_copy(base->bitmap_.get()));
  CHECK(bitmap != nullptr);
  roaring_bitmap_add_many(bitmap.get(), positions.size(), positions.data());
  // Looking at every container again is worth it once a good part of the set is new.
  if (base == nullptr || positions.size() >= base->count() / 8) Compact(bitmap.get());
  return Adopt(std::move(bitmap));
}

std::shared_ptr<const DeleteVector> DeleteVector::Without(const DeleteVector& base,
                                                          std::span<const uint32_t> positions) {
  const auto removed = Of(positions);
  Bitmap bitmap(roaring_bitmap_andnot(base.bitmap_.get(), removed->bitmap_.get()));
  CHECK(bitmap != nullptr);
  Compact(bitmap.get());
  return Adopt(std::move(bitmap));
}

bool DeleteVector::Contains(uint32_t position) const { return roaring_bitmap_contains(bitmap_.get(), position); }

uint64_t DeleteVector::CountRange(uint32_t begin, uint32_t end) const {
  return begin >= end ? 0 : roaring_bitmap_range_cardinality(bitmap_.get(), begin, end);
}

namespace {

// Appends the positions of the clear bits of `dead`, of `bits` of them, plus `base`.
uint32_t* AppendClear(uint64_t dead, uint32_t bits, uint32_t base, uint32_t* to) {
  if (dead == 0) {
    std::iota(to, to + bits, base);
    return to + bits;
  }
  uint64_t live = ~dead & (~uint64_t{0} >> (64 - bits));
  for (; live != 0; live &= live - 1) *to++ = base + static_cast<uint32_t>(std::countr_zero(live));
  return to;
}

}  // namespace

// By way of a small bitmap, so that neither many nor few dead among the rows make branches that cannot be foretold.
uint32_t DeleteVector::LiveRows(uint32_t begin, uint32_t end, uint32_t* out) const {
  constexpr uint32_t kWords = 32;
  roaring_uint32_iterator_t iterator;
  roaring_init_iterator(bitmap_.get(), &iterator);
  roaring_move_uint32_iterator_equalorlarger(&iterator, begin);
  uint32_t dead[256];
  uint32_t count = 0;  // of what was read into `dead`,
  uint32_t next = 0;   // and the first of it that was not used
  uint32_t* to = out;
  for (uint32_t at = begin; at < end;) {
    const uint32_t rows = std::min(end - at, kWords * 64);
    uint64_t words[kWords] = {};
    while (true) {
      for (; next < count && dead[next] - at < rows; ++next) {
        const uint32_t bit = dead[next] - at;
        words[bit / 64] |= uint64_t{1} << (bit % 64);
      }
      if (next < count || !iterator.has_value || iterator.current_value - at >= rows) break;
      count = roaring_read_uint32_iterator(&iterator, dead, std::size(dead));
      next = 0;
    }
    for (uint32_t row = 0; row < rows; row += 64) {
      to = AppendClear(words[row / 64], std::min<uint32_t>(64, rows - row), at - begin + row, to);
    }
    at += rows;
  }
  return static_cast<uint32_t>(to - out);
}

void DeleteVector::ForEach(const std::function<void(uint32_t)>& visit) const {
  roaring_iterate(
      bitmap_.get(),
      [](uint32_t position, void* to) {
        (*static_cast<const std::function<void(uint32_t)>*>(to))(position);
        return true;
      },
      const_cast<std::function<void(uint32_t)>*>(&visit));
}

std::vector<uint32_t> DeleteVector::ToVector() const {
  std::vector<uint32_t> positions(count_);
  roaring_bitmap_to_uint32_array(bitmap_.get(), positions.data());
  return positions;
}

size_t DeleteVector::memory_bytes() const {
  constexpr size_t kPerContainer = 16 + 11;  // the container's head, and its place in the bitmap's three arrays
  roaring_statistics_t statistics;
  roaring_bitmap_statistics(bitmap_.get(), &statistics);
  return sizeof(*this) + sizeof(roaring_bitmap_t) + statistics.n_containers * kPerContainer +
         statistics.n_bytes_array_containers + statistics.n_bytes_run_containers + statistics.n_bytes_bitset_containers;
}

ByteBuffer DeleteVector::Serialize() const {
  ByteBuffer bytes(roaring_bitmap_portable_size_in_bytes(bitmap_.get()));
  const size_t size = roaring_bitmap_portable_serialize(bitmap_.get(), reinterpret_cast<char*>(bytes.data()));
  CHECK(size == bytes.size());
  return bytes;
}

Result<std::shared_ptr<const DeleteVector>> DeleteVector::Parse(Bytes bytes) {
  RETURN_IF_ERROR(CheckPortable(bytes));
  Bitmap bitmap(roaring_bitmap_portable_deserialize_safe(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (bitmap == nullptr) return Corruption("delete vector: not a Roaring bitmap");
  return Adopt(std::move(bitmap));
}

}  // namespace petalite::store
