#include <algorithm>
#include <deque>
#include <utility>

#include "base/checksum.h"
#include "parquet/checksums.h"
#include "parquet/row_group_writer.h"
#include "parquet/schema_mapping.h"
#include "parquet/writer.h"

namespace petalite::parquet {
Status CheckColumn(const Field& field, const ColumnOptions& options) {
  const Type& type = field.type;
  const auto fail = [&](std::string_view what) { return InvalidArgument("column '{}': {}", field.name, what); };
  if (!(options.bloom_fpp > 0 && options.bloom_fpp < 1)) return fail("bloom_fpp must lie between 0 and 1");
  if (type.id == TypeId::kDecimal && (type.precision < 1 || type.precision > 38 || type.scale > type.precision)) {
    return fail("a decimal has 1 to 38 digits, of which its scale is a part");
  }
  const PhysicalType physical = *ToSchemaElement(field).type;
  switch (options.encoding) {
    case EncodingChoice::kAuto:
    case EncodingChoice::kPlain:
      return Status::Ok();
    case EncodingChoice::kDictionary:
      return physical != PhysicalType::kBoolean ? Status::Ok() : fail("booleans have no dictionary encoding");
    case EncodingChoice::kDelta:
      return physical == PhysicalType::kInt32 || physical == PhysicalType::kInt64
                 ? Status::Ok()
                 : fail("delta encodes integers, dates, times and decimals of up to 18 digits only");
    case EncodingChoice::kRle:
      return physical == PhysicalType::kBoolean ? Status::Ok() : fail("rle encodes booleans only");
  }
  __builtin_unreachable();
}

namespace {

constexpr uint32_t kMaxPageRows = 1 << 20;
constexpr uint32_t kMaxRowGroupRows = 1 << 24;
constexpr size_t kMaxInFlight = 2;   // row groups being encoded while the next is filled
constexpr size_t kSliceRows = 4096;  // rows taken from one column after another: what a cache holds
constexpr std::string_view kCreatedBy = "petalite version 0.1.0 (build unknown)";

Status CheckOptions(const Schema& schema, const WriterOptions& options) {
  if (schema.size() == 0) return InvalidArgument("a Parquet file needs at least one column");
  if (options.columns.size() != schema.size()) {
    return InvalidArgument("{} column options for {} columns", options.columns.size(), schema.size());
  }
  if (options.page_rows == 0 || options.page_rows % 64 != 0 || options.page_rows > kMaxPageRows) {
    return InvalidArgument("page_rows is {}, and must be a multiple of 64 up to {}", options.page_rows, kMaxPageRows);
  }
  if (options.row_group_rows == 0 || options.row_group_rows % options.page_rows != 0 ||
      options.row_group_rows > kMaxRowGroupRows) {
    return InvalidArgument("row_group_rows is {}, and must be a multiple of page_rows ({}) up to {}",
                           options.row_group_rows, options.page_rows, kMaxRowGroupRows);
  }
  for (size_t i = 0; i < schema.size(); ++i) RETURN_IF_ERROR(CheckColumn(schema[i], options.columns[i]));
  return Status::Ok();
}

// The bounds of the whole from those of a part that follows.
void MergeZone(const ZoneMap& part, ZoneMap* whole) {
  const auto merge = [](const Value& bound, bool exact, bool is_min, Value* into, bool* into_exact) {
    if (bound.is_null()) return;
    const auto order = into->is_null() ? std::weak_ordering::less : Value::Compare(bound, *into);
    const bool replaces = into->is_null() || (is_min ? order < 0 : order > 0);
    if (replaces) *into = bound;
    // A bound that is a value of either part is one of the whole.
    *into_exact = replaces ? exact : *into_exact || (order == 0 && exact);
  };
  merge(part.min, part.min_exact, true, &whole->min, &whole->min_exact);
  merge(part.max, part.max_exact, false, &whole->max, &whole->max_exact);
  whole->rows += part.rows;
  whole->null_count += part.null_count;
  whole->may_have_nan |= part.may_have_nan;
}

// What Finish writes of a chunk behind the row groups.
struct PendingChunk {
  ByteBuffer column_index;
  ByteBuffer offset_index;
};

class FileWriterImpl : public FileWriter {
 public:
  FileWriterImpl(FileSystem& fs, const Schema& schema, WriterOptions options, std::vector<ChunkOptions> chunk_options,
                 std::unique_ptr<SequentialWriter> file);
  ~FileWriterImpl() override;

  Status WriteMagic() { return Remember(file_->Append(AsBytes(kMagic))); }
  Status Append(std::span<const ColumnView> columns, size_t rows) override;
  Status AddSection(const std::string& name, Bytes bytes, Bytes rest) override;
  Result<WrittenFile> Finish() override;
  uint64_t bytes() const override { return file_->size(); }
  const std::vector<uint64_t>& group_starts() const override { return group_starts_; }

 private:
  Status Remember(Status status);
  Status AppendRows(std::span<const ColumnView> columns, size_t rows);
  Status StartGroup();
  Status WriteOldestGroup();
  Status WriteChunk(EncodedChunk chunk, size_t column, RowGroup* group);
  Status WriteFilters(const std::vector<ByteBuffer>& filters, RowGroup* group);
  Status WriteGroups();
  Status FinishFile();
  Status WriteIndexes();
  Status WriteSection(const std::string& name, Bytes bytes, Bytes rest = {});
  Status WriteFooter();
  template <typename Use>
  Status ForEachChunk(Use use);

  FileSystem& fs_;
  const Schema schema_;
  const WriterOptions options_;
  const std::vector<ChunkOptions> chunk_options_;  // in front of what encodes with them
  std::unique_ptr<SequentialWriter> file_;
  Status failure_;         // the first error; nothing is done after it
  bool finished_ = false;  // successfully

  std::unique_ptr<RowGroupBuffer> filling_;
  std::deque<RowGroupEncoding> in_flight_;  // oldest first
  std::vector<std::unique_ptr<RowGroupBuffer>> spare_;

  FileMetadata metadata_;
  std::vector<PendingChunk> pending_;  // of all row groups, column by column
  FileChecksums checksums_;            // likewise
  WrittenFile written_;
  std::vector<uint64_t> group_starts_;
};

FileWriterImpl::FileWriterImpl(FileSystem& fs, const Schema& schema, WriterOptions options,
                               std::vector<ChunkOptions> chunk_options, std::unique_ptr<SequentialWriter> file)
    : fs_(fs),
      schema_(schema),
      options_(std::move(options)),
      chunk_options_(std::move(chunk_options)),
      file_(std::move(file)),
      filling_(std::make_unique<RowGroupBuffer>(schema_, options_.row_group_rows)) {
  metadata_.version = 1;
  metadata_.created_by = kCreatedBy;
  metadata_.key_value = options_.key_value;
  SchemaElement root;
  root.name = "schema";
  root.num_children = static_cast<int32_t>(schema_.size());
  metadata_.schema.push_back(std::move(root));
  for (const Field& field : schema_.fields) metadata_.schema.push_back(ToSchemaElement(field));
  metadata_.type_ordered.assign(schema_.size(), true);
  written_.columns.resize(schema_.size());
  for (ColumnSummary& column : written_.columns) {
    column.zone.has_null_count = true;
    column.zone.may_have_nan = false;
  }
}

FileWriterImpl::~FileWriterImpl() {
  // Tasks read the options of this writer.
  for (RowGroupEncoding& group : in_flight_) group.Cancel();
  if (finished_) return;
  const std::string path = file_->path();
  file_.reset();
  (void)fs_.Remove(path);  // best effort: nobody is left to tell
}

Status FileWriterImpl::Remember(Status status) {
  if (!status.ok() && failure_.ok()) failure_ = status;
  return status;
}

Status FileWriterImpl::Append(std::span<const ColumnView> columns, size_t rows) {
  RETURN_IF_ERROR(failure_);
  CHECK(!finished_ && columns.size() == schema_.size());
  for (const ColumnView& column : columns) CHECK(column.size == rows);
  return Remember(AppendRows(columns, rows));
}

Status FileWriterImpl::AppendRows(std::span<const ColumnView> columns, size_t rows) {
  for (size_t begin = 0; begin < rows;) {
    const size_t count = filling_->FittingRows(columns, begin, std::min(kSliceRows, rows - begin));
    if (count == 0) {
      RETURN_IF_ERROR(StartGroup());
      continue;
    }
    if (filling_->rows() == 0) group_starts_.push_back(written_.rows);
    const Status appended = filling_->Append(columns, begin, count, written_.rows);
    RETURN_IF_ERROR(appended.WithContext(file_->path()));
    written_.rows += count;
    begin += count;
  }
  return Status::Ok();
}

// Sends the filled group to be encoded and takes an empty buffer.
Status FileWriterImpl::StartGroup() {
  in_flight_.emplace_back(std::move(filling_), &chunk_options_).Start(options_.pool);
  const size_t allowed = options_.pool == nullptr ? 0 : kMaxInFlight - 1;
  while (in_flight_.size() > allowed) RETURN_IF_ERROR(WriteOldestGroup());
  if (spare_.empty()) {
    filling_ = std::make_unique<RowGroupBuffer>(schema_, options_.row_group_rows);
  } else {
    filling_ = std::move(spare_.back());
    spare_.pop_back();
  }
  return Status::Ok();
}

Status FileWriterImpl::WriteOldestGroup() {
  RowGroupEncoding encoding = std::move(in_flight_.front());
  in_flight_.pop_front();
  RowGroup group;
  group.num_rows = static_cast<int64_t>(encoding.rows());
  ASSIGN_OR_RETURN(std::vector<EncodedChunk> chunks, encoding.Wait());
  std::vector<ByteBuffer> filters;
  for (size_t c = 0; c < chunks.size(); ++c) {
    filters.push_back(std::move(chunks[c].filter));
    RETURN_IF_ERROR(WriteChunk(std::move(chunks[c]), c, &group));
  }
  RETURN_IF_ERROR(WriteFilters(filters, &group));
  metadata_.num_rows += group.num_rows;
  metadata_.row_groups.push_back(std::move(group));
  spare_.push_back(encoding.ReleaseBuffer());
  spare_.back()->Clear();
  return Status::Ok();
}

// Writes the pages, and turns the chunk's offsets into the file's.
Status FileWriterImpl::WriteChunk(EncodedChunk chunk, size_t column, RowGroup* group) {
  const auto base = static_cast<int64_t>(file_->size());
  RETURN_IF_ERROR(file_->Append(chunk.pages));
  const bool has_dictionary = chunk.metadata.data_page_offset != 0;
  if (has_dictionary) chunk.metadata.dictionary_page_offset = base;
  chunk.metadata.data_page_offset += base;
  for (PageLocation& page : chunk.offset_index.pages) page.offset += base;

  PendingChunk& pending = pending_.emplace_back();
  pending.column_index = std::move(chunk.column_index);
  SerializeOffsetIndex(chunk.offset_index, &pending.offset_index);
  chunk.checksums.offset_index = Crc32c(pending.offset_index);
  checksums_.push_back(std::move(chunk.checksums));

  group->total_byte_size += chunk.metadata.total_uncompressed_size;
  group->total_compressed_size += chunk.metadata.total_compressed_size;
  group->columns.push_back(std::move(chunk.metadata));

  ColumnSummary& summary = written_.columns[column];
  MergeZone(chunk.summary.zone, &summary.zone);
  summary.distinct.Merge(chunk.summary.distinct);
  summary.compressed_bytes += chunk.summary.compressed_bytes;
  summary.uncompressed_bytes += chunk.summary.uncompressed_bytes;
  summary.filter_bytes += chunk.summary.filter_bytes;
  return Status::Ok();
}

Status FileWriterImpl::AddSection(const std::string& name, Bytes bytes, Bytes rest) {
  RETURN_IF_ERROR(failure_);
  CHECK(!finished_);
  const std::string entry = std::string(kSectionKeyPrefix) + name;
  const auto same = [&](const auto& pair) { return pair.first == entry; };
  if (name == kChecksumsSection || std::any_of(metadata_.key_value.begin(), metadata_.key_value.end(), same)) {
    return AlreadyExists("{}: there is a section '{}' already", file_->path(), name);
  }
  RETURN_IF_ERROR(Remember(WriteGroups()));
  return Remember(WriteSection(name, bytes, rest));
}

// Calls use(metadata, pending) for the chunks in the order of the file.
template <typename Use>
Status FileWriterImpl::ForEachChunk(Use use) {
  size_t at = 0;
  for (RowGroup& group : metadata_.row_groups) {
    for (ColumnMetadata& column : group.columns) RETURN_IF_ERROR(use(column, pending_[at++]));
  }
  return Status::Ok();
}

// Behind the group's pages, so that nobody holds them until the end.
Status FileWriterImpl::WriteFilters(const std::vector<ByteBuffer>& filters, RowGroup* group) {
  for (size_t c = 0; c < filters.size(); ++c) {
    if (filters[c].empty()) continue;
    group->columns[c].bloom_filter_offset = static_cast<int64_t>(file_->size());
    group->columns[c].bloom_filter_length = static_cast<int32_t>(filters[c].size());
    RETURN_IF_ERROR(file_->Append(filters[c]));
  }
  return Status::Ok();
}

Status FileWriterImpl::WriteIndexes() {
  RETURN_IF_ERROR(ForEachChunk([&](ColumnMetadata& column, PendingChunk& pending) {
    if (pending.column_index.empty()) return Status::Ok();
    column.column_index_offset = static_cast<int64_t>(file_->size());
    column.column_index_length = static_cast<int32_t>(pending.column_index.size());
    return file_->Append(pending.column_index);
  }));
  return ForEachChunk([&](ColumnMetadata& column, PendingChunk& pending) {
    column.offset_index_offset = static_cast<int64_t>(file_->size());
    column.offset_index_length = static_cast<int32_t>(pending.offset_index.size());
    return file_->Append(pending.offset_index);
  });
}

Status FileWriterImpl::WriteSection(const std::string& name, Bytes bytes, Bytes rest) {
  metadata_.key_value.emplace_back(
      std::string(kSectionKeyPrefix) + name,
      fmt::format("{} {} {:08x}", file_->size(), bytes.size() + rest.size(), Crc32c(rest, Crc32c(bytes))));
  RETURN_IF_ERROR(file_->Append(bytes));
  return file_->Append(rest);
}

Status FileWriterImpl::WriteFooter() {
  ByteBuffer footer;
  SerializeFileMetadata(metadata_, &footer);
  if (footer.size() > INT32_MAX) return Unsupported("{}: the footer would exceed 2 GiB", file_->path());
  written_.footer_offset = file_->size();
  written_.footer_length = static_cast<uint32_t>(footer.size());
  AppendLe(footer, written_.footer_length);
  AppendBytes(footer, AsBytes(kMagic));
  written_.footer_crc = Crc32c(footer);
  return file_->Append(footer);
}

// What is left of the rows, and with them their buffers.
Status FileWriterImpl::WriteGroups() {
  if (filling_->rows() > 0) RETURN_IF_ERROR(StartGroup());
  while (!in_flight_.empty()) RETURN_IF_ERROR(WriteOldestGroup());
  spare_.clear();
  return Status::Ok();
}

Status FileWriterImpl::FinishFile() {
  RETURN_IF_ERROR(WriteGroups());
  RETURN_IF_ERROR(WriteIndexes());
  RETURN_IF_ERROR(WriteSection(std::string(kChecksumsSection), SerializeChecksums(checksums_)));
  RETURN_IF_ERROR(WriteFooter());
  written_.bytes = file_->size();
  written_.row_groups = metadata_.row_groups.size();
  RETURN_IF_ERROR(file_->Sync());
  return file_->Close();
}

Result<WrittenFile> FileWriterImpl::Finish() {
  RETURN_IF_ERROR(failure_);
  CHECK(!finished_);
  RETURN_IF_ERROR(Remember(FinishFile()));
  finished_ = true;
  return std::move(written_);
}

}  // namespace

Result<std::unique_ptr<FileWriter>> FileWriter::Create(FileSystem& fs, const std::string& path, const Schema& schema,
                                                       WriterOptions options) {
  RETURN_IF_ERROR(CheckOptions(schema, options).WithContext(path));
  std::vector<ChunkOptions> chunks;
  for (size_t i = 0; i < schema.size(); ++i) {
    const ColumnOptions& column = options.columns[i];
    ASSIGN_OR_RETURN(std::shared_ptr<const Codec> codec, MakeCodec(column.codec));
    const bool can_filter = schema[i].type.id != TypeId::kBool && schema[i].type.id != TypeId::kInterval;
    chunks.push_back({.codec = std::move(codec),
                      .bloom = column.bloom && can_filter,
                      .bloom_fpp = column.bloom_fpp,
                      .encoding = column.encoding,
                      .page_rows = options.page_rows});
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SequentialWriter> file, fs.Create(path));
  auto writer = std::make_unique<FileWriterImpl>(fs, schema, std::move(options), std::move(chunks), std::move(file));
  RETURN_IF_ERROR(writer->WriteMagic());
  return std::unique_ptr<FileWriter>(std::move(writer));
}

}  // namespace petalite::parquet
