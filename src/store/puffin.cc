#include "store/puffin.h"

#include <unordered_set>

#include <nlohmann/json.hpp>

#include "base/checksum.h"

namespace petalite::store {
namespace {

using nlohmann::ordered_json;

// Magics, as a little-endian load sees them.
constexpr uint32_t kMagic = 0x31414650;         // PFA1
constexpr uint32_t kVectorMagic = 0x6439d3d1;   // D1 D3 39 64
constexpr uint32_t kCommitsMagic = 0x31434450;  // PDC1
constexpr const char* kCreatedBy = "petalite version 0.1.0";
constexpr int64_t kRowPosition = 2147483645;  // Iceberg's reserved field id of _pos, what a deletion vector is about
constexpr size_t kFooterTail = 12;            // payload size, flags, magic
constexpr size_t kVectorFrame = 12;           // length, magic, CRC-32

uint32_t LoadBe32(const uint8_t* from) { return __builtin_bswap32(LoadLe<uint32_t>(from)); }
void AppendBe32(ByteBuffer& out, uint32_t value) { AppendLe<uint32_t>(out, __builtin_bswap32(value)); }

Result<ByteBuffer> ReadBlob(const RandomFile& file, const BlobLocation& location, uint64_t file_size,
                            const char* what) {
  if (location.offset > file_size || location.length > file_size - location.offset) {
    return Corruption("{}: {} bytes in a file of {}", what, location.length, file_size);
  }
  ByteBuffer blob(location.length);
  RETURN_IF_ERROR(file.Read(location.offset, blob));
  if (Crc32c(blob) != location.crc) return Corruption("{}: checksum mismatch", what);
  return blob;
}

std::string Where(const std::string& path, uint64_t offset) { return fmt::format("{}: offset {}", path, offset); }

}  // namespace

ByteBuffer EncodeDeletionVector(const DeleteVector& dead) {
  const ByteBuffer bitmap = dead.Serialize();
  const uint64_t bitmaps = dead.count() == 0 ? 0 : 1;
  ByteBuffer blob;
  blob.reserve(kVectorFrame + 12 + bitmap.size());
  AppendBe32(blob, static_cast<uint32_t>(bitmaps == 0 ? 12 : 16 + bitmap.size()));  // magic, bitmaps, key, bitmap
  AppendLe<uint32_t>(blob, kVectorMagic);
  AppendLe<uint64_t>(blob, bitmaps);
  if (bitmaps != 0) {
    AppendLe<uint32_t>(blob, 0);  // the upper half of all positions
    AppendBytes(blob, bitmap);
  }
  AppendBe32(blob, Crc32(Bytes(blob).subspan(4)));
  return blob;
}

Result<std::shared_ptr<const DeleteVector>> DecodeDeletionVector(Bytes blob) {
  if (blob.size() < kVectorFrame + 8) return Corruption("deletion vector: {} bytes", blob.size());
  const Bytes body = blob.subspan(4, blob.size() - 8);
  if (LoadBe32(blob.data()) != body.size()) return Corruption("deletion vector: wrong length");
  if (LoadLe<uint32_t>(body.data()) != kVectorMagic) return Corruption("deletion vector: wrong magic");
  if (LoadBe32(blob.data() + 4 + body.size()) != Crc32(body)) return Corruption("deletion vector: checksum mismatch");
  ByteReader reader(body.subspan(4));
  uint64_t bitmaps = 0;
  uint32_t key = 0;
  if (!reader.Read(&bitmaps)) return Corruption("deletion vector: no header");
  if (bitmaps == 0) {
    if (reader.remaining() != 0) return Corruption("deletion vector: {} bytes too many", reader.remaining());
    return DeleteVector::Of({});
  }
  if (bitmaps != 1 || !reader.Read(&key) || key != 0) {
    return Corruption("deletion vector: positions beyond 2^32, which no rowset has");
  }
  return DeleteVector::Parse(reader.rest());
}

ByteBuffer EncodeDeleteCommits(std::span<const Death> deaths) {
  ByteBuffer blob;
  AppendLe<uint32_t>(blob, kCommitsMagic);
  AppendVarint(blob, deaths.size());
  uint64_t commit = 0;
  for (size_t begin = 0, end = 0; begin < deaths.size(); begin = end) {
    while (end < deaths.size() && deaths[end].commit == deaths[begin].commit) ++end;
    CHECK(deaths[begin].commit > commit);
    AppendVarint(blob, deaths[begin].commit - commit);
    AppendVarint(blob, end - begin);
    commit = deaths[begin].commit;
    for (size_t i = begin; i < end; ++i) AppendLe<uint32_t>(blob, deaths[i].position);
  }
  AppendLe<uint32_t>(blob, Crc32c(blob));
  return blob;
}

Result<std::vector<Death>> DecodeDeleteCommits(Bytes blob) {
  if (blob.size() < sizeof(kCommitsMagic) + 4) return Corruption("delete commits: {} bytes", blob.size());
  const Bytes body = blob.first(blob.size() - 4);
  if (LoadLe<uint32_t>(body.data()) != kCommitsMagic) return Corruption("delete commits: wrong magic");
  if (LoadLe<uint32_t>(blob.data() + body.size()) != Crc32c(body)) {
    return Corruption("delete commits: checksum mismatch");
  }
  ByteReader reader(body.subspan(sizeof(kCommitsMagic)));
  uint64_t count = 0;
  if (!reader.ReadVarint(&count) || count > reader.remaining() / sizeof(uint32_t)) {
    return Corruption("delete commits: malformed header");
  }
  std::vector<Death> deaths;
  deaths.reserve(count);
  uint64_t commit = 0;
  while (deaths.size() < count) {
    uint64_t more = 0;
    uint64_t run = 0;
    // kNeverDied is no commit.
    if (!reader.ReadVarint(&more) || !reader.ReadVarint(&run) || more == 0 || more >= kNeverDied - commit || run == 0 ||
        run > count - deaths.size() || run > reader.remaining() / sizeof(uint32_t)) {
      return Corruption("delete commits: malformed run after {} deaths", deaths.size());
    }
    commit += more;
    for (uint64_t i = 0; i < run; ++i) {
      Death death{.commit = commit};
      if (!reader.Read(&death.position)) return Corruption("delete commits: ends early");
      deaths.push_back(death);
    }
  }
  if (reader.remaining() != 0) return Corruption("delete commits: {} bytes too many", reader.remaining());
  return deaths;
}

struct PuffinWriter::Footer {
  ordered_json blobs = ordered_json::array();

  void Add(const char* type, const BlobLocation& location, ordered_json properties) {
    // Snapshot and sequence number are those of the commit that adds the file, so -1 stands for "inherited".
    blobs.push_back({{"type", type},
                     {"fields", {kRowPosition}},
                     {"snapshot-id", -1},
                     {"sequence-number", -1},
                     {"offset", location.offset},
                     {"length", location.length},
                     {"properties", std::move(properties)}});
  }
};

PuffinWriter::PuffinWriter(std::unique_ptr<SequentialWriter> file)
    : file_(std::move(file)), footer_(std::make_unique<Footer>()) {}

PuffinWriter::~PuffinWriter() = default;

Result<std::unique_ptr<PuffinWriter>> PuffinWriter::Create(FileSystem& fs, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, fs.Create(path));
  ByteBuffer magic;
  AppendLe<uint32_t>(magic, kMagic);
  RETURN_IF_ERROR(file->Append(magic));
  return std::unique_ptr<PuffinWriter>(new PuffinWriter(std::move(file)));
}

Result<BlobLocation> PuffinWriter::AppendBlob(Bytes blob) {
  const BlobLocation location{.offset = file_->size(), .length = blob.size(), .crc = Crc32c(blob)};
  RETURN_IF_ERROR(file_->Append(blob));
  return location;
}

Result<DeleteLogLocation> PuffinWriter::AddDeleteLog(const std::string& referenced_file,
                                                     const DeleteLogContents& contents) {
  DeleteLogLocation location{.settled_at = contents.settled_at};
  if (contents.dead == nullptr || contents.dead->count() == 0) {
    CHECK(contents.young.empty());
    return location;
  }
  location.cardinality = contents.dead->count();
  ASSIGN_OR_RETURN(location.dead, AppendBlob(EncodeDeletionVector(*contents.dead)));
  footer_->Add(kDeletionVectorBlob, location.dead,
               {{"referenced-data-file", referenced_file}, {"cardinality", std::to_string(location.cardinality)}});
  if (contents.young.empty()) return location;
  CHECK(contents.young.front().commit > contents.settled_at && contents.young.size() <= location.cardinality);
  ASSIGN_OR_RETURN(location.commits, AppendBlob(EncodeDeleteCommits(contents.young)));
  footer_->Add(kDeleteCommitsBlob, location.commits,
               {{"referenced-data-file", referenced_file},
                {"cardinality", std::to_string(contents.young.size())},
                {"settled-at", std::to_string(contents.settled_at)}});
  return location;
}

Result<PuffinFileInfo> PuffinWriter::Finish() {
  const ordered_json payload = {{"blobs", std::move(footer_->blobs)}, {"properties", {{"created-by", kCreatedBy}}}};
  const std::string text = payload.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (text.size() > INT32_MAX) return Unsupported("{}: Puffin footer of {} bytes", file_->path(), text.size());
  ByteBuffer footer;
  AppendLe<uint32_t>(footer, kMagic);
  AppendBytes(footer, AsBytes(text));
  AppendLe<uint32_t>(footer, static_cast<uint32_t>(text.size()));
  AppendLe<uint32_t>(footer, 0);  // flags
  AppendLe<uint32_t>(footer, kMagic);
  RETURN_IF_ERROR(file_->Append(footer));
  RETURN_IF_ERROR(file_->Sync());
  const PuffinFileInfo info{.bytes = file_->size(), .footer_crc = Crc32c(footer)};
  RETURN_IF_ERROR(file_->Close());
  return info;
}

namespace {

// What is young is dead, once, and not yet settled.
Status CheckYoung(const DeleteVector& dead, const std::vector<Death>& young, uint64_t settled_at) {
  std::unordered_set<uint32_t> seen;
  for (const Death& death : young) {
    if (death.commit <= settled_at) return Corruption("delete commits: commit {} is settled", death.commit);
    if (!dead.Contains(death.position)) return Corruption("delete commits: row {} is not dead", death.position);
    if (!seen.insert(death.position).second) return Corruption("delete commits: row {} died twice", death.position);
  }
  return Status::Ok();
}

Result<std::unique_ptr<DeleteLog>> Restore(const std::shared_ptr<const DeleteVector>& dead,
                                           const std::vector<Death>& young, uint64_t settled_at) {
  if (young.empty()) return std::make_unique<DeleteLog>(dead, settled_at);
  RETURN_IF_ERROR(CheckYoung(*dead, young, settled_at));
  std::vector<uint32_t> positions;
  positions.reserve(young.size());
  for (const Death& death : young) positions.push_back(death.position);
  auto log = std::make_unique<DeleteLog>(DeleteVector::Without(*dead, positions), settled_at);
  log->Append(young);
  return log;
}

}  // namespace

Result<std::unique_ptr<DeleteLog>> LoadDeleteLog(FileSystem& fs, const std::string& path,
                                                 const DeleteLogLocation& location) {
  if (location.cardinality == 0) return std::make_unique<DeleteLog>(nullptr, location.settled_at);
  ASSIGN_OR_RETURN(const auto file, fs.Open(path, OpenMode::kRead));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  const std::string in_dead = Where(path, location.dead.offset);
  const auto dead_bytes = ReadBlob(*file, location.dead, size, "deletion vector");
  if (!dead_bytes.ok()) return dead_bytes.status().WithContext(in_dead);
  const auto dead = DecodeDeletionVector(*dead_bytes);
  if (!dead.ok()) return dead.status().WithContext(in_dead);
  if ((*dead)->count() != location.cardinality) {
    return Corruption("{}: deletion vector: {} positions, and the catalog says {}", in_dead, (*dead)->count(),
                      location.cardinality);
  }
  std::vector<Death> young;
  const std::string in_commits = Where(path, location.commits.offset);
  if (location.commits.length > 0) {
    const auto commit_bytes = ReadBlob(*file, location.commits, size, "delete commits");
    if (!commit_bytes.ok()) return commit_bytes.status().WithContext(in_commits);
    auto decoded = DecodeDeleteCommits(*commit_bytes);
    if (!decoded.ok()) return decoded.status().WithContext(in_commits);
    young = *std::move(decoded);
  }
  auto log = Restore(*dead, young, location.settled_at);
  if (!log.ok()) return log.status().WithContext(in_commits);
  return log;
}

namespace {

bool TakeString(const ordered_json& object, const char* name, std::string* to) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return false;
  *to = found->get<std::string>();
  return true;
}

bool TakeInteger(const ordered_json& object, const char* name, int64_t* to) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return false;
  if (found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX) return false;
  *to = found->get<int64_t>();
  return true;
}

bool TakeProperties(const ordered_json& object, std::map<std::string, std::string>* to) {
  const auto found = object.find("properties");
  if (found == object.end()) return true;
  if (!found->is_object()) return false;
  for (const auto& [name, value] : found->items()) {
    if (!value.is_string()) return false;
    (*to)[name] = value.get<std::string>();
  }
  return true;
}

bool TakeBlob(const ordered_json& object, PuffinBlob* blob) {
  int64_t offset = 0;
  int64_t length = 0;
  if (!object.is_object() || !TakeString(object, "type", &blob->type) ||
      !TakeInteger(object, "snapshot-id", &blob->snapshot_id) ||
      !TakeInteger(object, "sequence-number", &blob->sequence_number) || !TakeInteger(object, "offset", &offset) ||
      !TakeInteger(object, "length", &length) || offset < 0 || length < 0 ||
      !TakeProperties(object, &blob->properties)) {
    return false;
  }
  blob->offset = static_cast<uint64_t>(offset);
  blob->length = static_cast<uint64_t>(length);
  if (object.contains("compression-codec") && !TakeString(object, "compression-codec", &blob->compression_codec)) {
    return false;
  }
  const auto fields = object.find("fields");
  if (fields == object.end() || !fields->is_array()) return false;
  for (const ordered_json& field : *fields) {
    if (!field.is_number_integer()) return false;
    blob->fields.push_back(field.get<int64_t>());
  }
  return true;
}

Status ParsePayload(Bytes payload, PuffinFooter* footer) {
  const ordered_json json = ordered_json::parse(payload.begin(), payload.end(), nullptr, false);
  if (!json.is_object() || !json.contains("blobs") || !json["blobs"].is_array() ||
      !TakeProperties(json, &footer->properties)) {
    return Corruption("not the JSON of a Puffin footer");
  }
  uint64_t end = sizeof(kMagic);
  for (const ordered_json& object : json["blobs"]) {
    PuffinBlob blob;
    if (!TakeBlob(object, &blob)) return Corruption("malformed blob {}", footer->blobs.size());
    if (blob.offset != end || blob.length > footer->offset - end) {
      return Corruption("blob {} stands at {}, length {}, where offset {} is next", footer->blobs.size(), blob.offset,
                        blob.length, end);
    }
    end += blob.length;
    footer->blobs.push_back(std::move(blob));
  }
  if (end != footer->offset) return Corruption("{} bytes before it belong to no blob", footer->offset - end);
  return Status::Ok();
}

Status ReadFooter(const RandomFile& file, std::optional<uint32_t> expected_crc, PuffinFooter* footer) {
  ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  uint8_t head[sizeof(kMagic)];
  uint8_t tail[kFooterTail];
  footer->offset = size;
  if (size < sizeof(head) + sizeof(kMagic) + sizeof(tail)) return Corruption("no room in {} bytes", size);
  footer->offset = size - sizeof(tail);
  RETURN_IF_ERROR(file.Read(0, head));
  RETURN_IF_ERROR(file.Read(size - sizeof(tail), tail));
  const auto payload_size = LoadLe<uint32_t>(tail);
  const auto flags = LoadLe<uint32_t>(tail + 4);
  if (LoadLe<uint32_t>(tail + 8) != kMagic) return Corruption("wrong magic at the file's end");
  if (LoadLe<uint32_t>(head) != kMagic) return Corruption("wrong magic at the file's beginning");
  if (flags != 0) return Unsupported("flags {:#x}", flags);
  if (payload_size > size - sizeof(tail) - 2 * sizeof(kMagic)) return Corruption("a payload of {} bytes", payload_size);
  footer->offset = size - sizeof(tail) - payload_size - sizeof(kMagic);
  ByteBuffer bytes(size - footer->offset);
  RETURN_IF_ERROR(file.Read(footer->offset, bytes));
  footer->crc = Crc32c(bytes);
  if (expected_crc.has_value() && footer->crc != *expected_crc) return Corruption("checksum mismatch");
  if (LoadLe<uint32_t>(bytes.data()) != kMagic) return Corruption("wrong magic");
  return ParsePayload(Bytes(bytes).subspan(sizeof(kMagic), payload_size), footer);
}

}  // namespace

Result<PuffinFooter> ReadPuffinFooter(FileSystem& fs, const std::string& path, std::optional<uint32_t> expected_crc) {
  ASSIGN_OR_RETURN(const auto file, fs.Open(path, OpenMode::kRead));
  PuffinFooter footer;
  if (const Status read = ReadFooter(*file, expected_crc, &footer); !read.ok()) {
    return read.WithContext(Where(path, footer.offset) + ": Puffin footer");
  }
  return footer;
}

Status CheckPuffinFile(FileSystem& fs, const std::string& path, uint32_t footer_crc) {
  ASSIGN_OR_RETURN(const PuffinFooter footer, ReadPuffinFooter(fs, path, footer_crc));
  ASSIGN_OR_RETURN(const auto file, fs.Open(path, OpenMode::kRead));
  for (const PuffinBlob& blob : footer.blobs) {
    ByteBuffer bytes(blob.length);
    RETURN_IF_ERROR(file->Read(blob.offset, bytes));
    const Status whole = blob.type == kDeletionVectorBlob  ? DecodeDeletionVector(bytes).status()
                         : blob.type == kDeleteCommitsBlob ? DecodeDeleteCommits(bytes).status()
                                                           : Corruption("a blob of type '{}'", blob.type);
    if (!whole.ok()) return whole.WithContext(Where(path, blob.offset));
  }
  return Status::Ok();
}

}  // namespace petalite::store
