#include "store/rowset_writer.h"

#include <algorithm>

#include "base/hash.h"
#include "bloom/split_block_filter.h"

namespace petalite::store {
namespace {

constexpr size_t kAhead = 16;  // keys on their way to the cache while earlier ones are hashed: they lie anywhere

}  // namespace

WriterPlan PlanWriter(const TableOptions& options, size_t row_bytes, uint64_t keys, size_t budget) {
  // A group that is filled, two that are encoded, and of those what they become.
  constexpr size_t kParallelGroups = 5;
  constexpr size_t kSerialGroups = 2;
  const size_t filter = keys == 0 ? 0 : bloom::BlocksFor(keys, options.key_bloom_fpp()) * bloom::kBlockBytes;
  const size_t page_bytes = options.page_rows() * std::max<size_t>(row_bytes, 1);
  const size_t most_pages = options.row_group_rows() / options.page_rows();
  const size_t for_groups = budget > filter ? budget - filter : 0;
  WriterPlan plan;
  plan.parallel = for_groups >= kParallelGroups * most_pages * page_bytes;
  const size_t groups = plan.parallel ? kParallelGroups : kSerialGroups;
  const size_t pages = std::clamp<size_t>(for_groups / groups / page_bytes, 1, most_pages);
  plan.row_group_rows = static_cast<uint32_t>(pages * options.page_rows());
  plan.bytes = groups * pages * page_bytes + filter;
  return plan;
}

RowsetWriter::RowsetWriter(StoreContext& context, std::string path, const Target& target)
    : path_(std::move(path)),
      use_(context.files, path_),
      page_rows_(target.options.page_rows()),
      row_group_rows_(target.plan != nullptr ? target.plan->row_group_rows : target.options.row_group_rows()),
      keyed_(!target.key.empty()),
      key_filter_(target.keys, target.options.key_bloom_fpp()) {
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
  options.row_group_rows = target.plan != nullptr ? target.plan->row_group_rows : target.options.row_group_rows();
  options.pool = target.plan == nullptr || target.plan->parallel ? &context.pool : nullptr;
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
  const std::vector<uint64_t>& group_starts = file_->group_starts();
  std::vector<uint64_t> hashes(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size()) __builtin_prefetch(keys[i + kAhead].data());
    hashes[i] = Xxh64(keys[i]);
    if (i > 0 ? hashes[i] == hashes[i - 1] && keys[i] == keys[i - 1] : rows_ > 0 && keys[i] == info_.max_key) {
      info_.has_versions = true;
    }
    while (row_group_ + 1 < group_starts.size() && group_starts[row_group_ + 1] <= rows_ + i) ++row_group_;
    const uint64_t row_in_group = rows_ + i - group_starts[row_group_];
    if (row_in_group % page_rows_ == 0) {
      key_index_.Add({row_group_, static_cast<uint32_t>(row_in_group / page_rows_)}, keys[i]);
    }
  }
  if (!keys.empty()) {
    key_filter_.Add(hashes);
    if (rows_ == 0) info_.min_key = keys.front();
    info_.max_key = keys.back();
  }
  rows_ += rows;
  return Status::Ok();
}

Result<RowsetInfo> RowsetWriter::Finish() {
  if (keyed_) {
    key_filter_.Finish();
    RETURN_IF_ERROR(file_->AddSection("key_filter", key_filter_.header(), key_filter_.bits()));
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
