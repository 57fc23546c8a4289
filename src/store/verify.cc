#include "store/verify.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/hash.h"
#include "column/key_encoding.h"
#include "parquet/checksums.h"
#include "store/lookup.h"

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
  RowsetVerifier(FileSystem& fs, const Table& table, size_t position, std::vector<Damage>* damage)
      : fs_(fs), table_(table), rowset_(*table.rowsets()[position]), position_(position), damage_(damage) {}

  void Run() {
    const auto size = fs_.FileSize(rowset_.path());
    if (!size.ok()) return Report(size.status().message());
    if (*size != rowset_.info().bytes) {
      Report(fmt::format("{}: {} bytes, the catalog says {}", rowset_.path(), *size, rowset_.info().bytes));
    }
    const auto file = rowset_.file();
    if (!file.ok()) return Report(file.status().message());
    file_ = *file;
    CheckMagic();
    CheckIndexes();
    uint64_t rows = 0;
    for (size_t group = 0; group < file_->row_groups(); ++group) {
      rows += file_->rows(group);
      for (size_t column = 0; column < table_.schema().size(); ++column) CheckChunk(group, column);
    }
    if (rows != rowset_.info().rows) {
      Report(fmt::format("{}: {} rows, the catalog says {}", rowset_.path(), rows, rowset_.info().rows));
    }
    if (table_.is_keyed()) CheckKeys();
  }

 private:
  void Report(std::string what) { damage_->push_back({std::move(what)}); }

  std::string Place(size_t group, size_t column) const {
    return fmt::format("{}: row group {}, column '{}'", rowset_.path(), group, table_.schema()[column].name);
  }

  // Readers look for the magic at the end; other programs may look at the beginning.
  void CheckMagic() {
    constexpr std::string_view kMagic = "PAR1";
    const auto magic = ReadBytes(0, kMagic.size());
    if (!magic.ok()) return Report(magic.status().message());
    if (AsText(*magic) != kMagic) Report(rowset_.path() + ": offset 0: the magic 'PAR1' is damaged");
  }

  // Scans do without damaged indexes, and tell nobody.
  void CheckIndexes() {
    const auto& groups = file_->metadata().row_groups;
    const auto section = file_->LoadSection(std::string(parquet::kChecksumsSection));
    if (!section.ok()) return Report(section.status().message());
    const auto checksums = parquet::ParseChecksums(*section, groups.size() * table_.schema().size());
    if (!checksums.ok()) return Report(checksums.status().WithContext(rowset_.path()).message());
    for (size_t group = 0; group < groups.size(); ++group) {
      for (size_t column = 0; column < table_.schema().size(); ++column) {
        const parquet::ColumnMetadata& chunk = groups[group].columns[column];
        const parquet::ChunkChecksums& crcs = (*checksums)[group * table_.schema().size() + column];
        const std::string place = Place(group, column);
        CheckIndex(place, "column index", chunk.column_index_offset, chunk.column_index_length, crcs.column_index);
        CheckIndex(place, "offset index", chunk.offset_index_offset, chunk.offset_index_length, crcs.offset_index);
      }
    }
  }

  void CheckIndex(const std::string& place, std::string_view what, int64_t offset, int32_t length, uint32_t crc) {
    if (offset <= 0) return;
    const auto bytes = ReadBytes(static_cast<uint64_t>(offset), static_cast<size_t>(std::max(length, 0)));
    if (!bytes.ok()) return Report(bytes.status().message());
    if (Crc32c(*bytes) != crc) Report(fmt::format("{}: the {} at offset {} is damaged", place, what, offset));
  }

  Result<ByteBuffer> ReadBytes(uint64_t offset, size_t length) {
    ASSIGN_OR_RETURN(const auto file, fs_.Open(rowset_.path(), OpenMode::kRead));
    ByteBuffer bytes(length);
    RETURN_IF_ERROR(file->Read(offset, bytes));
    return bytes;
  }

  void CheckChunk(size_t group, size_t column) {
    const auto pages = file_->LoadPages(group, column);
    if (!pages.ok()) return Report(pages.status().message());
    const auto filter = file_->LoadFilter(group, column);
    if (!filter.ok()) return Report(filter.status().message());
    if (*filter == nullptr && file_->metadata().row_groups[group].columns[column].bloom_filter_offset > 0) {
      Report(Place(group, column) + ": the column filter is damaged");
    }
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
    std::vector<ZoneMap> zones = {rowset_.info().columns[column].zone, file_->RowGroupZone(group, column)};
    if (!pages.zones.empty()) {
      zones.push_back(pages.zones[number]);
      if (zones.back().has_null_count && zones.back().null_count != page.null_count()) {
        Report(
            fmt::format("{}: {} nulls, the column index says {}", place, page.null_count(), zones.back().null_count));
      }
    }
    const parquet::LeafColumn& leaf = file_->columns()[column];
    const Type& type = table_.schema()[column].type;
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

  void CheckKeys() {
    const auto filter = rowset_.LoadKeyFilter();
    if (!filter.ok()) return Report(filter.status().WithContext(rowset_.path()).message());
    const auto index = rowset_.LoadKeyIndex();
    if (!index.ok()) return Report(index.status().WithContext(rowset_.path()).message());
    // Later rowsets only: a key that two share is found once.
    const Table others(0, table_.name(), table_.schema(), table_.key(), table_.options(),
                       {table_.rowsets().begin() + static_cast<ptrdiff_t>(position_) + 1, table_.rowsets().end()});
    std::string last;
    for (size_t group = 0; group < file_->row_groups(); ++group) {
      const auto pages = rowset_.Pages(group, table_.key()[0]);
      if (!pages.ok()) return;  // reported with its chunk
      for (uint32_t page = 0; page < (*pages)->locations.size(); ++page) {
        const Status checked = CheckKeyPage(others, **filter, **index, static_cast<uint32_t>(group), page, &last);
        if (!checked.ok()) return Report(checked.WithContext(rowset_.path()).message());
      }
    }
    if (last != rowset_.info().max_key) Report(rowset_.path() + ": the last key is not the one in the catalog");
  }

  Status CheckKeyPage(const Table& others, const KeyFilter& filter, const KeyIndex& index, uint32_t group,
                      uint32_t page, std::string* last) {
    std::vector<std::shared_ptr<const parquet::DecodedPage>> decoded;
    for (const size_t column : table_.key()) {
      ASSIGN_OR_RETURN(decoded.emplace_back(), rowset_.Page(group, column, page));
    }
    const std::vector<Type> types = table_.KeyTypes();
    std::vector<std::string> keys;
    for (uint32_t row = 0; row < decoded[0]->rows(); ++row) {
      std::vector<Value> values;
      for (size_t i = 0; i < decoded.size(); ++i) values.push_back(PageValue(*decoded[i], types[i], row));
      ASSIGN_OR_RETURN(std::string key, EncodeKey(types, values));
      const std::string where =
          fmt::format("row group {}, row {} of page {}: key {}", group, row, page, FormatKey(types, values));
      if (last->empty() ? key != rowset_.info().min_key : key <= *last) return Corruption("{} is out of order", where);
      if (!filter.MayContain(Xxh64(key))) return Corruption("{}: the key filter denies it", where);
      const KeyIndex::Position position = index.Find(key);
      if (position.row_group != group || position.page != page) {
        return Corruption("{}: the key index names row group {}, page {}", where, position.row_group, position.page);
      }
      *last = key;
      keys.push_back(std::move(key));
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    ASSIGN_OR_RETURN(const auto twice, FindFirstPresent(others, views));
    if (!twice.has_value()) return Status::Ok();
    ASSIGN_OR_RETURN(const auto values, DecodeKey(types, keys[twice->number]));
    return Corruption("key {} is also in {}", FormatKey(types, values), twice->position.rowset->path());
  }

  FileSystem& fs_;
  const Table& table_;
  const Rowset& rowset_;
  const size_t position_;
  std::vector<Damage>* damage_;
  const parquet::FileReader* file_ = nullptr;
};

}  // namespace

Result<std::vector<Damage>> Verify(Database& database, const std::function<bool(size_t, size_t)>& progress) {
  std::vector<Damage> damage;
  const auto version = database.Current();
  size_t all = 0;
  for (const auto& [_, schema] : version->schemas) {
    for (const auto& [_, table] : schema.tables) all += table->rowsets().size();
  }
  size_t done = 0;
  for (const auto& [_, schema] : version->schemas) {
    for (const auto& [_, table] : schema.tables) {
      for (size_t i = 0; i < table->rowsets().size(); ++i) {
        RowsetVerifier(database.fs(), *table, i, &damage).Run();
        if (!progress(++done, all)) return Interrupted("verification was interrupted");
      }
    }
  }
  ASSIGN_OR_RETURN(const auto orphans, database.FindOrphans());
  for (const std::string& path : orphans) damage.push_back({path + ": the catalog does not name this file"});
  return damage;
}

}  // namespace petalite::store
