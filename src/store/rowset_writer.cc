#include "store/rowset_writer.h"

#include <algorithm>

#include "base/hash.h"

namespace petalite::store {

RowsetWriter::RowsetWriter(StoreContext& context, std::string path, const Target& target)
    : path_(std::move(path)),
      use_(context.files, path_),
      key_bloom_fpp_(target.options.key_bloom_fpp()),
      page_rows_(target.options.page_rows()),
      row_group_rows_(target.options.row_group_rows()),
      keyed_(!target.key.empty()) {
  info_.id = info_.order = target.id;
  info_.tablet = target.tablet;
  info_.schema = target.schema;
  info_.key = target.key;
  info_.has_commit_column = target.with_commits;
}

Result<std::unique_ptr<RowsetWriter>> RowsetWriter::Create(StoreContext& context, TableId table, const Target& target) {
  std::unique_ptr<RowsetWriter> writer(new RowsetWriter(context, context.RowsetPath(table, target.id), target));
  parquet::WriterOptions options;
  options.columns = target.options.columns();
  options.page_rows = target.options.page_rows();
  options.row_group_rows = target.options.row_group_rows();
  options.pool = &context.pool;
  Schema schema = target.schema;
  if (target.with_commits) {
    schema.fields.push_back(CommitField());
    options.columns.push_back({.codec = options.columns[0].codec, .bloom = false});
  }
  ASSIGN_OR_RETURN(writer->file_, parquet::FileWriter::Create(context.fs, writer->path_, schema, std::move(options)));
  return writer;
}

Status RowsetWriter::Append(std::span<const ColumnView> columns, size_t rows, std::span<const std::string_view> keys,
                            std::span<const uint64_t> commits) {
  CHECK(keys.size() == (keyed_ ? rows : 0) && commits.size() == (info_.has_commit_column ? rows : 0));
  if (rows == 0) return Status::Ok();
  if (commits.empty()) {
    RETURN_IF_ERROR(file_->Append(columns, rows));
  } else {
    std::vector<ColumnView> all(columns.begin(), columns.end());
    all.push_back({.values = commits.data(), .size = rows});
    RETURN_IF_ERROR(file_->Append(all, rows));
    const auto [least, most] = std::minmax_element(commits.begin(), commits.end());
    info_.min_commit = rows_ == 0 ? *least : std::min(info_.min_commit, *least);
    info_.max_commit = std::max(info_.max_commit, *most);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    key_hashes_.push_back(Xxh64(keys[i]));
    const std::string_view before = i > 0 ? keys[i - 1] : std::string_view(info_.max_key);
    if (rows_ + i > 0 && keys[i] == before) info_.has_versions = true;
    const uint64_t row_in_group = (rows_ + i) % row_group_rows_;
    if (row_in_group % page_rows_ == 0) {
      key_index_.Add(
          {static_cast<uint32_t>((rows_ + i) / row_group_rows_), static_cast<uint32_t>(row_in_group / page_rows_)},
          keys[i]);
    }
  }
  if (!keys.empty()) {
    if (rows_ == 0) info_.min_key = keys.front();
    info_.max_key = keys.back();
  }
  rows_ += rows;
  return Status::Ok();
}

Result<RowsetInfo> RowsetWriter::Finish() {
  if (keyed_) {
    RETURN_IF_ERROR(file_->AddSection("key_filter", KeyFilter::Build(key_hashes_, key_bloom_fpp_)));
    RETURN_IF_ERROR(file_->AddSection("key_index", key_index_.Serialize()));
  }
  ASSIGN_OR_RETURN(parquet::WrittenFile written, file_->Finish());
  info_.rows = written.rows;
  info_.row_groups = written.row_groups;
  info_.bytes = written.bytes;
  info_.footer_crc = written.footer_crc;
  written.columns.resize(info_.schema.size());  // without the commits
  for (parquet::ColumnSummary& column : written.columns) {
    info_.columns.push_back({std::move(column.zone), column.distinct, column.compressed_bytes,
                             column.uncompressed_bytes, column.filter_bytes});
  }
  return info_;
}

}  // namespace petalite::store
