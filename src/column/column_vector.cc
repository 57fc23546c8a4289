#include "column/column_vector.h"

#include <algorithm>

namespace petalite {
namespace {

constexpr size_t kBlockSize = size_t{256} << 10;

void SetBits(std::vector<uint64_t>* words, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) (*words)[i / 64] |= uint64_t{1} << (i % 64);
}

template <typename T>
void CopyFixed(const ColumnView& view, T* to) {
  if (view.selection == nullptr) {
    std::memcpy(to, view.values, view.size * sizeof(T));
    return;
  }
  for (size_t i = 0; i < view.size; ++i) to[i] = view.Value<T>(i);
}

}  // namespace

void ColumnVector::Append(const ColumnView& view) {
  const size_t first = size_;
  values_.resize((first + view.size) * width_);
  VisitLayout(type_, [&](auto value) {
    using T = decltype(value);
    auto* to = reinterpret_cast<T*>(values_.data()) + first;
    if constexpr (std::is_same_v<T, StringRef>) {
      AppendStrings(view, to);
    } else {
      CopyFixed(view, to);
    }
  });
  size_ += view.size;
  if (view.validity != nullptr && validity_.empty()) {
    validity_.resize((first + 63) / 64);
    SetBits(&validity_, 0, first);
  }
  if (view.validity == nullptr && validity_.empty()) return;
  validity_.resize((size_ + 63) / 64);
  for (size_t i = 0; i < view.size; ++i) {
    if (view.IsValid(i)) validity_[(first + i) / 64] |= uint64_t{1} << ((first + i) % 64);
  }
}

void ColumnVector::AppendStrings(const ColumnView& view, StringRef* to) {
  for (size_t i = 0; i < view.size; ++i) {
    if (!view.IsValid(i)) {
      to[i] = StringRef();
      continue;
    }
    const StringRef from = view.Value<StringRef>(i);
    if (from.is_inline()) {
      to[i] = from;
      continue;
    }
    char* copy = Allocate(from.size());
    std::memcpy(copy, from.data(), from.size());
    to[i] = StringRef(copy, from.size());
  }
}

char* ColumnVector::Allocate(size_t size) {
  if (size > block_left_) {
    block_size_ = std::max(size, kBlockSize);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size_));
    block_left_ = block_size_;
    block_bytes_ += block_size_;
  }
  char* place = blocks_.back().get() + (block_size_ - block_left_);
  block_left_ -= size;
  return place;
}

ColumnView ColumnVector::View() const {
  return {.values = values_.data(), .validity = validity_.empty() ? nullptr : validity_.data(), .size = size_};
}

void ColumnVector::Clear() {
  size_ = 0;
  values_.clear();
  validity_.clear();
  blocks_.clear();
  block_left_ = block_size_ = block_bytes_ = 0;
}

}  // namespace petalite
