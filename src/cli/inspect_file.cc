#include <algorithm>

#include "base/nearest.h"
#include "bloom/split_block_filter.h"
#include "cli/inspect.h"

namespace petalite::cli {
namespace {

using parquet::ColumnMetadata;
using parquet::FileReader;
using parquet::LeafColumn;

const char* PhysicalName(parquet::PhysicalType type) {
  switch (type) {
    case parquet::PhysicalType::kBoolean:
      return "BOOLEAN";
    case parquet::PhysicalType::kInt32:
      return "INT32";
    case parquet::PhysicalType::kInt64:
      return "INT64";
    case parquet::PhysicalType::kInt96:
      return "INT96";
    case parquet::PhysicalType::kFloat:
      return "FLOAT";
    case parquet::PhysicalType::kDouble:
      return "DOUBLE";
    case parquet::PhysicalType::kByteArray:
      return "BYTE_ARRAY";
    case parquet::PhysicalType::kFixedLenByteArray:
      return "FIXED_LEN_BYTE_ARRAY";
  }
  return "unknown";
}

const char* EncodingName(parquet::Encoding encoding) {
  switch (encoding) {
    case parquet::Encoding::kPlain:
      return "PLAIN";
    case parquet::Encoding::kPlainDictionary:
      return "PLAIN_DICTIONARY";
    case parquet::Encoding::kRle:
      return "RLE";
    case parquet::Encoding::kBitPacked:
      return "BIT_PACKED";
    case parquet::Encoding::kDeltaBinaryPacked:
      return "DELTA_BINARY_PACKED";
    case parquet::Encoding::kDeltaLengthByteArray:
      return "DELTA_LENGTH_BYTE_ARRAY";
    case parquet::Encoding::kDeltaByteArray:
      return "DELTA_BYTE_ARRAY";
    case parquet::Encoding::kRleDictionary:
      return "RLE_DICTIONARY";
    case parquet::Encoding::kByteStreamSplit:
      return "BYTE_STREAM_SPLIT";
  }
  return "unknown";
}

void AddOnce(const std::string& name, Document* list) {
  if (std::find(list->begin(), list->end(), name) == list->end()) list->push_back(name);
}

// "all", "none", or how many of how many chunks have a thing.
std::string Share(size_t some, size_t all) {
  if (some == 0) return "none";
  return some == all ? "all" : fmt::format("{} of {}", some, all);
}

Document BoundText(const Type& type, const Value& bound) {
  return bound.is_null() ? Document() : Document(bound.ToString(type));
}

// Null counts and bounds of pieces, added up; unknown as soon as they are for one piece that needs them.
class ZoneSum {
 public:
  void Add(const ZoneMap& zone) {
    nulls_known_ = nulls_known_ && zone.has_null_count;
    nulls_ += zone.null_count;
    if (zone.rows == 0 || (zone.has_null_count && zone.null_count == zone.rows)) return;  // no value to bound
    Widen(zone.min, true, &min_, &min_known_);
    Widen(zone.max, false, &max_, &max_known_);
  }
  void Describe(const Type& type, Document* out) const {
    (*out)["nulls"] = nulls_known_ ? Document(nulls_) : Document();
    (*out)["min"] = min_known_ ? BoundText(type, min_) : Document();
    (*out)["max"] = max_known_ ? BoundText(type, max_) : Document();
  }

 private:
  static void Widen(const Value& bound, bool down, Value* sum, bool* known) {
    if (bound.is_null()) *known = false;
    if (!*known) return;
    const bool wider = sum->is_null() || (down ? Value::Compare(bound, *sum) < 0 : Value::Compare(bound, *sum) > 0);
    if (wider) *sum = bound;
  }

  uint64_t nulls_ = 0;
  Value min_, max_;
  bool nulls_known_ = true, min_known_ = true, max_known_ = true;
};

// In the table's type, where the file has a narrower one.
ZoneMap ZoneOf(const FileReader& reader, size_t group, const store::ColumnSource& source, const Type& type) {
  ZoneMap zone = reader.RowGroupZone(group, source.position);
  if (!source.converted) return zone;
  for (Value* bound : {&zone.min, &zone.max}) {
    if (!bound->is_null()) *bound = store::WidenValue(source.type, type, *bound);
  }
  return zone;
}

Document DescribeColumn(std::span<const InspectedFile> files, const LeafColumn& leaf, size_t column) {
  Document codecs = Document::array();
  Document encodings = Document::array();
  uint64_t compressed = 0;
  uint64_t uncompressed = 0;
  size_t chunks = 0;
  size_t filters = 0;
  size_t indexes = 0;
  ZoneSum zones;
  Document physical = Document::array();
  for (const InspectedFile& file : files) {
    const store::ColumnSource source = file.Source(column);
    if (source.absent()) continue;
    AddOnce(PhysicalName(file.reader->columns()[source.position].physical), &physical);
    for (size_t group = 0; group < file.reader->row_groups(); ++group) {
      const ColumnMetadata& chunk = file.reader->metadata().row_groups[group].columns[source.position];
      AddOnce(std::string(CodecName(chunk.codec)), &codecs);
      for (const auto encoding : chunk.encodings) AddOnce(EncodingName(encoding), &encodings);
      compressed += static_cast<uint64_t>(std::max<int64_t>(chunk.total_compressed_size, 0));
      uncompressed += static_cast<uint64_t>(std::max<int64_t>(chunk.total_uncompressed_size, 0));
      ++chunks;
      filters += chunk.bloom_filter_offset > 0;
      indexes += chunk.offset_index_offset > 0 && chunk.column_index_offset > 0;
      if (leaf.support.ok()) zones.Add(ZoneOf(*file.reader, group, source, leaf.field.type));
    }
  }
  Document out;
  out["column"] = leaf.field.name;
  out["type"] = leaf.support.ok() ? Document(leaf.field.type.ToString()) : Document();
  out["physical_type"] = physical.size() == 1 ? physical[0] : physical;
  out["codec"] = codecs;
  out["encodings"] = encodings;
  out["compressed_bytes"] = compressed;
  out["uncompressed_bytes"] = uncompressed;
  if (leaf.support.ok()) {
    zones.Describe(leaf.field.type, &out);
  } else {
    for (const char* unknown : {"nulls", "min", "max"}) out[unknown] = nullptr;
  }
  out["filters"] = Share(filters, chunks);
  out["page_index"] = Share(indexes, chunks);
  if (!leaf.support.ok()) out["cannot_be_read"] = leaf.support.message();
  return out;
}

// The members that say where a chunk is.
Document Place(const InspectedFile& file, size_t group) {
  Document out = Document::object();
  if (!file.label.is_null()) out["rowset"] = file.label;
  out["row_group"] = group;
  return out;
}

Status DescribePages(const InspectedFile& file, size_t group, size_t column, Document* list) {
  const LeafColumn& leaf = file.reader->columns()[column];
  ASSIGN_OR_RETURN(const auto pages, file.reader->LoadPages(group, column));
  for (size_t page = 0; page < pages->locations.size(); ++page) {
    Document out = Place(file, group);
    out["column"] = leaf.field.name;
    out["page"] = page;
    out["offset"] = pages->locations[page].offset;
    out["bytes"] = pages->locations[page].compressed_size;
    out["rows"] = pages->rows[page];
    const ZoneMap zone = pages->zones.empty() ? ZoneMap() : pages->zones[page];
    out["nulls"] = zone.has_null_count ? Document(zone.null_count) : Document();
    out["min"] = BoundText(leaf.field.type, zone.min);
    out["max"] = BoundText(leaf.field.type, zone.max);
    list->push_back(std::move(out));
  }
  return Status::Ok();
}

// Distinct values of a chunk: what the footer says or, where the chunk is the whole column, the store's estimate.
double DistinctValues(const InspectedFile& file, size_t group, size_t column) {
  const auto& statistics = file.reader->metadata().row_groups[group].columns[column].statistics;
  if (statistics.distinct_count.has_value()) return static_cast<double>(*statistics.distinct_count);
  return file.reader->row_groups() == 1 && column < file.distinct.size() ? file.distinct[column] : 0;
}

Status DescribeFilter(const InspectedFile& file, size_t group, size_t column, Document* list) {
  ASSIGN_OR_RETURN(const auto filter, file.reader->LoadFilter(group, column));
  if (filter == nullptr) return Status::Ok();
  const size_t bytes = filter->view().blocks() * bloom::kBlockBytes;
  const double distinct = DistinctValues(file, group, column);
  Document out = Place(file, group);
  out["column"] = file.reader->columns()[column].field.name;
  out["bytes"] = bytes;
  out["bits_per_distinct"] = distinct > 0 ? Document(static_cast<double>(bytes) * 8 / distinct) : Document();
  out["real_fpp"] = bloom::MeasuredFpp(filter->view());
  list->push_back(std::move(out));
  return Status::Ok();
}

using DescribeChunk = Status (*)(const InspectedFile&, size_t group, size_t column, Document* list);

// A list over all chunks of columns that can be read.
Result<Document> ForEachChunk(std::span<const InspectedFile> files, DescribeChunk describe) {
  Document list = Document::array();
  for (const InspectedFile& file : files) {
    for (size_t group = 0; group < file.reader->row_groups(); ++group) {
      for (size_t column = 0; column < file.reader->columns().size(); ++column) {
        if (!file.reader->columns()[column].support.ok()) continue;
        RETURN_IF_ERROR(describe(file, group, column, &list));
      }
    }
  }
  return list;
}

struct Probe {
  std::string text;
  size_t column = 0;
  Predicate predicate;
};

Result<Probe> ParseProbe(const std::string& text, const std::string& where, const std::vector<LeafColumn>& leaves) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return InvalidArgument("--probe {}: it is written COLUMN=VALUE", text);
  const std::string name = text.substr(0, equals);
  std::vector<std::string_view> names;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const LeafColumn& leaf = leaves[i];
    names.push_back(leaf.field.name);
    if (!SameName(leaf.field.name, name)) continue;
    if (!leaf.support.ok()) return leaf.support.WithContext(where);
    auto value = Value::Parse(leaf.field.type, text.substr(equals + 1));
    if (!value.ok()) return value.status().WithContext(fmt::format("{}: column '{}'", where, leaf.field.name));
    return Probe{text, i, Predicate::Compare(PredicateKind::kEqual, *std::move(value))};
  }
  return NotFound("{}: there is no column '{}'; the nearest is '{}'", where, name, NearestName(name, names));
}

Result<const char*> Answer(const InspectedFile& file, size_t group, const Type& type, const Probe& probe) {
  const FileReader& reader = *file.reader;
  const store::ColumnSource source = file.Source(probe.column);
  if (source.absent()) return "the column is younger";
  if (!MayMatch(probe.predicate, ZoneOf(reader, group, source, type))) return "excluded by zone map";
  const LeafColumn& leaf = reader.columns()[source.position];
  if (!leaf.can_filter || !source.same()) return "may be there";
  ASSIGN_OR_RETURN(const auto filter, reader.LoadFilter(group, source.position));
  if (filter == nullptr || FilterMayMatch(probe.predicate, leaf, filter->view())) return "may be there";
  return "excluded by filter";
}

Result<Document> DescribeProbes(const std::vector<std::string>& probes, const std::string& where,
                                const std::vector<LeafColumn>& leaves, std::span<const InspectedFile> files) {
  Document list = Document::array();
  for (const std::string& text : probes) {
    ASSIGN_OR_RETURN(const Probe probe, ParseProbe(text, where, leaves));
    for (const InspectedFile& file : files) {
      for (size_t group = 0; group < file.reader->row_groups(); ++group) {
        ASSIGN_OR_RETURN(const char* answer, Answer(file, group, leaves[probe.column].field.type, probe));
        Document out = Place(file, group);
        out["probe"] = probe.text;
        out["answer"] = answer;
        list.push_back(std::move(out));
      }
    }
  }
  return list;
}

}  // namespace

Document DescribeColumns(std::span<const InspectedFile> files, const std::vector<LeafColumn>& leaves) {
  Document list = Document::array();
  for (size_t i = 0; i < leaves.size(); ++i) list.push_back(DescribeColumn(files, leaves[i], i));
  return list;
}

Status DescribeDetails(const InspectOptions& options, const std::string& where, const std::vector<LeafColumn>& leaves,
                       std::span<const InspectedFile> files, Document* document) {
  if (options.pages) {
    ASSIGN_OR_RETURN((*document)["pages"], ForEachChunk(files, DescribePages));
  }
  if (options.filters) {
    ASSIGN_OR_RETURN((*document)["filters"], ForEachChunk(files, DescribeFilter));
  }
  if (!options.probes.empty()) {
    ASSIGN_OR_RETURN((*document)["probes"], DescribeProbes(options.probes, where, leaves, files));
  }
  return Status::Ok();
}

Result<Document> InspectFile(const InspectOptions& options) {
  ASSIGN_OR_RETURN(const auto reader, FileReader::Open(PosixFileSystem(), options.path));
  Document document;
  document["file"] = options.path;
  document["size"] = reader->file_size();
  document["rows"] = reader->metadata().num_rows;
  document["row_groups"] = reader->row_groups();
  document["created_by"] = reader->metadata().created_by;
  Document keys = Document::array();
  for (const auto& [key, _] : reader->metadata().key_value) keys.push_back(key);
  document["key_values"] = keys;
  const InspectedFile file{reader.get(), nullptr, {}};
  document["columns"] = DescribeColumns({&file, 1}, reader->columns());
  RETURN_IF_ERROR(DescribeDetails(options, options.path, reader->columns(), {&file, 1}, &document));
  return document;
}

}  // namespace petalite::cli
