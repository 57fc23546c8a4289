#include "store/rowset.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/checksum.h"
#include "base/huge_buffer.h"
#include "base/log.h"
#include "base/mapped_range.h"
#include "store/store_context.h"

namespace petalite::store {
namespace {

uint64_t NextCacheNumber() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// Where "petalite.<name>" of the footer says that a section is: "<offset> <length> <CRC-32C in hex>".
struct Section {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint32_t crc = 0;
};
Result<Section> FindSection(const parquet::FileMetadata& metadata, std::string_view name) {
  for (const auto& [key, value] : metadata.key_value) {
    if (key != name) continue;
    Section section;
    unsigned long offset = 0;
    unsigned long length = 0;
    if (std::sscanf(value.c_str(), "%lu %lu %x", &offset, &length, &section.crc) != 3) break;
    section.offset = offset;
    section.length = length;
    return section;
  }
  return Corruption("there is no section {}", name);
}

}  // namespace

Field CommitField() {
  return {.name = "_last_updated_sequence_number",
          .type = Type::Of(TypeId::kInt64),
          .nullable = false,
          .field_id = kCommitFieldId};
}

Rowset::Rowset(StoreContext& context, std::string path, RowsetInfo info)
    : fs_(context.fs),
      path_(std::move(path)),
      use_(context.files, path_),
      info_(std::move(info)),
      cache_(&context.cache),
      cache_number_(NextCacheNumber()),
      filter_counters_(info_.schema.size()),
      deletes_(std::make_unique<DeleteLog>()) {}

Rowset::~Rowset() {
  cache_->Forget(cache_number_);
  cache_->Unpin(pinned_bytes_);
  if (!obsolete_) return;
  file_.reset();
  // Left behind, the file is an orphan, which the next writing open removes.
  if (const Status removed = fs_.Remove(path_); !removed.ok()) {
    Log(LogLevel::kWarn, "cannot remove a rowset that is no longer used: {}", removed.message());
  }
}

Result<std::shared_ptr<const parquet::FileReader>> Rowset::OpenAnew() const {
  Schema schema = info_.schema;
  if (info_.has_commit_column) schema.fields.push_back(CommitField());
  return parquet::FileReader::Open(fs_, path_, {.schema = schema, .footer_crc = info_.footer_crc});
}

Result<const parquet::FileReader*> Rowset::file() const {
  if (const auto* opened = opened_.load(std::memory_order_acquire)) return opened;
  const std::lock_guard lock(open_mutex_);
  if (file_ == nullptr) {
    ASSIGN_OR_RETURN(file_, OpenAnew());
    group_starts_.assign(1, 0);
    for (size_t group = 0; group < file_->row_groups(); ++group) {
      group_starts_.push_back(group_starts_.back() + static_cast<uint32_t>(file_->rows(group)));
    }
    const auto& entries = file_->metadata().key_value;
    pages_aligned_ = std::any_of(entries.begin(), entries.end(),
                                 [](const auto& entry) { return entry.first == "petalite.checksums"; });
    opened_.store(file_.get(), std::memory_order_release);
  }
  return file_.get();
}

Result<std::shared_ptr<const parquet::ChunkPages>> Rowset::Pages(size_t row_group, size_t column) const {
  const CacheKey key{.rowset = cache_number_,
                     .row_group = static_cast<uint32_t>(row_group),
                     .column = static_cast<uint16_t>(column),
                     .kind = CachedKind::kChunkPages};
  return cache_->GetOrLoad<parquet::ChunkPages>(key, [&]() -> Result<std::shared_ptr<const parquet::ChunkPages>> {
    ASSIGN_OR_RETURN(const auto* reader, file());
    return reader->LoadPages(row_group, column);
  });
}

Result<std::shared_ptr<const parquet::ColumnFilter>> Rowset::Filter(size_t row_group, size_t column) const {
  const CacheKey key{.rowset = cache_number_,
                     .row_group = static_cast<uint32_t>(row_group),
                     .column = static_cast<uint16_t>(column),
                     .kind = CachedKind::kFilter};
  return cache_->GetOrLoad<parquet::ColumnFilter>(key, [&]() -> Result<std::shared_ptr<const parquet::ColumnFilter>> {
    ASSIGN_OR_RETURN(const auto* reader, file());
    return reader->LoadFilter(row_group, column);
  });
}

Result<std::shared_ptr<const parquet::DecodedPage>> Rowset::Page(size_t row_group, size_t column, size_t page) const {
  const CacheKey key{.rowset = cache_number_,
                     .row_group = static_cast<uint32_t>(row_group),
                     .column = static_cast<uint16_t>(column),
                     .kind = CachedKind::kPage,
                     .page = static_cast<uint32_t>(page)};
  return cache_->GetOrLoad<parquet::DecodedPage>(key, [&]() -> Result<std::shared_ptr<const parquet::DecodedPage>> {
    ASSIGN_OR_RETURN(const auto* reader, file());
    ASSIGN_OR_RETURN(const auto pages, Pages(row_group, column));
    ASSIGN_OR_RETURN(auto dictionary, Dictionary(row_group, column, *pages));
    return reader->LoadPage(row_group, column, *pages, page, std::move(dictionary));
  });
}

Rowset::Place Rowset::PlaceOf(uint32_t position) const {
  const auto behind = std::upper_bound(group_starts_.begin(), group_starts_.end(), position);
  CHECK(behind != group_starts_.end());
  const auto group = static_cast<uint32_t>(behind - group_starts_.begin()) - 1;
  return {group, position - group_starts_[group]};
}

Result<uint64_t> Rowset::CommitOf(uint32_t position) const {
  if (!info_.has_commit_column) return info_.min_commit;
  ASSIGN_OR_RETURN(const auto* reader, file());
  CHECK(reader != nullptr);
  const Place place = PlaceOf(position);
  const size_t column = info_.schema.size();
  ASSIGN_OR_RETURN(const auto pages, Pages(place.row_group, column));
  const size_t number = pages->PageOf(place.row);
  ASSIGN_OR_RETURN(const auto page, Page(place.row_group, column, number));
  const auto row = place.row - static_cast<uint32_t>(pages->locations[number].first_row_index);
  return static_cast<const uint64_t*>(page->values())[row];
}

Result<uint32_t> Rowset::PageStart(uint32_t row_group, uint32_t page) const {
  ASSIGN_OR_RETURN(const auto pages, Pages(row_group, info_.key[0]));
  return group_starts_[row_group] + static_cast<uint32_t>(pages->locations[page].first_row_index);
}

CacheKey Rowset::KeyPageCacheKey(KeyIndex::Position page) const {
  return {.rowset = cache_number_, .row_group = page.row_group, .kind = CachedKind::kKeys, .page = page.page};
}

bool Rowset::IsKeyPageCached(KeyIndex::Position page) const { return cache_->Contains(KeyPageCacheKey(page)); }

Result<std::shared_ptr<const EncodedKeys>> Rowset::EncodePageKeys(
    std::span<const std::shared_ptr<const parquet::DecodedPage>> columns) const {
  std::vector<Type> types;
  std::vector<ColumnView> views;
  for (const size_t column : info_.key) {
    const parquet::DecodedPage& page = *columns[column];
    const bool coded = page.is_dictionary();
    types.push_back(info_.schema[column].type);
    views.push_back({.values = coded ? page.dictionary()->values() : page.values(),
                     .selection = coded ? page.codes() : nullptr,
                     .size = page.rows()});
  }
  auto keys = std::make_shared<EncodedKeys>();
  RETURN_IF_ERROR(EncodeKeys(types, views, keys.get()).WithContext(path_));
  return std::shared_ptr<const EncodedKeys>(std::move(keys));
}

Result<std::shared_ptr<const EncodedKeys>> Rowset::KeyPage(uint32_t row_group, uint32_t number, bool cold) const {
  const auto load = [&]() -> Result<std::shared_ptr<const EncodedKeys>> {
    std::vector<std::shared_ptr<const parquet::DecodedPage>> columns(info_.schema.size());
    for (const size_t column : info_.key) {
      if (cold) {
        ASSIGN_OR_RETURN(columns[column], PassingPage(row_group, column, number));
        ASSIGN_OR_RETURN(const auto* reader, file());
        ASSIGN_OR_RETURN(const auto pages, Pages(row_group, column));
        reader->ForgetPage(*pages, number);
      } else {
        ASSIGN_OR_RETURN(columns[column], Page(row_group, column, number));
      }
    }
    return EncodePageKeys(columns);
  };
  if (cold) return load();
  return cache_->GetOrLoad<EncodedKeys>(KeyPageCacheKey({row_group, number}), load);
}

// The dictionary, which the pages of a chunk share, is cached: only the page is not.
Result<std::shared_ptr<const parquet::DecodedPage>> Rowset::PassingPage(size_t row_group, size_t column,
                                                                        size_t page) const {
  ASSIGN_OR_RETURN(const auto* reader, file());
  ASSIGN_OR_RETURN(const auto pages, Pages(row_group, column));
  ASSIGN_OR_RETURN(auto dictionary, Dictionary(row_group, column, *pages));
  return reader->LoadPage(row_group, column, *pages, page, std::move(dictionary));
}

Result<std::shared_ptr<const parquet::Dictionary>> Rowset::Dictionary(size_t row_group, size_t column,
                                                                      const parquet::ChunkPages& pages) const {
  const CacheKey key{.rowset = cache_number_,
                     .row_group = static_cast<uint32_t>(row_group),
                     .column = static_cast<uint16_t>(column),
                     .kind = CachedKind::kDictionary};
  return cache_->GetOrLoad<parquet::Dictionary>(key, [&]() -> Result<std::shared_ptr<const parquet::Dictionary>> {
    ASSIGN_OR_RETURN(const auto* reader, file());
    return reader->LoadDictionary(row_group, column, pages);
  });
}

// Every write asks every filter, so they are no business of a cache that evicts: while there is room they are copied to
// huge pages, and beyond it mapped, which is slower when the system takes pages back, and never wrong.
Result<std::shared_ptr<const KeyFilter>> Rowset::LoadKeyFilter() const {
  if (auto loaded = std::atomic_load_explicit(&key_filter_, std::memory_order_acquire)) return loaded;
  ASSIGN_OR_RETURN([[maybe_unused]] const auto* reader, file());
  const std::lock_guard lock(open_mutex_);
  if (key_filter_ != nullptr) return key_filter_;
  ASSIGN_OR_RETURN(const auto section, FindSection(file_->metadata(), "petalite.key_filter"));
  ASSIGN_OR_RETURN(std::unique_ptr<MappedRange> mapped,
                   MapRange(fs_, path_, section.offset, section.length, /*random=*/true));
  if (Crc32c(mapped->bytes()) != section.crc) return Corruption("{}: the key filter is damaged", path_);
  std::shared_ptr<const KeyFilter> filter;
  // The blocks behind the header on a cache line's border: a probe touches one line.
  constexpr size_t kHeader = 24;
  if (cache_->Pin(section.length)) {
    pinned_bytes_ = section.length;
    auto copy = std::make_shared<HugeBuffer>(section.length + HugeBuffer::kCacheLine);
    uint8_t* to = copy->data() + (HugeBuffer::kCacheLine - kHeader);
    std::memcpy(to, mapped->bytes().data(), section.length);
    const Bytes bytes(to, section.length);
    ASSIGN_OR_RETURN(filter, KeyFilter::Parse(bytes, std::move(copy)));
  } else {
    const Bytes bytes = mapped->bytes();
    ASSIGN_OR_RETURN(filter, KeyFilter::Parse(bytes, std::shared_ptr<const void>(std::move(mapped))));
  }
  std::atomic_store_explicit(&key_filter_, filter, std::memory_order_release);
  return filter;
}

Result<std::shared_ptr<const KeyIndex>> Rowset::LoadKeyIndex() const {
  const CacheKey key{.rowset = cache_number_, .kind = CachedKind::kKeyIndex};
  return cache_->GetOrLoad<KeyIndex>(key, [&]() -> Result<std::shared_ptr<const KeyIndex>> {
    ASSIGN_OR_RETURN(const auto* reader, file());
    ASSIGN_OR_RETURN(const ByteBuffer section, reader->LoadSection("key_index"));
    return KeyIndex::Parse(section);
  });
}

}  // namespace petalite::store
