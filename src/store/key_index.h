// What a keyed rowset carries beside its columns: the key filter, which says of nearly every absent key that it is
// absent, and the sparse key index, which names the page a key would be on. Both stand in sections of the file
// (docs/format.md), built while it is written.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "bloom/split_block_filter.h"

namespace petalite::store {

// Behind an interface, because a better structure than the split-block filter may serve one day (the section's first
// field names the kind). Keys come as XXH64 over the encoded key. Immutable, thread-safe.
class KeyFilter {
 public:
  virtual ~KeyFilter() = default;
  virtual bool MayContain(uint64_t hash) const = 0;
  // results[i] = 1 if hashes[i] may be present.
  virtual void MayContain(std::span<const uint64_t> hashes, uint8_t* results) const = 0;
  virtual size_t memory_bytes() const = 0;
  virtual uint64_t filter_bytes() const = 0;
  virtual uint64_t keys() const = 0;
  virtual double target_fpp() const = 0;
  // What the bits as they are let through.
  virtual double real_fpp() const = 0;

  // `section` lies where `owner` keeps it.
  static Result<std::shared_ptr<const KeyFilter>> Parse(Bytes section, std::shared_ptr<const void> owner);
};

// Makes a filter that is sized exactly for the true FPP, while its keys come. Where it is known how many come, they go
// into it at once; otherwise their hashes, two to three times as large, wait until the end.
class KeyFilterBuilder {
 public:
  // `keys`: how many; 0: nobody knows.
  KeyFilterBuilder(uint64_t keys, double fpp);

  void Add(std::span<const uint64_t> hashes);
  // Builds what is not built yet. The section is header() and bits(), one behind the other.
  void Finish();
  ByteBuffer header() const;
  Bytes bits() const { return filter_->bits(); }

 private:
  const double fpp_;
  uint64_t keys_ = 0;  // so far
  std::optional<bloom::SplitBlockFilter> filter_;
  std::vector<std::vector<uint64_t>> hashes_;
};

// The first key of each page, in file order. Immutable, thread-safe.
class KeyIndex {
 public:
  struct Position {
    uint32_t row_group;
    uint32_t page;
  };

  // The last page that can hold `key`: that of a key that stands once, if any page has it; the first for keys before.
  Position Find(std::string_view key) const { return positions_[FindEntry(key)]; }
  // The same as a number in file order.
  size_t FindEntry(std::string_view key) const;
  Position position(size_t entry) const { return positions_[entry]; }
  // The page's first key.
  std::string_view KeyAt(size_t entry) const;
  size_t size() const { return ends_.size(); }
  size_t memory_bytes() const;

  // Built page by page.
  void Add(Position position, std::string_view first_key);
  ByteBuffer Serialize() const;
  static Result<std::shared_ptr<const KeyIndex>> Parse(Bytes section);

 private:
  std::string keys_;
  std::vector<uint32_t> ends_;
  std::vector<Position> positions_;
};

}  // namespace petalite::store
