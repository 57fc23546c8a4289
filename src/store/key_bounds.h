// Encoded keys in rising order, to be searched for many others: by their first eight bytes, and without a branch that
// random keys would mispredict half of the time.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "store/key_prefix.h"

namespace petalite::store {

// Thread-safe once it is filled.
class KeyBounds {
 public:
  // No less than the last one. Its bytes stay the caller's.
  void Add(std::string_view key) {
    prefixes_.push_back(KeyPrefix(key));
    keys_.push_back(key);
  }
  size_t size() const { return keys_.size(); }
  std::string_view operator[](size_t i) const { return keys_[i]; }
  // Whether `key`, whose prefix is given, is at most the i-th.
  bool IsUpTo(size_t i, std::string_view key, uint64_t prefix) const {
    return prefix != prefixes_[i] ? prefix < prefixes_[i] : key <= keys_[i];
  }

  // How many are at most `key`, whose prefix is given.
  size_t CountUpTo(std::string_view key, uint64_t prefix) const {
    const uint64_t* first = prefixes_.data();  // behind those known to be below the prefix
    for (size_t left = prefixes_.size(); left > 0;) {
      const size_t half = (left + 1) / 2;
      first += half & -static_cast<size_t>(first[half - 1] < prefix);  // a condition would become a branch
      left -= half;
    }
    const auto at = static_cast<size_t>(first - prefixes_.data());
    if (at == prefixes_.size() || prefixes_[at] != prefix) return at;
    return static_cast<size_t>(std::upper_bound(keys_.begin() + static_cast<ptrdiff_t>(at), keys_.end(), key) -
                               keys_.begin());
  }

 private:
  std::vector<uint64_t> prefixes_;
  std::vector<std::string_view> keys_;
};

}  // namespace petalite::store
