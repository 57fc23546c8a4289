// petalite_dump_parquet FILE: what FileReader makes of a file, for comparison with other readers.
//
// The first line lists the columns: [{"name", "type", "support"}…], support being empty or why the
// column cannot be read. Then one line per readable column, in order: its values in the form of
// value_json.h.
//
// It also proves statistics: exit status 3 if a row contradicts the zone map of its row group or
// page, or the chunk's filter.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "parquet/read_column.h"
#include "parquet/value_json.h"

namespace petalite::parquet {
namespace {

// Whether an equality on the value would prune the piece that holds it.
bool Contradicts(const ZoneMap& zone, const Value& value) {
  if (value.is_null()) return !MayMatch({.kind = PredicateKind::kIsNull}, zone);
  return !MayMatch({.kind = PredicateKind::kIsNotNull}, zone) ||
         (!std::holds_alternative<Interval>(value.storage()) &&
          !MayMatch(Predicate::Compare(PredicateKind::kEqual, value), zone));
}

class Dumper {
 public:
  explicit Dumper(const FileReader& reader) : reader_(reader) {}

  Status Run() {
    auto columns = nlohmann::json::array();
    for (const LeafColumn& leaf : reader_.columns()) {
      columns.push_back({{"name", leaf.field.name},
                         {"type", leaf.field.type.ToString()},
                         {"support", std::string(leaf.support.message())}});
    }
    std::puts(columns.dump().c_str());
    for (size_t column = 0; column < reader_.columns().size(); ++column) {
      if (reader_.columns()[column].support.ok()) RETURN_IF_ERROR(DumpColumn(column));
    }
    return Status::Ok();
  }
  size_t contradictions() const { return contradictions_; }

 private:
  Status DumpColumn(size_t column) {
    std::string line = "[";
    for (size_t group = 0; group < reader_.row_groups(); ++group) {
      RETURN_IF_ERROR(DumpChunk(group, column, &line));
    }
    if (line.back() == ',') line.pop_back();
    std::puts((line + "]").c_str());
    return Status::Ok();
  }

  Status DumpChunk(size_t group, size_t column, std::string* line) {
    const LeafColumn& leaf = reader_.columns()[column];
    const ZoneMap group_zone = reader_.RowGroupZone(group, column);
    ASSIGN_OR_RETURN(const auto filter, reader_.LoadFilter(group, column));
    ASSIGN_OR_RETURN(const auto pages, reader_.LoadPages(group, column));
    return ForEachPage(reader_, group, column, [&](const DecodedPage& page, int64_t first_row) {
      for (uint32_t row = 0; row < page.rows(); ++row) {
        const Value value = PageValue(leaf.field.type, page, row);
        *line += ToJson(leaf.field.type, value) + ",";
        contradictions_ += Contradicts(group_zone, value);
        if (!pages->zones.empty()) {
          contradictions_ += Contradicts(pages->zones[pages->PageOf(static_cast<uint64_t>(first_row))], value);
        }
        if (filter != nullptr && !value.is_null()) {
          contradictions_ += !FilterMayMatch(Predicate::Compare(PredicateKind::kEqual, value), leaf, filter->view());
        }
      }
    });
  }

  const FileReader& reader_;
  size_t contradictions_ = 0;
};

int Main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: petalite_dump_parquet FILE\n", stderr);
    return 2;
  }
  const auto reader = FileReader::Open(PosixFileSystem(), argv[1]);
  if (!reader.ok()) {
    std::fprintf(stderr, "%s\n", reader.status().message().c_str());
    return 1;
  }
  Dumper dumper(**reader);
  if (const Status status = dumper.Run(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  }
  if (dumper.contradictions() == 0) return 0;
  std::fprintf(stderr, "%zu values contradict zone maps or filters\n", dumper.contradictions());
  return 3;
}

}  // namespace
}  // namespace petalite::parquet

int main(int argc, char** argv) { return petalite::parquet::Main(argc, argv); }
