#include "sql/slice_vector.h"

#include <atomic>

namespace petalite::sql {
namespace {

// Keeps a page or dictionary alive as long as a vector that points into it.
class Pin : public duckdb::VectorBuffer {
 public:
  explicit Pin(std::shared_ptr<const void> object)
      : duckdb::VectorBuffer(duckdb::VectorBufferType::OPAQUE_BUFFER), object_(std::move(object)) {}

 private:
  std::shared_ptr<const void> object_;
};

void Attach(std::shared_ptr<const void> object, duckdb::Vector* vector) {
  auto pin = duckdb::make_buffer<Pin>(std::move(object));
  if (vector->GetType().InternalType() == duckdb::PhysicalType::VARCHAR) {
    duckdb::StringVector::AddBuffer(*vector, std::move(pin));
  } else {
    vector->SetAuxiliary(std::move(pin));
  }
}

duckdb::data_ptr_t Unconst(const void* data) {
  // DuckDB's vectors are writable by type; what a scan hands out is not written to, as with its own zero-copy scans.
  return const_cast<duckdb::data_ptr_t>(static_cast<const duckdb::data_t*>(data));
}

// Copied, because operators may mark rows of a chunk as null in place.
void CopyValidity(const uint64_t* words, size_t offset, size_t rows, duckdb::ValidityMask* mask) {
  mask->Initialize(std::max<size_t>(rows, STANDARD_VECTOR_SIZE));
  uint64_t* to = mask->GetData();
  const size_t shift = offset % 64;
  const uint64_t* from = words + offset / 64;
  const size_t count = (rows + 63) / 64;
  if (shift == 0) {
    std::memcpy(to, from, count * sizeof(uint64_t));
    return;
  }
  const size_t last = (offset + rows - 1) / 64 - offset / 64;  // the last word that holds a bit of the slice
  for (size_t i = 0; i < count; ++i) {
    to[i] = from[i] >> shift;
    if (i + 1 <= last) to[i] |= from[i + 1] << (64 - shift);
  }
}

std::string NextDictionaryId() {
  static std::atomic<uint64_t> next{0};
  return fmt::format("petalite-{}", next.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

void SliceVectors::Set(const store::ColumnSlice& slice, size_t rows, bool may_have_nulls, duckdb::Vector* out) {
  if (slice.codes != nullptr) {
    SetDictionary(slice, may_have_nulls, out);
  } else {
    SetFlat(slice, rows, out);
  }
}

void SliceVectors::SetFlat(const store::ColumnSlice& slice, size_t rows, duckdb::Vector* out) {
  // A new vector, and not `out` made flat again: what it was before (a dictionary, say) would show through.
  duckdb::Vector flat(out->GetType(), Unconst(slice.values));
  Attach(slice.owner, &flat);
  if (slice.validity != nullptr) {
    CopyValidity(slice.validity, slice.validity_offset, rows, &duckdb::FlatVector::Validity(flat));
  }
  out->Reference(flat);
}

void SliceVectors::SetDictionary(const store::ColumnSlice& slice, bool may_have_nulls, duckdb::Vector* out) {
  if (current_.get() != slice.dictionary) {
    // The page holds its dictionary.
    current_ = std::shared_ptr<const parquet::Dictionary>(slice.owner, slice.dictionary);
    entries_ = current_->size() + (may_have_nulls ? 1 : 0);
    duckdb::Vector values(out->GetType(), Unconst(current_->values()));
    if (may_have_nulls) {
      duckdb::FlatVector::Validity(values).Initialize(entries_);
      duckdb::FlatVector::SetNull(values, current_->size(), true);
    }
    Attach(current_, &values);
    reusable_ = duckdb::make_buffer<duckdb::VectorChildBuffer>(std::move(values));
    reusable_->size = entries_;
    reusable_->id = NextDictionaryId();
  }
  // The codes stay in the page, which the morsel reader holds until the next chunk is asked for: as long as DuckDB may
  // look at this one.
  static_assert(sizeof(duckdb::sel_t) == sizeof(uint32_t));
  duckdb::Vector codes(out->GetType(), nullptr);
  codes.Dictionary(reusable_, duckdb::SelectionVector(const_cast<duckdb::sel_t*>(slice.codes)));
  out->Reference(codes);
}

}  // namespace petalite::sql
