#include "store/flush.h"

#include <algorithm>
#include <numeric>

#include <boost/sort/spreadsort/integer_sort.hpp>

#include "column/key_encoding.h"
#include "store/commit_log.h"
#include "store/key_bounds.h"
#include "store/key_prefix.h"
#include "store/records.h"
#include "store/row_gather.h"
#include "store/snapshots.h"

namespace petalite::store {
namespace {

constexpr size_t kAhead = 16;  // keys on their way to the cache while earlier ones are taken

struct SortEntry {
  uint64_t prefix;  // the key's first eight bytes, as a number that orders like them
  uint32_t row;
};

// Keys that cut the rows of a memrowset into parts of about the same size, so that one part at a time can be sorted:
// the entries that a sort needs take three times the room of the rows' order itself.
class KeyParts {
 public:
  static constexpr size_t kMaxParts = 256;

  explicit KeyParts(const MemRowset& mem) {
    constexpr size_t kPartRows = 65536;
    constexpr size_t kSamples = 16;  // of each part
    const size_t parts = std::clamp<size_t>(mem.rows() / kPartRows, 1, kMaxParts);
    std::vector<std::string_view> sample;
    buffers_.resize(parts > 1 ? parts * kSamples : 0);
    for (size_t i = 0; i < buffers_.size(); ++i) {
      sample.push_back(mem.KeyOf(static_cast<uint32_t>(i * mem.rows() / buffers_.size()), &buffers_[i]));
    }
    std::sort(sample.begin(), sample.end());
    for (size_t part = 1; part < parts; ++part) bounds_.Add(sample[part * kSamples]);
  }

  size_t size() const { return bounds_.size() + 1; }
  // The same for all rows of one key.
  size_t PartOf(std::string_view key) const { return bounds_.CountUpTo(key, KeyPrefix(key)); }

 private:
  std::vector<MemRowset::KeyBuffer> buffers_;  // of the bounds
  KeyBounds bounds_;
};

// Sorts rows by key, those of one key from the newest to the oldest. `entries` is scratch.
void SortByKey(const MemRowset& mem, std::span<uint32_t> rows, std::vector<SortEntry>* entries) {
  entries->clear();
  MemRowset::KeyBuffer buffer;
  MemRowset::KeyBuffer other;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) mem.PrefetchKey(rows[i + kAhead]);
    entries->push_back({KeyPrefix(mem.KeyOf(rows[i], &buffer)), rows[i]});
  }
  // By radix, then what is left to tell where prefixes are equal.
  boost::sort::spreadsort::integer_sort(
      entries->begin(), entries->end(), [](const SortEntry& entry, unsigned shift) { return entry.prefix >> shift; },
      [](const SortEntry& a, const SortEntry& b) { return a.prefix < b.prefix; });
  for (auto begin = entries->begin(); begin != entries->end();) {
    const auto end =
        std::find_if(begin, entries->end(), [&](const auto& each) { return each.prefix != begin->prefix; });
    if (end - begin > 1) {
      std::sort(begin, end, [&](const SortEntry& a, const SortEntry& b) {
        const int order = mem.KeyOf(a.row, &buffer).compare(mem.KeyOf(b.row, &other));
        return order != 0 ? order < 0 : a.row > b.row;
      });
    }
    begin = end;
  }
  std::transform(entries->begin(), entries->end(), rows.begin(), [](const SortEntry& entry) { return entry.row; });
}

// One memrowset on its way to disk.
class MemRowsetFlush {
 public:
  MemRowsetFlush(Tablet& tablet, const Table& table, std::shared_ptr<MemRowset> mem)
      : tablet_(tablet), table_(table), mem_(std::move(mem)), context_(tablet.context()) {}

  Status Run() {
    // Invariant 8: nothing is flushed before the log that made it is durable.
    RETURN_IF_ERROR(context_.log->wal().Sync(context_.log->wal().end()));
    RETURN_IF_ERROR(WriteFile());
    if (rowset_ != nullptr) TranslateDeaths();
    const std::lock_guard latch(tablet_.latch());
    return Publish();
  }

 private:
  Status WriteFile() {
    // Under the schema that the rows came with: who reads an older version wants its columns.
    const TableOptions options = table_.options().For(table_.schema(), mem_->schema());
    // Beside the writer a flush has the rows' order and its reverse, and the part of it that is being sorted.
    const size_t order = size_t{mem_->rows()} * (2 * sizeof(uint32_t)) + (size_t{2} << 20);
    const WriterPlan plan = PlanWriter(options, mem_->value_bytes() / mem_->rows(), mem_->is_keyed() ? mem_->rows() : 0,
                                       context_.memory.shares().jobs / 2);
    const MemoryCharge charge(context_.memory, MemoryUse::kFlushes, order + plan.bytes);
    context_.memory.Settle();
    const std::vector<uint32_t> rows = SortedRows(*mem_, context_.snapshots->horizon());
    position_of_.assign(mem_->rows(), kNoRow);
    for (uint32_t i = 0; i < rows.size(); ++i) position_of_[rows[i]] = i;
    if (rows.empty()) return Status::Ok();
    const bool with_commits = mem_->BornAt(0) != mem_->last_commit();
    const RowsetId id = context_.next_rowset_id.fetch_add(1);
    const std::string directory = context_.DataDirectory(tablet_.table());
    RETURN_IF_ERROR(context_.fs.CreateDirectories(directory));
    ASSIGN_OR_RETURN(const auto writer, RowsetWriter::Create(context_, tablet_.table(),
                                                             {.schema = mem_->schema(),
                                                              .options = options,
                                                              .key = mem_->key(),
                                                              .id = id,
                                                              .tablet = tablet_.index(),
                                                              .with_commits = with_commits,
                                                              .keys = mem_->is_keyed() ? rows.size() : 0,
                                                              .plan = &plan}));
    RETURN_IF_ERROR(WriteRows(*mem_, rows, with_commits, writer.get()));
    ASSIGN_OR_RETURN(RowsetInfo info, writer->Finish());
    if (!with_commits) info.min_commit = info.max_commit = mem_->last_commit();
    context_.metrics.flushed_bytes.fetch_add(info.bytes, std::memory_order_relaxed);
    rowset_ = std::make_shared<Rowset>(context_, writer->path(), std::move(info));
    rowset_->MarkObsolete();  // until it is published
    RETURN_IF_ERROR(context_.fs.SyncDirectory(directory));
    return context_.fs.SyncDirectory(context_.path + "/data");
  }

  // Deaths since the last call; most of them before the latch is taken.
  void TranslateDeaths() {
    const auto deaths = mem_->DeathsFrom(deaths_seen_);
    deaths_seen_ += deaths.size();
    for (const Death& death : deaths) {
      const uint32_t position = position_of_[death.position];
      if (position != kNoRow) deaths_.push_back({position, death.commit});
    }
  }

  // Under the latch: the rowset takes the memrowset's place, in memory and in the log.
  Status Publish() {
    const auto state = tablet_.state();
    auto rowsets = state->rowsets();
    auto mems = state->mem_rowsets();
    std::erase(mems, mem_);
    StorageRecord record{.table = tablet_.table(), .tablet = tablet_.index(), .mem_rowset = mem_->id()};
    if (rowset_ != nullptr) {
      TranslateDeaths();
      rowset_->deletes().Append(deaths_);
      rowset_->SetFlushedFrom(mem_->id());
      rowsets.push_back(rowset_);
      record.added.push_back({rowset_->info(), deaths_});
    }
    const auto next = std::make_shared<TabletState>(std::move(rowsets), std::move(mems));
    const ByteBuffer body = SerializeStorageRecord(record);
    const Bytes parts[] = {body};
    RETURN_IF_ERROR(context_.log->AppendStorage(parts, [&](Lsn) { tablet_.SetState(next); }));
    if (rowset_ != nullptr) rowset_->MarkObsolete(false);
    context_.memory.Remove(MemoryUse::kMemRowsets, mem_->charged());
    context_.metrics.flushes.fetch_add(1, std::memory_order_relaxed);
    return Status::Ok();
  }

  Tablet& tablet_;
  const Table& table_;
  const std::shared_ptr<MemRowset> mem_;
  StoreContext& context_;
  std::vector<uint32_t> position_of_;  // by the memrowset's row; kNoRow: dropped
  std::shared_ptr<Rowset> rowset_;
  std::vector<Death> deaths_;
  uint64_t deaths_seen_ = 0;
};

}  // namespace

std::vector<uint32_t> SortedRows(const MemRowset& mem, uint64_t horizon) {
  const uint32_t count = mem.rows();
  if (!mem.is_keyed()) {
    std::vector<uint32_t> rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  const KeyParts parts(mem);
  constexpr uint16_t kDropped = KeyParts::kMaxParts;
  std::vector<uint16_t> part_of(count, kDropped);
  std::vector<uint32_t> ends(parts.size() + 1);  // of each part; where it begins while it is filled
  const bool any_dead = mem.deaths() != 0;
  MemRowset::KeyBuffer buffer;
  for (uint32_t row = 0; row < count; ++row) {
    if (any_dead && mem.DiedAt(row) <= horizon) continue;
    part_of[row] = static_cast<uint16_t>(parts.PartOf(mem.KeyOf(row, &buffer)));
    ++ends[part_of[row] + 1u];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<uint32_t> rows(ends.back());
  for (uint32_t row = 0; row < count; ++row) {
    if (part_of[row] != kDropped) rows[ends[part_of[row]]++] = row;
  }
  std::vector<SortEntry> entries;
  for (size_t part = 0; part < parts.size(); ++part) {
    const uint32_t begin = part == 0 ? 0 : ends[part - 1];
    SortByKey(mem, std::span(rows).subspan(begin, ends[part] - begin), &entries);
  }
  return rows;
}

namespace {

Status EncodeKeysOf(const MemRowset& mem, const std::vector<ColumnView>& columns, EncodedKeys* keys) {
  std::vector<Type> types;
  std::vector<ColumnView> views;
  for (const size_t column : mem.key()) {
    types.push_back(mem.schema()[column].type);
    views.push_back(columns[column]);
  }
  return EncodeKeys(types, views, keys);
}

}  // namespace

Status WriteRows(const MemRowset& mem, std::span<const uint32_t> rows, bool with_commits, RowsetWriter* writer) {
  const size_t piece_rows = writer->row_group_rows();
  std::vector<GatheredColumn> columns(mem.schema().size());
  std::vector<ColumnView> views(columns.size());
  std::vector<std::string_view> keys;
  EncodedKeys encoded;
  std::vector<uint64_t> commits;
  const MemRowset::Births births(mem);
  std::vector<std::vector<const uint8_t*>> blocks;
  for (size_t i = 0; i < columns.size(); ++i) blocks.push_back(mem.Blocks(i));
  for (size_t begin = 0; begin < rows.size(); begin += piece_rows) {
    const auto piece = rows.subspan(begin, std::min(piece_rows, rows.size() - begin));
    for (size_t i = 0; i < columns.size(); ++i) {
      GatherRows(mem, i, blocks[i], piece, &columns[i]);
      views[i] = columns[i].View();
    }
    keys.clear();
    commits.clear();
    if (mem.is_keyed() && mem.HasStableKeys()) {
      for (const uint32_t row : piece) keys.push_back(mem.KeyOf(row, nullptr));
    } else if (mem.is_keyed()) {
      RETURN_IF_ERROR(EncodeKeysOf(mem, views, &encoded));
      for (size_t i = 0; i < encoded.size(); ++i) keys.push_back(encoded[i]);
    }
    for (const uint32_t row : piece) {
      if (with_commits) commits.push_back(births[row]);
    }
    RETURN_IF_ERROR(writer->Append(views, piece.size(), keys, commits));
  }
  return Status::Ok();
}

Status FlushTablet(Tablet& tablet, const Table& table) {
  const std::lock_guard flush_lock(tablet.flush_mutex());
  // Those that are frozen: the one that takes rows from now on is in the state too, and will not stay empty.
  std::vector<std::shared_ptr<MemRowset>> frozen;
  {
    const std::lock_guard latch(tablet.latch());
    tablet.Freeze();
    const auto state = tablet.state();
    for (const auto& mem : state->mem_rowsets()) {
      if (mem->rows() != 0) frozen.push_back(mem);
    }
  }
  for (auto& mem : frozen) RETURN_IF_ERROR(MemRowsetFlush(tablet, table, std::move(mem)).Run());
  return Status::Ok();
}

}  // namespace petalite::store
