#include "store/rowset_writer.h"

#include "base/hash.h"

namespace petalite::store {

RowsetWriter::RowsetWriter(std::string path, const Table& table, std::unique_ptr<parquet::FileWriter> file)
    : path_(std::move(path)), options_(table.options()), keyed_(table.is_keyed()), file_(std::move(file)) {}

Result<std::unique_ptr<RowsetWriter>> RowsetWriter::Create(FileSystem& fs, ThreadPool* pool, const std::string& path,
                                                           const Table& table, RowsetId id) {
  parquet::WriterOptions options;
  options.columns = table.options().columns();
  options.page_rows = table.options().page_rows();
  options.row_group_rows = table.options().row_group_rows();
  options.pool = pool;
  ASSIGN_OR_RETURN(auto file, parquet::FileWriter::Create(fs, path, table.schema(), std::move(options)));
  std::unique_ptr<RowsetWriter> writer(new RowsetWriter(path, table, std::move(file)));
  writer->info_.id = id;
  return writer;
}

Status RowsetWriter::Append(std::span<const ColumnView> columns, size_t rows, std::span<const std::string_view> keys) {
  CHECK(keys.size() == (keyed_ ? rows : 0));
  RETURN_IF_ERROR(file_->Append(columns, rows));
  for (size_t i = 0; i < keys.size(); ++i) {
    key_hashes_.push_back(Xxh64(keys[i]));
    const uint64_t row_in_group = (rows_ + i) % options_.row_group_rows();
    if (row_in_group % options_.page_rows() == 0) {
      key_index_.Add({static_cast<uint32_t>((rows_ + i) / options_.row_group_rows()),
                      static_cast<uint32_t>(row_in_group / options_.page_rows())},
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
    RETURN_IF_ERROR(file_->AddSection("key_filter", KeyFilter::Build(key_hashes_, options_.key_bloom_fpp())));
    RETURN_IF_ERROR(file_->AddSection("key_index", key_index_.Serialize()));
  }
  ASSIGN_OR_RETURN(parquet::WrittenFile written, file_->Finish());
  info_.rows = written.rows;
  info_.row_groups = written.row_groups;
  info_.bytes = written.bytes;
  info_.footer_crc = written.footer_crc;
  for (parquet::ColumnSummary& column : written.columns) {
    info_.columns.push_back({std::move(column.zone), column.distinct, column.compressed_bytes,
                             column.uncompressed_bytes, column.filter_bytes});
  }
  return info_;
}

}  // namespace petalite::store
