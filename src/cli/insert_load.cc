#include "cli/insert_load.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/hash.h"
#include "column/column_vector.h"
#include "store/transaction.h"

namespace petalite::cli {
namespace {

constexpr const char* kTable = "load";

double Since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Keys are numbers sent through a bijection: random to look at, and no two the same.
class BatchMaker {
 public:
  explicit BatchMaker(const InsertLoadOptions& options) : options_(options), random_(1) {
    schema_.fields = {{.name = "k", .type = Type::Of(options.key == "uuid" ? TypeId::kUuid : TypeId::kInt64)}};
    key_ = {"k"};
    if (options.key == "composite") {
      schema_.fields = {{.name = "a", .type = Type::Of(TypeId::kInt32)},
                        {.name = "b", .type = Type::Of(TypeId::kString)}};
      key_ = {"a", "b"};
    }
    for (uint64_t i = 0; i < options.payload; ++i) {
      schema_.fields.push_back({.name = "v" + std::to_string(i), .type = Type::Of(TypeId::kInt64)});
    }
    payload_.resize(options.payload);
  }

  const Schema& schema() const { return schema_; }
  const std::vector<std::string>& key() const { return key_; }

  // Rows [begin, begin + count) of the load; views are good until the next call.
  WriteBatch Make(uint64_t begin, uint64_t count, double updates) {
    numbers_.resize(count);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t number = begin + i;
      if (updates > 0 && begin > 0 && Chance(updates)) number = random_() % begin;
      numbers_[i] = Remix(number + 1);
    }
    WriteBatch batch{.op = updates > 0 ? WriteOp::kUpsert : WriteOp::kInsert, .rows = count};
    AddKeys(&batch);
    for (std::vector<uint64_t>& column : payload_) {
      column.resize(count);
      for (uint64_t& value : column) value = random_();
      batch.columns.push_back({.values = column.data(), .size = count});
    }
    return batch;
  }

 private:
  bool Chance(double part) { return static_cast<double>(random_() >> 11) < part * static_cast<double>(1ull << 53); }

  void AddKeys(WriteBatch* batch) {
    const size_t count = numbers_.size();
    if (options_.key == "int64") {
      batch->columns.push_back({.values = numbers_.data(), .size = count});
    } else if (options_.key == "uuid") {
      uuids_.resize(count);
      for (size_t i = 0; i < count; ++i) {
        uuids_[i] = {numbers_[i], static_cast<int64_t>(Remix(numbers_[i] ^ 0x9e3779b97f4a7c15ull))};
      }
      batch->columns.push_back({.values = uuids_.data(), .size = count});
    } else {
      small_.resize(count);
      texts_.resize(count);
      strings_.resize(count);
      for (size_t i = 0; i < count; ++i) {
        small_[i] = static_cast<int32_t>(numbers_[i] % 1000);
        texts_[i] = fmt::format("customer-{:016x}", numbers_[i]);
        strings_[i] = StringRef(texts_[i]);
      }
      batch->columns.push_back({.values = small_.data(), .size = count});
      batch->columns.push_back({.values = strings_.data(), .size = count});
    }
  }

  const InsertLoadOptions& options_;
  std::mt19937_64 random_;
  Schema schema_;
  std::vector<std::string> key_;
  std::vector<uint64_t> numbers_;
  std::vector<Int128> uuids_;
  std::vector<int32_t> small_;
  std::vector<std::string> texts_;
  std::vector<StringRef> strings_;
  std::vector<std::vector<uint64_t>> payload_;
};

uint64_t BytesUnder(const std::string& path) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

Status CollectRowsets(const store::Database& database, InsertLoadResult* result) {
  const auto table = database.Current()->FindTable({"main", kTable});
  double keys = 0;
  double weighted = 0;
  for (const auto& tablet : table->tablets()) {
    const auto state = tablet->state();
    result->rowsets += state->rowsets().size();
    result->rowsets_consulted = std::max<uint64_t>(result->rowsets_consulted, state->runs().size());
    for (const auto& rowset : state->rowsets()) {
      ASSIGN_OR_RETURN(const auto filter, rowset->LoadKeyFilter());
      keys += static_cast<double>(filter->keys());
      weighted += static_cast<double>(filter->keys()) * filter->real_fpp();
    }
  }
  result->real_fpp = keys == 0 ? 0 : weighted / keys;
  return Status::Ok();
}

// What is counted since a database was opened.
struct Counts {
  uint64_t user_bytes, wal_bytes, syncs, flushed, compacted, puffin, keys, probes, false_positives, key_pages, flushes,
      compactions, throttled;

  Counts Less(const Counts& other) const {
    return {user_bytes - other.user_bytes,
            wal_bytes - other.wal_bytes,
            syncs - other.syncs,
            flushed - other.flushed,
            compacted - other.compacted,
            puffin - other.puffin,
            keys - other.keys,
            probes - other.probes,
            false_positives - other.false_positives,
            key_pages - other.key_pages,
            flushes - other.flushes,
            compactions - other.compactions,
            throttled - other.throttled};
  }
  void Store(InsertLoadResult* result) const {
    result->user_bytes = user_bytes;
    result->wal_bytes = wal_bytes;
    result->syncs = syncs;
    result->flushed_bytes = flushed;
    result->compacted_bytes = compacted;
    result->puffin_bytes = puffin;
    result->keys = keys;
    result->filter_probes = probes;
    result->false_positives = false_positives;
    result->key_pages_read = key_pages;
    result->flushes = flushes;
    result->compactions = compactions;
    result->throttled_seconds = static_cast<double>(throttled) * 1e-6;
  }
};

Counts CountsOf(store::Database& database) {
  const store::Metrics& metrics = database.metrics();
  const store::WalStatistics wal = database.log().wal().statistics();
  return {metrics.user_bytes,      wal.bytes_written,       wal.syncs,
          metrics.flushed_bytes,   metrics.compacted_bytes, metrics.puffin_bytes,
          metrics.keys_resolved,   metrics.filter_probes,   metrics.false_positives,
          metrics.key_pages_read,  metrics.flushes,         metrics.compactions,
          metrics.throttled_micros};
}

}  // namespace

double InsertLoadResult::write_amplification() const {
  return user_bytes == 0 ? 0
                         : static_cast<double>(wal_bytes + flushed_bytes + compacted_bytes + puffin_bytes) /
                               static_cast<double>(user_bytes);
}

double InsertLoadResult::space_amplification() const {
  return user_bytes == 0 ? 0 : static_cast<double>(disk_bytes) / static_cast<double>(user_bytes);
}

Result<InsertLoadResult> RunInsertLoad(const std::string& path, const InsertLoadOptions& options,
                                       const std::function<bool(uint64_t)>& progress) {
  store::DatabaseOptions database_options = options.database;
  database_options.create = true;
  ASSIGN_OR_RETURN(const auto database, store::Database::Open(path, database_options));
  BatchMaker maker(options);
  {
    const auto transaction = database->Begin();
    TableDefinition definition{.name = {"main", kTable}, .schema = maker.schema(), .key = maker.key()};
    definition.options = {{"key_bloom_fpp", fmt::format("{}", options.key_bloom_fpp)}};
    RETURN_IF_ERROR(transaction->CreateTable(definition).status());
    RETURN_IF_ERROR(transaction->Commit());
  }
  for (uint64_t done = 0; done < options.preload; done += options.batch) {
    const uint64_t count = std::min(options.batch, options.preload - done);
    WriteBatch batch = maker.Make(done, count, 0);
    RETURN_IF_ERROR(database->Write({"main", kTable}, batch).status());
  }
  RETURN_IF_ERROR(database->Flush());
  RETURN_IF_ERROR(database->WaitUntilIdle());
  const Counts before_load = CountsOf(*database);
  InsertLoadResult result;
  result.rows = options.rows;
  const auto begin = std::chrono::steady_clock::now();
  auto point = begin;
  uint64_t at_point = 0;
  for (uint64_t done = 0; done < options.rows;) {
    const uint64_t count = std::min(options.batch, options.rows - done);
    const WriteBatch batch = maker.Make(options.preload + done, count, options.updates);
    RETURN_IF_ERROR(database->Write({"main", kTable}, batch).status());
    ++result.commits;
    const uint64_t before = done * options.points / options.rows;
    done += count;
    if (done * options.points / options.rows == before) continue;
    result.rows_per_s.push_back(static_cast<double>(done - at_point) / Since(point));
    point = std::chrono::steady_clock::now();
    at_point = done;
    if (!progress(done)) return Interrupted("the run was interrupted");
  }
  result.write_seconds = Since(begin);
  RETURN_IF_ERROR(database->Flush());
  RETURN_IF_ERROR(database->WaitUntilIdle());
  result.seconds = Since(begin);
  CountsOf(*database).Less(before_load).Store(&result);
  result.disk_bytes = BytesUnder(path + "/data");
  RETURN_IF_ERROR(CollectRowsets(*database, &result));
  return result;
}

uint64_t PeakMemory() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

}  // namespace petalite::cli
