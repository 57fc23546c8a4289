#include "store/verify.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/hash.h"
#include "column/key_encoding.h"
#include "parquet/checksums.h"
#include "store/catalog.h"
#include "store/key_resolver.h"
#include "store/snapshots.h"

namespace petalite::store {
namespace {

bool OutsideBounds(const Value& value, const ZoneMap& zone) {
  if (value.is_nan()) return !zone.may_have_nan;
  return (!zone.min.is_null() && Value::Compare(value, zone.min) < 0) ||
         (!zone.max.is_null() && Value::Compare(value, zone.max) > 0);
}

// Checks one rowset of a table; damage goes to a list.
class RowsetVerifier {
 public:
  RowsetVerifier(StoreContext& context, const Table& table, std::shared_ptr<const TabletState> state, size_t position,
                 std::vector<Damage>* damage)
      : context_(context),
        fs_(context.fs),
        table_(table),
        state_(std::move(state)),
        rowset_(*state_->rowsets()[position]),
        position_(position),
        horizon_(context.snapshots->horizon()),
        damage_(damage) {}

  void Run() {
    const auto size = fs_.FileSize(rowset_.path());
    if (!size.ok()) return Report(size.status().message());
    if (*size != rowset_.info().bytes) {
      Report(fmt::format("{}: {} bytes, the catalog says {}", rowset_.path(), *size, rowset_.info().bytes));
    }
    CheckMagic();
    // Past the cache, and past what is known of the file already: damage may have come after that was read.
    const auto file = rowset_.OpenAnew();
    if (!file.ok()) return Report(file.status().message());
    file_ = *file;
    const auto used = rowset_.file();  // before its pages are asked for
    if (!used.ok()) return Report(used.status().message());
    CheckStructures();
    uint64_t rows = 0;
    for (size_t group = 0; group < file_->row_groups(); ++group) {
      rows += file_->rows(group);
      for (size_t column = 0; column < file_->columns().size(); ++column) CheckChunk(group, column);
    }
    if (rows != rowset_.info().rows) {
      Report(fmt::format("{}: {} rows, the catalog says {}", rowset_.path(), rows, rowset_.info().rows));
    }
    const auto dead = rowset_.deletes().At(kNewestCommit);
    if (dead != nullptr && dead->CountRange(0, static_cast<uint32_t>(rows)) != dead->count()) {
      Report(fmt::format("{}: dead rows lie beyond its end", rowset_.path()));
    }
    if (table_.is_keyed()) CheckKeys();
  }

 private:
  void Report(std::string what) { damage_->push_back({std::move(what)}); }

  // The column of commits lies behind the table's.
  const Field& FieldOf(size_t column) const {
    static const Field commit = CommitField();
    return column < rowset_.schema().size() ? rowset_.schema()[column] : commit;
  }

  std::string Place(size_t group, size_t column) const {
    return fmt::format("{}: row group {}, column '{}'", rowset_.path(), group, FieldOf(column).name);
  }

  // Filters and indexes against their checksums: a scan reads on without a damaged one, here it is damage.
  void CheckStructures() {
    const auto section = file_->LoadSection(std::string(parquet::kChecksumsSection));
    if (!section.ok()) return Report(section.status().message());
    const size_t columns = file_->columns().size();
    const auto checksums = parquet::ParseChecksums(*section, file_->row_groups() * columns);
    if (!checksums.ok()) return Report(checksums.status().WithContext(rowset_.path()).message());
    for (size_t group = 0; group < file_->row_groups(); ++group) {
      for (size_t column = 0; column < columns; ++column) {
        const parquet::ColumnMetadata& chunk = file_->metadata().row_groups[group].columns[column];
        const parquet::ChunkChecksums& sums = (*checksums)[group * columns + column];
        const std::string place = Place(group, column);
        CheckRange(place, "column filter", chunk.bloom_filter_offset, chunk.bloom_filter_length, sums.filter);
        CheckRange(place, "column index", chunk.column_index_offset, chunk.column_index_length, sums.column_index);
        CheckRange(place, "offset index", chunk.offset_index_offset, chunk.offset_index_length, sums.offset_index);
      }
    }
  }

  void CheckRange(const std::string& place, std::string_view what, int64_t offset, int32_t length, uint32_t checksum) {
    if (offset <= 0) return;
    ByteBuffer bytes(static_cast<size_t>(std::max(length, 0)));
    const auto opened = fs_.Open(rowset_.path(), OpenMode::kRead);
    const Status read = opened.ok() ? (*opened)->Read(static_cast<uint64_t>(offset), bytes) : opened.status();
    if (!read.ok()) return Report(read.message());
    if (Crc32c(bytes) != checksum) Report(fmt::format("{}: the {} at offset {} is damaged", place, what, offset));
  }

  // The first four bytes, which no reader needs.
  void CheckMagic() {
    uint8_t magic[4] = {};
    const auto file = fs_.Open(rowset_.path(), OpenMode::kRead);
    const Status read = file.ok() ? (*file)->Read(0, magic) : file.status();
    if (!read.ok()) return Report(read.message());
    if (AsText(magic) != parquet::kMagic) Report(rowset_.path() + ": it does not begin with PAR1");
  }

  void CheckChunk(size_t group, size_t column) {
    const auto pages = file_->LoadPages(group, column);
    if (!pages.ok()) return Report(pages.status().message());
    const auto filter = file_->LoadFilter(group, column);
    if (!filter.ok()) return Report(filter.status().message());
    const auto dictionary = file_->LoadDictionary(group, column, **pages);
    if (!dictionary.ok()) return Report(dictionary.status().message());
    uint64_t rows = 0;
    for (size_t page = 0; page < (*pages)->locations.size(); ++page) {
      const auto decoded = file_->LoadPage(group, column, **pages, page, *dictionary);
      if (!decoded.ok()) return Report(decoded.status().message());
      CheckPage(group, column, page, **pages, filter->get(), **decoded);
      rows += (*decoded)->rows();
    }
    if (rows != file_->rows(group)) {
      Report(fmt::format("{}: {} rows, the row group has {}", Place(group, column), rows, file_->rows(group)));
    }
  }

  void CheckPage(size_t group, size_t column, size_t number, const parquet::ChunkPages& pages,
                 const parquet::ColumnFilter* filter, const parquet::DecodedPage& page) {
    const std::string place = fmt::format("{}, page {}", Place(group, column), number);
    std::vector<ZoneMap> zones = {file_->RowGroupZone(group, column)};
    if (column < rowset_.schema().size()) {
      zones.push_back(rowset_.info().columns[column].zone);
    } else {
      ZoneMap& zone = zones.emplace_back();
      zone.min = Value(static_cast<int64_t>(rowset_.info().min_commit));
      zone.max = Value(static_cast<int64_t>(rowset_.info().max_commit));
    }
    if (!pages.zones.empty()) {
      zones.push_back(pages.zones[number]);
      if (zones.back().has_null_count && zones.back().null_count != page.null_count()) {
        Report(
            fmt::format("{}: {} nulls, the column index says {}", place, page.null_count(), zones.back().null_count));
      }
    }
    const parquet::LeafColumn& leaf = file_->columns()[column];
    const Type& type = FieldOf(column).type;
    ForEachValue(page, type, [&](const Value& value) {
      if (type.IsOrdered()) {
        for (const ZoneMap& zone : zones) {
          if (!OutsideBounds(value, zone)) continue;
          Report(fmt::format("{}: {} lies outside the bounds", place, value.ToString(type)));
          return false;
        }
      }
      if (filter != nullptr && !filter->view().MayContain(parquet::FilterHash(leaf, value))) {
        Report(fmt::format("{}: the column filter denies {}", place, value.ToString(type)));
        return false;
      }
      return true;
    });
  }

  // Calls check(value) for every value that is not null (once per page for a dictionary's entry) while it says true.
  template <typename Check>
  static void ForEachValue(const parquet::DecodedPage& page, const Type& type, Check&& check) {
    if (page.is_dictionary()) {
      std::vector<bool> seen(page.dictionary()->size() + 1);
      seen.back() = true;  // the null slot
      for (uint32_t row = 0; row < page.rows(); ++row) {
        const uint32_t code = page.codes()[row];
        if (seen[code]) continue;
        seen[code] = true;
        const auto* slots = static_cast<const uint8_t*>(page.dictionary()->values());
        if (!check(Value::FromSlot(type, slots + code * type.Width()))) return;
      }
      return;
    }
    for (uint32_t row = 0; row < page.rows(); ++row) {
      if (page.validity() != nullptr && (page.validity()[row / 64] >> (row % 64) & 1) == 0) continue;
      if (!check(Value::FromSlot(type, static_cast<const uint8_t*>(page.values()) + row * type.Width()))) return;
    }
  }

  Result<std::shared_ptr<const KeyFilter>> LoadKeyFilter() const {
    ASSIGN_OR_RETURN(ByteBuffer section, file_->LoadSection("key_filter"));
    const auto bytes = std::make_shared<const ByteBuffer>(std::move(section));
    return KeyFilter::Parse(*bytes, bytes);
  }
  Result<std::shared_ptr<const KeyIndex>> LoadKeyIndex() const {
    ASSIGN_OR_RETURN(const ByteBuffer section, file_->LoadSection("key_index"));
    return KeyIndex::Parse(section);
  }

  void CheckKeys() {
    const auto filter = LoadKeyFilter();
    if (!filter.ok()) return Report(filter.status().WithContext(rowset_.path()).message());
    const auto index = LoadKeyIndex();
    if (!index.ok()) return Report(index.status().WithContext(rowset_.path()).message());
    std::string last;
    for (size_t group = 0; group < file_->row_groups(); ++group) {
      const auto pages = rowset_.Pages(group, rowset_.key()[0]);
      if (!pages.ok()) return;  // reported with its chunk
      for (uint32_t page = 0; page < (*pages)->locations.size(); ++page) {
        const Status checked = CheckKeyPage(**filter, **index, static_cast<uint32_t>(group), page, &last);
        if (!checked.ok()) return Report(checked.WithContext(rowset_.path()).message());
      }
    }
    if (last != rowset_.info().max_key) Report(rowset_.path() + ": the last key is not the one in the catalog");
  }

  Status CheckKeyPage(const KeyFilter& filter, const KeyIndex& index, uint32_t group, uint32_t page,
                      std::string* last) {
    ASSIGN_OR_RETURN(const auto keys, rowset_.KeyPage(group, page));
    ASSIGN_OR_RETURN(const uint32_t start, rowset_.PageStart(group, page));
    std::vector<std::string_view> views;
    std::vector<uint64_t> hashes;
    for (uint32_t row = 0; row < keys->size(); ++row) {
      const std::string_view key = (*keys)[row];
      views.push_back(key);
      hashes.push_back(Xxh64(key));
      const auto fail = [&](std::string_view what) -> Status {
        ASSIGN_OR_RETURN(const std::string text, Readable(key));
        return Corruption("row group {}, row {} of page {}: key {}{}", group, row, page, text, what);
      };
      const bool first = start + row == 0;
      const bool same = !first && key == *last;
      if (first ? key != rowset_.info().min_key : key < *last) return fail(" is out of order");
      if (same && !rowset_.info().has_versions) return fail(" occurs twice");
      if (!filter.MayContain(hashes.back())) return fail(": the key filter denies it");
      const KeyIndex::Position position = index.Find(key);
      const bool found = position.row_group == group && position.page == page;
      if (!found && !rowset_.info().has_versions) return fail(": the key index names another page");
      if (same) {
        ASSIGN_OR_RETURN(const Life newer, LifeOf(rowset_, start + row - 1));
        ASSIGN_OR_RETURN(const Life older, LifeOf(rowset_, start + row));
        if (newer.Overlaps(older)) return fail(": two rows have it at once");
      }
      *last = key;
    }
    return CheckUnique(start, views, hashes);
  }

  Result<std::string> Readable(std::string_view key) const {
    const auto types = table_.KeyTypes();
    ASSIGN_OR_RETURN(const auto values, DecodeKey(types, key));
    return FormatKey(types, values);
  }

  // From which commit to which a row is seen, as far as anybody can still read.
  struct Life {
    uint64_t begin;
    uint64_t end;
    bool Overlaps(const Life& other) const { return begin < other.end && other.begin < end; }
  };
  Life Within(uint64_t born, uint64_t died) const { return {std::max(born, horizon_), std::max(died, horizon_)}; }
  Result<Life> LifeOf(const Rowset& rowset, uint32_t position) const {
    ASSIGN_OR_RETURN(const uint64_t born, rowset.CommitOf(position));
    return Within(born, rowset.deletes().DeathOf(position));
  }

  // Invariant 1, against the rowsets behind this one, so that each pair is compared once, and against memory.
  Status CheckUnique(uint32_t start, std::span<const std::string_view> keys, std::span<const uint64_t> hashes) const {
    const KeyResolver resolver(context_, *state_, kNewestCommit);
    Status damage;
    for (size_t other = position_ + 1; other < state_->rowsets().size(); ++other) {
      const Rowset& rowset = *state_->rowsets()[other];
      RETURN_IF_ERROR(resolver.VisitRows(rowset, keys, hashes, [&](uint32_t number, uint32_t position) {
        damage = damage.ok() ? Compare(start + number, keys[number], LifeOf(rowset, position), rowset.path()) : damage;
        return damage.ok();
      }));
    }
    for (const auto& mem : state_->mem_rowsets()) {
      for (uint32_t i = 0; i < keys.size() && damage.ok(); ++i) {
        const uint32_t row = mem->rows() == 0 ? kNoRow : mem->FindNewest(keys[i], hashes[i]);
        if (row == kNoRow) continue;
        damage = Compare(start + i, keys[i], Within(mem->BornAt(row), mem->DiedAt(row)), "the log");
      }
    }
    return damage;
  }

  Status Compare(uint32_t position, std::string_view key, const Result<Life>& theirs, std::string_view where) const {
    RETURN_IF_ERROR(theirs.ok() ? Status::Ok() : theirs.status());
    ASSIGN_OR_RETURN(const Life mine, LifeOf(rowset_, position));
    if (!mine.Overlaps(*theirs)) return Status::Ok();
    ASSIGN_OR_RETURN(const std::string text, Readable(key));
    return Corruption("key {} is also in {}", text, where);
  }

  StoreContext& context_;
  FileSystem& fs_;
  const Table& table_;
  const std::shared_ptr<const TabletState> state_;
  const Rowset& rowset_;
  const size_t position_;
  const uint64_t horizon_;
  std::vector<Damage>* damage_;
  std::shared_ptr<const parquet::FileReader> file_;
};

}  // namespace

Result<std::vector<Damage>> Verify(Database& database, const std::function<bool(size_t, size_t)>& progress,
                                   const std::optional<TableName>& only) {
  std::vector<Damage> damage;
  const auto version = database.Current();
  auto tables = version->TablesById();
  std::optional<TableId> only_id;
  if (only.has_value()) {
    const auto table = version->FindTable(*only);
    if (table == nullptr) return NoSuchTable(*version, *only);
    only_id = table->id();
    tables = {{table->id(), table}};
  }
  size_t all = 0;
  for (const auto& [_, table] : tables) {
    for (const auto& tablet : table->tablets()) all += tablet->state()->rowsets().size();
  }
  size_t done = 0;
  for (const auto& [_, table] : tables) {
    for (const auto& tablet : table->tablets()) {
      const auto state = tablet->state();
      for (size_t i = 0; i < state->rowsets().size(); ++i) {
        RowsetVerifier(database.context(), *table, state, i, &damage).Run();
        if (!progress(++done, all)) return Interrupted("verification was interrupted");
      }
    }
  }
  for (const Status& each : database.CheckDeleteLogs(only_id)) damage.push_back({each.message()});
  // A crash may leave some, which the next open for writing removes.
  if (only.has_value() || database.read_only()) return damage;
  ASSIGN_OR_RETURN(const auto orphans, database.FindOrphans());
  for (const std::string& path : orphans) damage.push_back({path + ": the catalog does not name this file"});
  return damage;
}

Result<std::vector<std::string>> SalvageLog(const std::string& path, const DatabaseOptions& options) {
  FileSystem& fs = options.fs != nullptr ? *options.fs : PosixFileSystem();
  ASSIGN_OR_RETURN(const bool exists, fs.Exists(path + "/catalog.sqlite"));
  if (!exists) return NotFound("{}: there is no such database", path);
  ASSIGN_OR_RETURN(const auto lock, fs.Lock(path + "/LOCK", LockMode::kExclusive));
  ASSIGN_OR_RETURN(const auto catalog, CatalogFile::Open(fs, path + "/catalog.sqlite", true, false));
  ASSIGN_OR_RETURN(const CatalogImage image, catalog->Load());
  ASSIGN_OR_RETURN(const WalCheck check, CheckWal(fs, path + "/wal", image.replay_lsn));
  std::vector<std::string> found;
  if (check.sound()) return found;
  if (!check.damage.ok()) found.push_back(check.damage.message());
  for (const WalSegmentCheck& segment : check.segments) {
    if (!segment.damage.ok()) found.push_back(segment.damage.message());
  }
  RETURN_IF_ERROR(SalvageWal(fs, path + "/wal", image.replay_lsn));
  return found;
}

}  // namespace petalite::store
