#include "store/records.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "column/types.h"

namespace petalite::store {
namespace {

using nlohmann::json;

// Columns ------------------------------------------------------------------------------------------------------------

// A column: u8 width of a value (0: strings), u8 1 if a bitmap of valid rows follows; values, or u32 lengths and bytes.
void AppendColumn(const Type& type, const ColumnView& view, size_t rows, ByteBuffer* out) {
  const size_t width = type.IsString() ? 0 : type.Width();
  out->push_back(static_cast<uint8_t>(width));
  out->push_back(view.validity != nullptr ? 1 : 0);
  if (view.validity != nullptr) {
    const size_t at = out->size();
    out->resize(at + (rows + 7) / 8);
    for (size_t i = 0; i < rows; ++i) (*out)[at + i / 8] |= static_cast<uint8_t>(view.IsValid(i) << (i % 8));
  }
  VisitLayout(type, [&]<typename T>(T) {
    const size_t at = out->size();
    if constexpr (std::is_same_v<T, StringRef>) {
      size_t bytes = rows * sizeof(uint32_t);
      for (size_t i = 0; i < rows; ++i) bytes += view.IsValid(i) ? view.Value<StringRef>(i).size() : 0;
      out->resize(at + bytes);
      uint8_t* lengths = out->data() + at;
      uint8_t* text = lengths + rows * sizeof(uint32_t);
      for (size_t i = 0; i < rows; ++i) {
        const StringRef value = view.IsValid(i) ? view.Value<StringRef>(i) : StringRef();
        StoreLe(lengths + i * sizeof(uint32_t), value.size());
        if (value.size() != 0) std::memcpy(text, value.data(), value.size());
        text += value.size();
      }
    } else {
      out->resize(at + rows * sizeof(T));
      if (view.selection == nullptr) {
        if (rows != 0) std::memcpy(out->data() + at, view.values, rows * sizeof(T));
      } else {
        for (size_t i = 0; i < rows; ++i) StoreLe(out->data() + at + i * sizeof(T), view.Value<T>(i));
      }
    }
  });
}

template <typename T>
Status ReadField(ByteReader& reader, T* value) {
  return reader.Read(value) ? Status::Ok() : Corruption("the record ends within a change");
}

}  // namespace

void AppendTabletChange(const TabletChange& change, const Schema& schema, ByteBuffer* out) {
  AppendLe<uint64_t>(*out, change.table);
  AppendLe<uint32_t>(*out, change.tablet);
  AppendLe<uint64_t>(*out, change.mem_rowset);
  AppendLe<uint32_t>(*out, change.first_row);
  AppendLe<uint32_t>(*out, change.rows);
  AppendLe<uint32_t>(*out, change.rows == 0 ? 0 : static_cast<uint32_t>(schema.size()));
  AppendLe<uint32_t>(*out, static_cast<uint32_t>(change.deaths.size()));
  for (size_t i = 0; i < schema.size() && change.rows != 0; ++i) {
    AppendColumn(schema[i].type, change.columns[i], change.rows, out);
  }
  for (const SourceDeaths& deaths : change.deaths) {
    out->push_back(deaths.in_memory ? 1 : 0);
    AppendLe<uint64_t>(*out, deaths.source);
    AppendLe<uint32_t>(*out, static_cast<uint32_t>(deaths.positions.size()));
    AppendBytes(*out, {reinterpret_cast<const uint8_t*>(deaths.positions.data()), deaths.positions.size() * 4});
  }
}

// Reads one change after another off a record.
class ChangeDecoder {
 public:
  static Status Read(ByteReader& reader, DecodedChange* decoded) {
    TabletChange& change = decoded->change;
    uint32_t columns = 0;
    uint32_t sources = 0;
    RETURN_IF_ERROR(ReadField(reader, &change.table));
    RETURN_IF_ERROR(ReadField(reader, &change.tablet));
    RETURN_IF_ERROR(ReadField(reader, &change.mem_rowset));
    RETURN_IF_ERROR(ReadField(reader, &change.first_row));
    RETURN_IF_ERROR(ReadField(reader, &change.rows));
    RETURN_IF_ERROR(ReadField(reader, &columns));
    RETURN_IF_ERROR(ReadField(reader, &sources));
    for (uint32_t i = 0; i < columns; ++i) RETURN_IF_ERROR(ReadColumn(reader, decoded));
    for (uint32_t i = 0; i < sources; ++i) RETURN_IF_ERROR(ReadDeaths(reader, &change));
    return Status::Ok();
  }

 private:
  static Status ReadColumn(ByteReader& reader, DecodedChange* decoded) {
    const size_t rows = decoded->change.rows;
    uint8_t width = 0;
    uint8_t has_validity = 0;
    RETURN_IF_ERROR(ReadField(reader, &width));
    RETURN_IF_ERROR(ReadField(reader, &has_validity));
    decoded->widths_.push_back(width);
    ColumnView view{.size = rows};
    Bytes bytes;
    if (has_validity != 0) {
      if (!reader.Take((rows + 7) / 8, &bytes)) return Corruption("the record ends within a column");
      std::vector<uint64_t>& words = decoded->validity_.emplace_back((rows + 63) / 64);
      if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
      view.validity = words.data();
    }
    ByteBuffer& values = decoded->buffers_.emplace_back();
    if (width != 0) {
      if (rows > reader.remaining() / width || !reader.Take(rows * width, &bytes)) {
        return Corruption("the record ends within a column");
      }
      values.assign(bytes.begin(), bytes.end());
    } else {
      if (rows > reader.remaining() / sizeof(uint32_t) || !reader.Take(rows * sizeof(uint32_t), &bytes)) {
        return Corruption("the record ends within a column");
      }
      values.resize(rows * sizeof(StringRef));
      auto* strings = reinterpret_cast<StringRef*>(values.data());
      for (size_t i = 0; i < rows; ++i) {
        Bytes text;
        if (!reader.Take(LoadLe<uint32_t>(bytes.data() + i * sizeof(uint32_t)), &text)) {
          return Corruption("the record ends within a string");
        }
        strings[i] = StringRef(text.data(), text.size());
      }
    }
    view.values = values.data();
    decoded->change.columns.push_back(view);
    return Status::Ok();
  }

  static Status ReadDeaths(ByteReader& reader, TabletChange* change) {
    SourceDeaths& deaths = change->deaths.emplace_back();
    uint8_t in_memory = 0;
    uint32_t count = 0;
    Bytes bytes;
    RETURN_IF_ERROR(ReadField(reader, &in_memory));
    RETURN_IF_ERROR(ReadField(reader, &deaths.source));
    RETURN_IF_ERROR(ReadField(reader, &count));
    if (!reader.Take(size_t{count} * 4, &bytes)) return Corruption("the record ends within a list of deaths");
    deaths.in_memory = in_memory != 0;
    deaths.positions.resize(count);
    if (!bytes.empty()) std::memcpy(deaths.positions.data(), bytes.data(), bytes.size());
    return Status::Ok();
  }
};

// Everything else ----------------------------------------------------------------------------------------------------

ByteBuffer BoundBytes(const Type& type, const Value& value) {
  if (type.IsString()) {
    const Bytes text = AsBytes(value.as<std::string>());
    return {text.begin(), text.end()};
  }
  ByteBuffer slot(type.Width());
  value.ToSlot(type, slot.data());
  return slot;
}

Result<Value> BoundFromBytes(const Type& type, Bytes bytes) {
  if (type.IsString()) return Value(std::string(AsText(bytes)));
  if (bytes.size() != type.Width()) return Corruption("a bound of type {} has {} bytes", type.ToString(), bytes.size());
  return Value::FromSlot(type, bytes.data());
}

namespace {

json Binary(Bytes bytes) { return json::binary({bytes.begin(), bytes.end()}); }

// Reads members of a JSON object; the first that is missing or of another kind makes it fail, and the rest give zeroes.
class Members {
 public:
  explicit Members(const json& object) : object_(object), ok_(object.is_object()) {}

  template <typename T = uint64_t>
  T Number(const char* name) {
    const json* value = Find(name, [](const json& each) {
      return each.is_number_unsigned() && each.get<uint64_t>() <= uint64_t{std::numeric_limits<T>::max()};
    });
    return value == nullptr ? 0 : value->get<T>();
  }
  bool Bool(const char* name) {
    const json* value = Find(name, [](const json& each) { return each.is_boolean(); });
    return value != nullptr && value->get<bool>();
  }
  std::string Text(const char* name) {
    const json* value = Find(name, [](const json& each) { return each.is_string(); });
    return value == nullptr ? "" : value->get<std::string>();
  }
  Bytes Blob(const char* name) {
    const json* value = Find(name, [](const json& each) { return each.is_binary(); });
    return value == nullptr ? Bytes() : Bytes(value->get_binary());
  }
  const json& Array(const char* name) {
    static const json empty = json::array();
    const json* value = Find(name, [](const json& each) { return each.is_array(); });
    return value == nullptr ? empty : *value;
  }
  bool Has(const char* name) const { return object_.is_object() && object_.contains(name); }
  Status status() const { return ok_ ? Status::Ok() : Corruption("a record's members are malformed"); }

 private:
  template <typename Is>
  const json* Find(const char* name, Is&& is) {
    if (!ok_) return nullptr;
    const auto found = object_.find(name);
    ok_ = found != object_.end() && is(*found);
    return ok_ ? &*found : nullptr;
  }

  const json& object_;
  bool ok_;
};

json SchemaToJson(const Schema& schema) {
  json columns = json::array();
  for (const Field& field : schema.fields) {
    json& column = columns.emplace_back();
    column = {{"name", field.name}, {"type", field.type.ToString()}, {"null", field.nullable}, {"id", field.field_id}};
    if (!field.initial_default.is_null()) column["default"] = Binary(BoundBytes(field.type, field.initial_default));
  }
  return columns;
}

Result<Schema> SchemaFromJson(const json& columns) {
  Schema schema;
  for (const json& column : columns) {
    Members members(column);
    Field& field = schema.fields.emplace_back();
    field.name = members.Text("name");
    const std::string type = members.Text("type");
    RETURN_IF_ERROR(members.status());
    const auto parsed = Type::Parse(type);
    if (!parsed.ok()) return Corruption("a record's column '{}': {}", field.name, parsed.status().message());
    field.type = *parsed;
    field.nullable = members.Bool("null");
    field.field_id = members.Number<int32_t>("id");
    const bool has_default = members.Has("default");
    const Bytes initial_default = has_default ? members.Blob("default") : Bytes();
    RETURN_IF_ERROR(members.status());
    if (has_default) {
      ASSIGN_OR_RETURN(field.initial_default, BoundFromBytes(field.type, initial_default));
    }
  }
  return schema;
}

Result<std::vector<size_t>> KeyFromJson(const json& positions, const Schema& schema) {
  std::vector<size_t> key;
  for (const json& column : positions) {
    const bool names_column = column.is_number_unsigned() && column.get<size_t>() < schema.size();
    if (!names_column || !schema[column.get<size_t>()].type.CanBeKey()) {
      return Corruption("a record's key is malformed");
    }
    key.push_back(column.get<size_t>());
  }
  return key;
}

json ToJson(const ColumnStatistics& column, const Type& type) {
  const ZoneMap& zone = column.zone;
  json object = {{"nan", zone.may_have_nan},
                 {"min_exact", zone.min_exact},
                 {"max_exact", zone.max_exact},
                 {"compressed", column.compressed_bytes},
                 {"uncompressed", column.uncompressed_bytes},
                 {"filter", column.filter_bytes},
                 {"sketch", Binary(column.distinct.bytes())}};
  if (zone.has_null_count) object["nulls"] = zone.null_count;
  if (!zone.min.is_null()) object["min"] = Binary(BoundBytes(type, zone.min));
  if (!zone.max.is_null()) object["max"] = Binary(BoundBytes(type, zone.max));
  return object;
}

Result<ColumnStatistics> StatisticsFromJson(const json& object, const Type& type, uint64_t rows) {
  Members members(object);
  ColumnStatistics column;
  column.zone.rows = rows;
  column.zone.may_have_nan = members.Bool("nan");
  column.zone.min_exact = members.Bool("min_exact");
  column.zone.max_exact = members.Bool("max_exact");
  column.compressed_bytes = members.Number("compressed");
  column.uncompressed_bytes = members.Number("uncompressed");
  column.filter_bytes = members.Number("filter");
  column.zone.has_null_count = members.Has("nulls");
  if (column.zone.has_null_count) column.zone.null_count = members.Number("nulls");
  const bool has_min = members.Has("min");
  const bool has_max = members.Has("max");
  const Bytes min = has_min ? members.Blob("min") : Bytes();
  const Bytes max = has_max ? members.Blob("max") : Bytes();
  const Bytes sketch = members.Blob("sketch");
  RETURN_IF_ERROR(members.status());
  if (has_min) {
    ASSIGN_OR_RETURN(column.zone.min, BoundFromBytes(type, min));
  }
  if (has_max) {
    ASSIGN_OR_RETURN(column.zone.max, BoundFromBytes(type, max));
  }
  if (!column.distinct.Load(sketch)) return Corruption("a record's sketch is malformed");
  return column;
}

json ToJson(const RowsetInfo& info) {
  json columns = json::array();
  for (size_t i = 0; i < info.columns.size(); ++i) columns.push_back(ToJson(info.columns[i], info.schema[i].type));
  return {{"id", info.id},
          {"tablet", info.tablet},
          {"order", info.order},
          {"rows", info.rows},
          {"groups", info.row_groups},
          {"bytes", info.bytes},
          {"crc", info.footer_crc},
          {"min_key", Binary(AsBytes(info.min_key))},
          {"max_key", Binary(AsBytes(info.max_key))},
          {"min_commit", info.min_commit},
          {"max_commit", info.max_commit},
          {"commit_column", info.has_commit_column},
          {"versions", info.has_versions},
          {"schema", SchemaToJson(info.schema)},
          {"key", info.key},
          {"columns", std::move(columns)}};
}

Result<RowsetInfo> InfoFromJson(const json& object) {
  Members members(object);
  RowsetInfo info;
  info.id = members.Number("id");
  info.tablet = members.Number<uint32_t>("tablet");
  info.order = members.Number("order");
  info.rows = members.Number("rows");
  info.row_groups = members.Number("groups");
  info.bytes = members.Number("bytes");
  info.footer_crc = members.Number<uint32_t>("crc");
  info.min_key = AsText(members.Blob("min_key"));
  info.max_key = AsText(members.Blob("max_key"));
  info.min_commit = members.Number("min_commit");
  info.max_commit = members.Number("max_commit");
  info.has_commit_column = members.Bool("commit_column");
  info.has_versions = members.Bool("versions");
  ASSIGN_OR_RETURN(info.schema, SchemaFromJson(members.Array("schema")));
  ASSIGN_OR_RETURN(info.key, KeyFromJson(members.Array("key"), info.schema));
  const json& columns = members.Array("columns");
  RETURN_IF_ERROR(members.status());
  if (columns.size() != info.schema.size()) return Corruption("a record's rowset has statistics of other columns");
  for (size_t i = 0; i < columns.size(); ++i) {
    ASSIGN_OR_RETURN(auto column, StatisticsFromJson(columns[i], info.schema[i].type, info.rows));
    info.columns.push_back(std::move(column));
  }
  return info;
}

json ToJson(const CatalogChange& change) {
  json options = json::object();
  for (const auto& [name, value] : change.options) options[name] = value;
  return {{"kind", static_cast<int>(change.kind)},
          {"schema", change.name.schema},
          {"name", change.name.table},
          {"table", change.table},
          {"columns", SchemaToJson(change.schema)},
          {"next_field_id", change.schema.next_field_id},
          {"key", change.key},
          {"options", std::move(options)},
          {"tablets", change.tablets},
          {"sql", change.sql}};
}

Result<CatalogChange> ChangeFromJson(const json& object) {
  Members members(object);
  CatalogChange change;
  const uint64_t kind = members.Number("kind");
  if (kind < 1 || kind > 6) return Corruption("a record changes the catalog in an unknown way: {}", kind);
  change.kind = static_cast<CatalogChange::Kind>(kind);
  change.name = {members.Text("schema"), members.Text("name")};
  change.table = members.Number("table");
  ASSIGN_OR_RETURN(change.schema, SchemaFromJson(members.Array("columns")));
  change.schema.next_field_id = members.Number<int32_t>("next_field_id");
  ASSIGN_OR_RETURN(change.key, KeyFromJson(members.Array("key"), change.schema));
  change.tablets = members.Number<uint32_t>("tablets");
  change.sql = members.Text("sql");
  RETURN_IF_ERROR(members.status());
  if (!object.contains("options") || !object["options"].is_object()) return Corruption("a record has no options");
  for (const auto& [name, value] : object["options"].items()) {
    if (!value.is_string()) return Corruption("a record's option '{}' is malformed", name);
    change.options.emplace_back(name, value.get<std::string>());
  }
  return change;
}

// The library's parser calls itself for every level, so that what nests without end would end the stack.
class ShallowParser : public nlohmann::detail::json_sax_dom_parser<json> {
 public:
  explicit ShallowParser(json* root) : json_sax_dom_parser(*root, false) {}
  bool start_object(size_t size) { return ++depth_ <= kDepth && json_sax_dom_parser::start_object(size); }
  bool start_array(size_t size) { return ++depth_ <= kDepth && json_sax_dom_parser::start_array(size); }
  bool end_object() { return --depth_, json_sax_dom_parser::end_object(); }
  bool end_array() { return --depth_, json_sax_dom_parser::end_array(); }

 private:
  static constexpr int kDepth = 16;  // records nest to half of that
  int depth_ = 0;
};

Result<json> ParseMessagePack(Bytes bytes) {
  json parsed;
  ShallowParser parser(&parsed);
  const bool whole = json::sax_parse(bytes.begin(), bytes.end(), &parser, json::input_format_t::msgpack);
  if (!whole || !parsed.is_object()) return Corruption("a record's MessagePack is malformed");
  return parsed;
}

}  // namespace

ByteBuffer SerializeCatalogChanges(const std::vector<CatalogChange>& changes) {
  json list = json::array();
  for (const CatalogChange& change : changes) list.push_back(ToJson(change));
  return json::to_msgpack({{"catalog", std::move(list)}});
}

Result<std::vector<CatalogChange>> ParseCatalogChanges(Bytes bytes) {
  ASSIGN_OR_RETURN(const json parsed, ParseMessagePack(bytes));
  Members members(parsed);
  std::vector<CatalogChange> changes;
  for (const json& each : members.Array("catalog")) {
    ASSIGN_OR_RETURN(auto change, ChangeFromJson(each));
    changes.push_back(std::move(change));
  }
  RETURN_IF_ERROR(members.status());
  return changes;
}

ByteBuffer SerializeCommitMeta(const CommitMeta& meta) {
  ByteBuffer out;
  if (meta.catalog.empty() && meta.rowsets.empty()) {
    AppendLe<uint32_t>(out, 0);
    return out;
  }
  json catalog = json::array();
  for (const CatalogChange& change : meta.catalog) catalog.push_back(ToJson(change));
  json rowsets = json::array();
  for (const AddedRowset& rowset : meta.rowsets) {
    rowsets.push_back({{"table", rowset.table}, {"info", ToJson(rowset.info)}, {"dead", rowset.dead}});
  }
  const ByteBuffer packed = json::to_msgpack({{"catalog", std::move(catalog)}, {"rowsets", std::move(rowsets)}});
  AppendLe<uint32_t>(out, static_cast<uint32_t>(packed.size()));
  AppendBytes(out, packed);
  return out;
}

Result<CommitRecord> ParseCommitRecord(Bytes payload) {
  CommitRecord record;
  ByteReader reader(payload);
  uint32_t length = 0;
  Bytes packed;
  if (!reader.Read(&record.commit) || !reader.Read(&record.time) || !reader.Read(&length) ||
      !reader.Take(length, &packed)) {
    return Corruption("the record ends within its head");
  }
  if (length != 0) {
    ASSIGN_OR_RETURN(const json parsed, ParseMessagePack(packed));
    Members members(parsed);
    for (const json& each : members.Array("catalog")) {
      ASSIGN_OR_RETURN(auto change, ChangeFromJson(each));
      record.meta.catalog.push_back(std::move(change));
    }
    for (const json& each : members.Array("rowsets")) {
      Members rowset(each);
      AddedRowset& added = record.meta.rowsets.emplace_back();
      added.table = rowset.Number("table");
      for (const json& position : rowset.Array("dead")) {
        if (!position.is_number_unsigned() || position.get<uint64_t>() > UINT32_MAX) {
          return Corruption("a record's dead row is malformed");
        }
        added.dead.push_back(position.get<uint32_t>());
      }
      RETURN_IF_ERROR(rowset.status());
      ASSIGN_OR_RETURN(added.info, InfoFromJson(each.value("info", json())));
    }
    RETURN_IF_ERROR(members.status());
  }
  while (reader.remaining() > 0) RETURN_IF_ERROR(ChangeDecoder::Read(reader, &record.changes.emplace_back()));
  return record;
}

ByteBuffer SerializeStorageRecord(const StorageRecord& record) {
  json added = json::array();
  for (const StorageRecord::Added& each : record.added) {
    added.push_back({{"info", ToJson(each.info)}, {"deaths", Binary(EncodeDeleteCommits(each.deaths))}});
  }
  return json::to_msgpack({{"table", record.table},
                           {"tablet", record.tablet},
                           {"mem_rowset", record.mem_rowset},
                           {"removed", record.removed},
                           {"added", std::move(added)}});
}

Result<StorageRecord> ParseStorageRecord(Bytes payload) {
  ASSIGN_OR_RETURN(const json parsed, ParseMessagePack(payload));
  Members members(parsed);
  StorageRecord record;
  record.table = members.Number("table");
  record.tablet = members.Number<uint32_t>("tablet");
  record.mem_rowset = members.Number("mem_rowset");
  for (const json& id : members.Array("removed")) {
    if (!id.is_number_unsigned()) return Corruption("a record's rowset is malformed");
    record.removed.push_back(id.get<uint64_t>());
  }
  for (const json& each : members.Array("added")) {
    StorageRecord::Added& added = record.added.emplace_back();
    Members rowset(each);
    const Bytes deaths = rowset.Blob("deaths");
    RETURN_IF_ERROR(rowset.status());
    ASSIGN_OR_RETURN(added.info, InfoFromJson(each.value("info", json())));
    ASSIGN_OR_RETURN(added.deaths, DecodeDeleteCommits(deaths));
  }
  RETURN_IF_ERROR(members.status());
  return record;
}

}  // namespace petalite::store
