#include "store/rowset.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace petalite::store {
namespace {

uint64_t NextCacheNumber() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Rowset::Rowset(FileSystem& fs, std::string path, RowsetInfo info, Schema schema, PageCache* cache)
    : fs_(fs),
      path_(std::move(path)),
      info_(std::move(info)),
      schema_(std::move(schema)),
      cache_(cache),
      cache_number_(NextCacheNumber()),
      filter_counters_(schema_.size()) {}

Rowset::~Rowset() {
  cache_->Forget(cache_number_);
  if (!obsolete_) return;
  file_.reset();
  // Left behind, the file is an orphan, which the next writing open removes.
  if (const Status removed = fs_.Remove(path_); !removed.ok()) {
    Log(LogLevel::kWarn, "cannot remove a rowset that is no longer used: {}", removed.message());
  }
}

Result<const parquet::FileReader*> Rowset::file() const {
  if (const auto* opened = opened_.load(std::memory_order_acquire)) return opened;
  const std::lock_guard lock(open_mutex_);
  if (file_ == nullptr) {
    ASSIGN_OR_RETURN(file_, parquet::FileReader::Open(fs_, path_, {.schema = schema_, .footer_crc = info_.footer_crc}));
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
  CacheKey key{.rowset = cache_number_,
               .row_group = static_cast<uint32_t>(row_group),
               .column = static_cast<uint16_t>(column),
               .kind = CachedKind::kPage,
               .page = static_cast<uint32_t>(page)};
  return cache_->GetOrLoad<parquet::DecodedPage>(key, [&]() -> Result<std::shared_ptr<const parquet::DecodedPage>> {
    ASSIGN_OR_RETURN(const auto* reader, file());
    ASSIGN_OR_RETURN(const auto pages, Pages(row_group, column));
    CacheKey dictionary_key = key;
    dictionary_key.kind = CachedKind::kDictionary;
    dictionary_key.page = 0;
    ASSIGN_OR_RETURN(auto dictionary, cache_->GetOrLoad<parquet::Dictionary>(dictionary_key, [&] {
      return reader->LoadDictionary(row_group, column, *pages);
    }));
    return reader->LoadPage(row_group, column, *pages, page, std::move(dictionary));
  });
}

Result<std::shared_ptr<const KeyFilter>> Rowset::LoadKeyFilter() const {
  const CacheKey key{.rowset = cache_number_, .kind = CachedKind::kKeyFilter};
  return cache_->GetOrLoad<KeyFilter>(key, [&]() -> Result<std::shared_ptr<const KeyFilter>> {
    ASSIGN_OR_RETURN(const auto* reader, file());
    ASSIGN_OR_RETURN(ByteBuffer section, reader->LoadSection("key_filter"));
    return KeyFilter::Parse(std::move(section));
  });
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
