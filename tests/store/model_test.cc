// A database against a model: tables as a std::map per commit. A sequence of operations is made from a seed, carried
// out on both, and compared: contents by scan and by lookup, old versions and their columns, held snapshots, after
// reopening and after a crash. A sequence that fails is shortened before it is shown.

#include <cstring>
#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "base/fault_file_system.h"
#include "column/key_encoding.h"
#include "store_testing.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

enum class Op : uint8_t {
  kInsert,
  kInsertOrIgnore,
  kUpsert,
  kUpdate,
  kDelete,
  kTransaction,
  kRollback,
  kConflict,
  kFlush,
  kCompact,
  kRewrite,
  kCheckpoint,
  kReopen,
  kCrash,
  kHold,
  kRelease,
  kTruncate,
  kAlter,
  kReadAll,
  kReadOld,
  kLookups,
  kVerify,
};
constexpr const char* kNames[] = {
    "insert",   "insert or ignore", "upsert",     "update", "delete", "transaction", "rollback", "conflict", "flush",
    "compact",  "rewrite",          "checkpoint", "reopen", "crash",  "hold",        "release",  "truncate", "alter",
    "read all", "read old",         "lookups",    "verify"};

struct Step {
  Op op;
  uint64_t seed;  // of what the operation itself draws
};

// What a row is besides its key: a number or null, a text, and a number or null in a column that comes and goes.
struct Row {
  std::optional<int64_t> number;
  std::string text;
  std::optional<int64_t> extra;
  bool operator==(const Row&) const = default;
};
using Rows = std::map<int64_t, Row>;

struct Contents {
  Rows rows;
  std::string extra;  // the name of that column; empty: there is none
  TypeId extra_type = TypeId::kInt16;
};
using State = std::map<std::string, Contents>;  // by table

// Which columns a batch gives besides number and key.
struct Given {
  bool text = true;
  bool extra = false;
};

const std::vector<std::string> kTables = {"one", "three", "text", "calm"};

// Whether writes that change nothing are left out of a table.
bool IsCalm(const std::string& table) { return table == "calm"; }

std::string TextOf(int64_t key) {
  return fmt::format("key-{}{}", key, std::string(static_cast<size_t>(key) % 40, 'x'));
}

// A batch as vectors, and what views of it need.
class Batch {
 public:
  Batch(WriteOp op, bool text_key, TypeId extra_type = TypeId::kInt16)
      : op_(op), text_key_(text_key), extra_type_(extra_type) {}

  void Add(int64_t key, const Row& row) {
    keys_.push_back(key);
    texts_.push_back(row.text);
    key_texts_.push_back(TextOf(key));
    numbers_.push_back(row.number.value_or(0));
    valid_.push_back(row.number.has_value());
    extras_.push_back(row.extra.value_or(0));
    extra_valid_.push_back(row.extra.has_value());
  }
  size_t rows() const { return keys_.size(); }

  WriteBatch Views(const Given& given) {
    strings_.clear();
    key_strings_.clear();
    for (const std::string& text : texts_) strings_.emplace_back(text);
    for (const std::string& text : key_texts_) key_strings_.emplace_back(text);
    words_.assign((rows() + 63) / 64, 0);
    extra_words_ = words_;
    for (size_t i = 0; i < rows(); ++i) {
      words_[i / 64] |= uint64_t{valid_[i]} << (i % 64);
      extra_words_[i / 64] |= uint64_t{extra_valid_[i]} << (i % 64);
    }
    const ColumnView key = text_key_ ? ColumnView{.values = key_strings_.data(), .size = rows()}
                                     : ColumnView{.values = keys_.data(), .size = rows()};
    const ColumnView number{.values = numbers_.data(), .validity = words_.data(), .size = rows()};
    WriteBatch batch{.op = op_, .rows = rows()};
    if (op_ == WriteOp::kDelete) {
      batch.fields = {1};
      batch.columns = {key};
      return batch;
    }
    batch.fields = {1, 0};
    batch.columns = {key, number};
    if (given.text) {
      batch.fields.push_back(2);
      batch.columns.push_back({.values = strings_.data(), .size = rows()});
    }
    if (given.extra) {
      batch.fields.push_back(3);
      batch.columns.push_back(Extras());
    }
    return batch;
  }

 private:
  // In the width that the column has now.
  ColumnView Extras() {
    narrow_.resize(rows() * 8);
    const size_t width = Type::Of(extra_type_).Width();
    for (size_t i = 0; i < rows(); ++i) std::memcpy(&narrow_[i * width], &extras_[i], width);
    return {.values = narrow_.data(), .validity = extra_words_.data(), .size = rows()};
  }

  const WriteOp op_;
  const bool text_key_;
  const TypeId extra_type_;
  std::vector<int64_t> keys_;
  std::vector<int64_t> numbers_, extras_;
  std::vector<bool> valid_, extra_valid_;
  std::vector<std::string> texts_, key_texts_;
  std::vector<StringRef> strings_, key_strings_;
  std::vector<uint64_t> words_, extra_words_;
  std::vector<uint8_t> narrow_;
};

// Carries out a sequence; the first disagreement ends it.
class Run {
 public:
  // With every other seed a transaction's share of memory is so small that it writes rowsets of its own.
  explicit Run(uint64_t seed) : fs_(seed), write_bytes_(seed % 2 == 0 ? size_t{8} << 20 : size_t{2} << 20) {}

  // What went wrong, or nothing.
  std::optional<std::string> Execute(const std::vector<Step>& steps) {
    const Status status = [&]() -> Status {
      RETURN_IF_ERROR(Prepare());
      for (size_t i = 0; i < steps.size(); ++i) {
        random_.seed(steps[i].seed);
        const Status done = Do(steps[i].op);
        if (!done.ok()) return done.WithContext(fmt::format("step {} ({})", i, kNames[static_cast<int>(steps[i].op)]));
      }
      return Do(Op::kReadAll);
    }();
    held_.clear();
    return status.ok() ? std::nullopt : std::optional(status.message());
  }

 private:
  struct Held {
    std::shared_ptr<const Snapshot> snapshot;
    State state;
  };

  static Status Wrong(std::string what) { return Status(StatusCode::kCorruption, std::move(what)); }
  uint64_t Draw(uint64_t below) { return random_() % below; }

  Status Prepare() {
    RETURN_IF_ERROR(Open(true));
    const auto transaction = database_->Begin();
    for (const std::string& name : kTables) {
      TableDefinition definition{.name = {"main", name}};
      const Type key = Type::Of(name == "text" ? TypeId::kString : TypeId::kInt64);
      definition.schema.fields = {{.name = "number", .type = Type::Of(TypeId::kInt64)},
                                  {.name = "k", .type = key},
                                  {.name = "text", .type = Type::Of(TypeId::kString)}};
      definition.key = {"k"};
      definition.options = {{"page_rows", "64"}, {"row_group_rows", "64"}, {"rowset_bytes", "65536"}};
      if (name == "three") definition.options.emplace_back("tablets", "3");
      if (IsCalm(name)) definition.options.emplace_back("skip_unchanged", "on");
      RETURN_IF_ERROR(transaction->CreateTable(definition).status());
      state_[name];
    }
    RETURN_IF_ERROR(transaction->Commit());
    history_[database_->CurrentSnapshot()->commit()] = state_;
    return Status::Ok();
  }

  Status Open(bool create = false) {
    ASSIGN_OR_RETURN(database_, Database::Open("db", {.create = create,
                                                      .cache_bytes = 1 << 20,
                                                      .write_bytes = write_bytes_,
                                                      .threads = 1,
                                                      .wal_segment_bytes = 1 << 16,
                                                      .background = false,
                                                      .fs = &fs_}));
    return Status::Ok();
  }

  Status Do(Op op) {
    switch (op) {
      case Op::kInsert:
      case Op::kInsertOrIgnore:
      case Op::kUpsert:
      case Op::kUpdate:
      case Op::kDelete:
        return WriteAlone(static_cast<WriteOp>(static_cast<int>(op) + 1));
      case Op::kTransaction:
        return WriteTogether(true);
      case Op::kRollback:
        return WriteTogether(false);
      case Op::kConflict:
        return Conflict();
      case Op::kFlush:
        return database_->Flush(TableName{"main", DrawTable()});
      case Op::kCompact:
        return database_->Compact(TableName{"main", DrawTable()});
      case Op::kRewrite:
        return CompactSome();
      case Op::kCheckpoint:
        return database_->Checkpoint();
      case Op::kReopen:
        held_.clear();
        database_ = nullptr;
        RETURN_IF_ERROR(Open());
        return Do(Op::kReadAll);
      case Op::kCrash:
        return Crash();
      case Op::kHold:
        held_.push_back({database_->CurrentSnapshot(), state_});
        return Status::Ok();
      case Op::kRelease:
        if (!held_.empty()) held_.erase(held_.begin() + static_cast<ptrdiff_t>(Draw(held_.size())));
        return Status::Ok();
      case Op::kTruncate:
        return Truncate();
      case Op::kAlter:
        return Alter();
      case Op::kReadAll:
        RETURN_IF_ERROR(Compare(*database_->CurrentSnapshot(), state_).WithContext("the newest version"));
        for (const Held& held : held_) RETURN_IF_ERROR(Compare(*held.snapshot, held.state).WithContext("a held one"));
        return Status::Ok();
      case Op::kReadOld:
        return ReadOld();
      case Op::kLookups:
        return Lookups();
      case Op::kVerify:
        return CheckSound();
    }
    return Status::Ok();
  }

  std::string DrawTable() { return kTables[Draw(kTables.size())]; }

  Row DrawRow() {
    Row row;
    if (Draw(4) != 0) row.number = static_cast<int64_t>(Draw(1000));
    row.text = std::string(Draw(30), static_cast<char>('a' + Draw(26)));
    return row;
  }

  // A batch of few or many keys, near each other or not, some of them twice. Of a calm table, often the rows that it
  // has.
  Batch DrawBatch(const std::string& table, WriteOp op, const Contents& model, Given* given,
                  std::vector<std::pair<int64_t, Row>>* rows) {
    given->text = op != WriteOp::kUpdate || Draw(2) == 0;
    given->extra = !model.extra.empty() && Draw(3) != 0;
    const bool calm = IsCalm(table) && Draw(4) != 0;
    const uint64_t changes = Draw(2) == 0 ? UINT64_MAX : 3;  // one in so many is of another row
    Batch batch(op, table == "text", model.extra_type);
    const uint64_t count = Draw(8) == 0 ? Draw(400) : Draw(20);
    const uint64_t range = Draw(3) == 0 ? 30 : 2000;
    const uint64_t base = Draw(2000);
    for (uint64_t i = 0; i < count; ++i) {
      const auto key = static_cast<int64_t>(base + Draw(range));
      rows->emplace_back(key, DrawRow());
      Row& row = rows->back().second;
      if (given->extra && Draw(4) != 0) row.extra = static_cast<int64_t>(Draw(1000));
      const auto found = model.rows.find(key);
      if (calm && found != model.rows.end() && (changes == UINT64_MAX || Draw(changes) != 0)) row = found->second;
      if (!given->extra) row.extra = std::nullopt;
      batch.Add(key, rows->back().second);
    }
    return batch;
  }

  // What the batch does to the model; nothing if it is a duplicate insert, which is to fail.
  static std::optional<WriteCounts> Apply(WriteOp op, bool calm, const Given& given,
                                          const std::vector<std::pair<int64_t, Row>>& rows, Rows* model,
                                          std::vector<RowOutcome>* outcomes) {
    Rows changed = *model;
    WriteCounts counts;
    for (const auto& [key, row] : rows) {
      const auto found = changed.find(key);
      const bool present = found != changed.end();
      Row written = row;  // an update keeps what it does not give
      if (op == WriteOp::kUpdate && present) {
        if (!given.text) written.text = found->second.text;
        if (!given.extra) written.extra = found->second.extra;
      }
      const bool same = calm && present && found->second == written;
      const RowOutcome replaced = same ? RowOutcome::kUnchanged : RowOutcome::kUpdated;
      RowOutcome outcome = RowOutcome::kInserted;
      switch (op) {
        case WriteOp::kInsert:
          if (present) return std::nullopt;
          changed[key] = row;
          break;
        case WriteOp::kInsertOrIgnore:
          outcome = present ? RowOutcome::kIgnored : RowOutcome::kInserted;
          if (!present) changed[key] = row;
          break;
        case WriteOp::kUpsert:
          outcome = present ? replaced : RowOutcome::kInserted;
          changed[key] = row;
          break;
        case WriteOp::kUpdate:
          outcome = present ? replaced : RowOutcome::kAbsent;
          if (present) found->second = written;
          break;
        case WriteOp::kDelete:
          outcome = present ? RowOutcome::kDeleted : RowOutcome::kAbsent;
          if (present) changed.erase(found);
          break;
      }
      counts.Count(outcome);
      outcomes->push_back(outcome);
    }
    *model = std::move(changed);
    return counts;
  }

  static Status CompareCounts(const WriteCounts& got, const WriteCounts& expected, const std::vector<RowOutcome>& rows,
                              const std::vector<RowOutcome>& expected_rows) {
    if (got.inserted != expected.inserted || got.updated != expected.updated || got.deleted != expected.deleted ||
        got.ignored != expected.ignored || got.absent != expected.absent || got.unchanged != expected.unchanged) {
      return Wrong(
          fmt::format("{} inserted, {} updated, {} deleted, {} ignored, {} absent, {} unchanged; "
                      "expected {} {} {} {} {} {}",
                      got.inserted, got.updated, got.deleted, got.ignored, got.absent, got.unchanged, expected.inserted,
                      expected.updated, expected.deleted, expected.ignored, expected.absent, expected.unchanged));
    }
    return rows == expected_rows ? Status::Ok() : Wrong("the outcomes of rows are others");
  }

  Status WriteAlone(WriteOp op) {
    const std::string table = DrawTable();
    Given given;
    std::vector<std::pair<int64_t, Row>> rows;
    Batch batch = DrawBatch(table, op, state_[table], &given, &rows);
    std::vector<RowOutcome> expected_rows;
    const auto expected = Apply(op, IsCalm(table), given, rows, &state_[table].rows, &expected_rows);
    std::vector<RowOutcome> outcomes;
    const auto written = database_->Write({"main", table}, batch.Views(given), &outcomes);
    if (!expected.has_value()) {
      if (written.ok()) return Wrong("a duplicate key was inserted");
      return written.status().code() == StatusCode::kAlreadyExists ? Status::Ok() : written.status();
    }
    RETURN_IF_ERROR(written.status());
    if (written->commit != 0) history_[written->commit] = state_;
    const WriteCounts& counts = written->counts;
    if ((written->commit != 0) != (counts.inserted + counts.updated + counts.deleted != 0)) {
      return Wrong(fmt::format("{} updated, and the commit is {}", counts.updated, written->commit));
    }
    return CompareCounts(written->counts, *expected, outcomes, expected_rows);
  }

  // Several batches over several tables, read back before the end.
  Status WriteTogether(bool commit) {
    const auto transaction = database_->Begin();
    State state = state_;
    for (uint64_t i = 0, count = 1 + Draw(5); i < count; ++i) {
      const std::string table = DrawTable();
      const auto op = static_cast<WriteOp>(1 + Draw(5));
      Given given;
      std::vector<std::pair<int64_t, Row>> rows;
      Batch batch = DrawBatch(table, op, state[table], &given, &rows);
      std::vector<RowOutcome> expected_rows;
      const auto expected = Apply(op, IsCalm(table), given, rows, &state[table].rows, &expected_rows);
      std::vector<RowOutcome> outcomes;
      const auto counts = transaction->Write({"main", table}, batch.Views(given), &outcomes);
      if (counts.ok() != expected.has_value()) return counts.ok() ? Wrong("a duplicate was inserted") : counts.status();
      if (counts.ok()) RETURN_IF_ERROR(CompareCounts(*counts, *expected, outcomes, expected_rows));
      if (Draw(3) == 0) {
        const auto definition = transaction->view().FindTable({"main", table});
        ASSIGN_OR_RETURN(const auto view, transaction->View(definition));
        RETURN_IF_ERROR(CompareTable(view, table, state[table]).WithContext("own changes"));
      }
      if (Draw(6) == 0) RETURN_IF_ERROR(database_->Flush(TableName{"main", DrawTable()}));
      if (Draw(8) == 0) RETURN_IF_ERROR(CompactSome());
    }
    if (!commit) {
      transaction->Rollback();
      return Status::Ok();
    }
    RETURN_IF_ERROR(transaction->Commit());
    state_ = std::move(state);
    history_[database_->CurrentSnapshot()->commit()] = state_;
    return Status::Ok();
  }

  // Two transactions that write one key: the second to commit fails, whatever happened to storage in between.
  Status Conflict() {
    const std::string table = DrawTable();
    const auto key = static_cast<int64_t>(Draw(2000));
    Row rows[] = {DrawRow(), DrawRow()};
    const bool present = state_[table].rows.contains(key);
    const bool deletes = Draw(3) == 0 && present;
    // A calm table does not write a row that it has: yet it is a conflict if the other transaction changed it.
    if (IsCalm(table) && present && Draw(2) == 0) rows[1] = state_[table].rows[key];
    rows[1].extra = std::nullopt;  // which these batches do not give
    const bool changes = deletes || !(IsCalm(table) && present && rows[0] == state_[table].rows[key]);
    const std::unique_ptr<Transaction> transactions[] = {database_->Begin(), database_->Begin()};
    for (int i = 0; i < 2; ++i) {
      Batch batch(deletes && i == 0 ? WriteOp::kDelete : WriteOp::kUpsert, table == "text");
      batch.Add(key, rows[i]);
      RETURN_IF_ERROR(transactions[i]->Write({"main", table}, batch.Views({})).status());
    }
    RETURN_IF_ERROR(transactions[0]->Commit());
    if (deletes) {
      state_[table].rows.erase(key);
    } else {
      state_[table].rows[key] = rows[0];
    }
    history_[database_->CurrentSnapshot()->commit()] = state_;
    if (Draw(2) == 0) RETURN_IF_ERROR(database_->Flush(TableName{"main", table}));
    if (Draw(2) == 0) RETURN_IF_ERROR(CompactSome());
    const Status late = transactions[1]->Commit();
    if (!changes) {
      state_[table].rows[key] = rows[1];
      history_[database_->CurrentSnapshot()->commit()] = state_;
      return late;
    }
    return late.code() == StatusCode::kBusy ? Status::Ok()
                                            : Wrong("the second of two writers of a key: " + late.message());
  }

  Status CompactSome() {
    const auto table = database_->Current()->FindTable({"main", DrawTable()});
    for (const auto& tablet : table->tablets()) {
      std::vector<std::shared_ptr<Rowset>> inputs;
      for (const auto& rowset : std::vector(tablet->state()->rowsets())) {
        if (!inputs.empty() && inputs[0]->schema() != rowset->schema()) continue;
        if (Draw(3) != 0) inputs.push_back(rowset);
      }
      if (!inputs.empty()) RETURN_IF_ERROR(CompactRowsets(*tablet, *table, inputs));
    }
    return Status::Ok();
  }

  Status Truncate() {
    const std::string table = DrawTable();
    const auto transaction = database_->Begin();
    RETURN_IF_ERROR(transaction->Truncate({"main", table}));
    RETURN_IF_ERROR(transaction->Commit());
    state_[table].rows.clear();
    history_[database_->CurrentSnapshot()->commit()] = state_;
    return Status::Ok();
  }

  // A column comes, gets another name or a wider type, and goes.
  Status Alter() {
    const TableName name{"main", DrawTable()};
    Contents& table = state_[name.table];
    const auto transaction = database_->Begin();
    if (table.extra.empty()) {
      table.extra = "extra" + std::to_string(Draw(3));
      table.extra_type = TypeId::kInt16;
      Field field{.name = table.extra, .type = Type::Of(table.extra_type)};
      std::optional<int64_t> initial;
      if (Draw(3) != 0) initial = static_cast<int64_t>(Draw(1000));
      if (initial.has_value()) field.initial_default = Value(*initial);
      RETURN_IF_ERROR(transaction->AddColumn(name, field));
      for (auto& [_, row] : table.rows) row.extra = initial;
    } else if (const uint64_t way = Draw(3); way == 0) {
      RETURN_IF_ERROR(transaction->DropColumn(name, table.extra));
      table.extra.clear();
      for (auto& [_, row] : table.rows) row.extra = std::nullopt;
    } else if (way == 1) {
      const std::string to = "extra" + std::to_string(Draw(3));
      RETURN_IF_ERROR(transaction->RenameColumn(name, table.extra, to));
      table.extra = to;
    } else if (table.extra_type != TypeId::kInt64) {
      table.extra_type = table.extra_type == TypeId::kInt16 ? TypeId::kInt32 : TypeId::kInt64;
      RETURN_IF_ERROR(transaction->WidenColumn(name, table.extra, Type::Of(table.extra_type)));
    }
    RETURN_IF_ERROR(transaction->Commit());
    history_[database_->CurrentSnapshot()->commit()] = state_;
    return Status::Ok();
  }

  Status Crash() {
    held_.clear();
    fs_.FailFrom(1, Fault::kIoError);
    database_ = nullptr;
    fs_.Crash(random_());
    if (Draw(2) == 0) {
      ASSIGN_OR_RETURN(const auto reader, Database::Open("db", {.read_only = true, .threads = 1, .fs = &fs_}));
      RETURN_IF_ERROR(Compare(*reader->CurrentSnapshot(), state_).WithContext("read-only after the crash"));
    }
    RETURN_IF_ERROR(Open());
    return Compare(*database_->CurrentSnapshot(), state_).WithContext("after the crash");
  }

  Status ReadOld() {
    auto entry = history_.begin();
    std::advance(entry, static_cast<ptrdiff_t>(Draw(history_.size())));
    ASSIGN_OR_RETURN(const auto snapshot, database_->SnapshotAt(entry->first));
    return Compare(*snapshot, entry->second).WithContext(fmt::format("version {}", entry->first));
  }

  Status Compare(const Snapshot& snapshot, const State& expected) {
    for (const auto& [name, contents] : expected) {
      const auto table = snapshot.version().FindTable({"main", name});
      if (table == nullptr) return Wrong("table '" + name + "' is gone");
      RETURN_IF_ERROR(CompareTable(snapshot.View(table), name, contents));
    }
    return Status::Ok();
  }

  static int64_t KeyOf(const Value& value, bool text_key) {
    if (!text_key) return value.as<int64_t>();
    return std::stoll(value.as<std::string>().substr(4));
  }

  static std::string Print(const Row& row) {
    const auto print = [](std::optional<int64_t> number) { return number ? std::to_string(*number) : "null"; };
    return fmt::format("({}, '{}', {})", print(row.number), row.text, print(row.extra));
  }

  static std::optional<int64_t> NumberOf(const Value& value) {
    return value.is_null() ? std::nullopt : std::optional(value.as<int64_t>());
  }

  static Status CompareTable(const std::shared_ptr<const TableView>& view, const std::string& name,
                             const Contents& contents) {
    Rows rows;
    const Rows& expected = contents.rows;
    const Schema& schema = view->table().schema();
    const bool has_extra = schema.size() == 4;
    if (has_extra != !contents.extra.empty() ||
        (has_extra && (schema[3].name != contents.extra || schema[3].type != Type::Of(contents.extra_type)))) {
      return Wrong(fmt::format("table '{}' has other columns", name));
    }
    uint64_t twice = 0;
    RETURN_IF_ERROR(ForEachRange(view, {}, [&](MorselReader& reader, const RowRange& range, const auto& selected) {
      std::vector<ColumnSlice> slices;
      for (size_t i = 0; i < schema.size(); ++i) {
        ASSIGN_OR_RETURN(auto slice, reader.Read(i, range));
        slices.push_back(std::move(slice));
      }
      for (const uint32_t at : selected) {
        Row row;
        row.number = NumberOf(SliceValue(slices[0], schema[0].type, at));
        if (has_extra) row.extra = NumberOf(SliceValue(slices[3], schema[3].type, at));
        row.text = SliceValue(slices[2], schema[2].type, at).template as<std::string>();
        const int64_t key = KeyOf(SliceValue(slices[1], schema[1].type, at), name == "text");
        twice += rows.emplace(key, std::move(row)).second ? 0 : 1;
      }
      return Status::Ok();
    }));
    if (twice != 0) return Wrong(fmt::format("table '{}': {} keys occur twice", name, twice));
    if (const auto exact = view->exact_rows(); exact.has_value() && *exact != expected.size()) {
      return Wrong(fmt::format("table '{}': it counts {} rows where {} are expected", name, *exact, expected.size()));
    }
    if (rows == expected) return Status::Ok();
    for (const auto& [key, row] : expected) {
      const auto found = rows.find(key);
      if (found == rows.end()) return Wrong(fmt::format("table '{}': key {} is missing", name, key));
      if (found->second != row) {
        return Wrong(fmt::format("table '{}': key {} has {}, not {}", name, key, Print(found->second), Print(row)));
      }
    }
    for (const auto& [key, _] : rows) {
      if (!expected.contains(key)) return Wrong(fmt::format("table '{}': key {} should not be there", name, key));
    }
    return Status::Ok();
  }

  Status Lookups() {
    const std::string name = DrawTable();
    const auto snapshot = database_->CurrentSnapshot();
    const auto view = snapshot->View(snapshot->version().FindTable({"main", name}));
    for (int i = 0; i < 200; ++i) {
      const auto key = static_cast<int64_t>(Draw(4000));
      const Value value = name == "text" ? Value(TextOf(key)) : Value(key);
      ASSIGN_OR_RETURN(const std::string encoded, EncodeKey(view->table().KeyTypes(), {&value, 1}));
      ASSIGN_OR_RETURN(const auto found, FindKey(*view, encoded));
      const auto expected = state_[name].rows.find(key);
      if (found.has_value() != (expected != state_[name].rows.end())) {
        return Wrong(fmt::format("table '{}': a lookup of key {} {} it", name, key, found ? "finds" : "misses"));
      }
      if (!found.has_value()) continue;
      std::vector<size_t> columns = {0, 2};
      if (!state_[name].extra.empty()) columns.push_back(3);
      ASSIGN_OR_RETURN(const auto values, ReadRow(*view, *found, columns));
      Row row{.number = NumberOf(values[0]), .text = values[1].as<std::string>()};
      if (columns.size() == 3) row.extra = NumberOf(values[2]);
      if (row != expected->second) return Wrong(fmt::format("table '{}': key {} is looked up wrongly", name, key));
    }
    return Status::Ok();
  }

  Status CheckSound() {
    ASSIGN_OR_RETURN(const auto damage, Verify(*database_, [](size_t, size_t) { return true; }));
    return damage.empty() ? Status::Ok() : Wrong("verify: " + damage[0].what);
  }

  FaultFileSystem fs_;
  const size_t write_bytes_;
  std::mt19937_64 random_;
  std::unique_ptr<Database> database_;
  State state_;
  std::map<uint64_t, State> history_;  // after each commit
  std::vector<Held> held_;
};

std::vector<Step> MakeSteps(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  // Writes come often, what costs much seldom.
  const std::vector<int> weights = {6, 6, 12, 6, 6, 5, 2, 2, 4, 2, 3, 2, 2, 2, 2, 2, 1, 3, 3, 3, 3, 1};
  std::discrete_distribution<int> op(weights.begin(), weights.end());
  std::vector<Step> steps;
  for (size_t i = 0; i < count; ++i) steps.push_back({static_cast<Op>(op(random)), random()});
  return steps;
}

// Leaves out what the failure does not need: halves, quarters, … and in the end single steps.
std::vector<Step> Shorten(uint64_t seed, std::vector<Step> steps) {
  for (size_t piece = (steps.size() + 1) / 2; piece >= 1; piece /= 2) {
    for (size_t at = 0; at < steps.size();) {
      std::vector<Step> fewer = steps;
      const auto begin = fewer.begin() + static_cast<ptrdiff_t>(at);
      fewer.erase(begin, begin + static_cast<ptrdiff_t>(std::min(piece, fewer.size() - at)));
      if (Run(seed).Execute(fewer).has_value()) {
        steps = std::move(fewer);
      } else {
        at += piece;
      }
    }
  }
  return steps;
}

void ExpectLikeTheModel(uint64_t seed, size_t count) {
  const auto steps = MakeSteps(seed, count);
  const auto failure = Run(seed).Execute(steps);
  if (!failure.has_value()) return;
  const auto shortest = Shorten(seed, steps);
  std::string sequence;
  for (const Step& step : shortest) sequence += fmt::format(" {}:{}", kNames[static_cast<int>(step.op)], step.seed);
  ADD_FAILURE() << *failure << "\n shortest sequence:" << sequence
                << "\n which fails with: " << Run(seed).Execute(shortest).value_or("nothing");
}

TEST(ModelTest, ADatabaseDoesWhatAMapDoes) {
  const uint64_t seed = TestSeed();
  for (uint64_t i = 0; i < 12; ++i) {
    SCOPED_TRACE(SeedTrace(seed) + fmt::format(" run {}", i));
    ExpectLikeTheModel(seed + i, 120);
    if (HasFailure()) return;
  }
}

TEST(ModelLongTest, ADatabaseDoesWhatAMapDoesForMinutes) {
  const uint64_t seed = TestSeed();
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  for (uint64_t i = 0; std::chrono::steady_clock::now() < end; ++i) {
    SCOPED_TRACE(SeedTrace(seed) + fmt::format(" run {}", i));
    ExpectLikeTheModel(seed * 1000 + i, 400);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace petalite::store
