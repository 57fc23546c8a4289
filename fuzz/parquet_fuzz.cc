// Opens the input as a Parquet file and reads everything in it: zone maps, filters, page index,
// dictionaries, pages. Whatever the bytes, the answer is a Status or values.

#include <cstdlib>

#include "memory_file_system.h"
#include "parquet/read_column.h"

namespace petalite::parquet {
namespace {

// Pages of more rows are skipped: runs of nulls make millions of a few bytes, which is right and
// slow.
constexpr uint32_t kMaxRows = 1 << 16;

// Uses every byte of a value, so that a sanitizer sees a bad one.
uint64_t Touch(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.storage());
  uint64_t sum = value.storage().index();
  if (text != nullptr) {
    for (const char c : *text) sum += static_cast<uint8_t>(c);
  }
  return sum;
}

Status ReadChunk(const FileReader& reader, size_t group, size_t column, uint64_t* sum) {
  const LeafColumn& leaf = reader.columns()[column];
  *sum += Touch(reader.RowGroupZone(group, column).min);
  ASSIGN_OR_RETURN(const auto filter, reader.LoadFilter(group, column));
  ASSIGN_OR_RETURN(const auto pages, reader.LoadPages(group, column));
  for (const ZoneMap& zone : pages->zones) *sum += Touch(zone.max);
  ASSIGN_OR_RETURN(const auto dictionary, reader.LoadDictionary(group, column, *pages));
  for (size_t i = 0; i < pages->locations.size(); ++i) {
    if (pages->rows[i] > kMaxRows) continue;
    ASSIGN_OR_RETURN(const auto page, reader.LoadPage(group, column, *pages, i, dictionary));
    if (page->rows() != pages->rows[i]) std::abort();
    for (uint32_t row = 0; row < page->rows(); ++row) {
      const Value value = PageValue(leaf.field.type, *page, row);
      *sum += Touch(value);
      if (filter == nullptr || value.is_null() || !leaf.can_filter) continue;
      *sum += FilterMayMatch(Predicate::Compare(PredicateKind::kEqual, value), leaf, filter->view());
    }
  }
  return Status::Ok();
}

void ReadEverything(Bytes bytes) {
  MemoryFileSystem files;
  files["f"] = ByteBuffer(bytes.begin(), bytes.end());
  const auto reader = FileReader::Open(files, "f");
  if (!reader.ok()) return;
  uint64_t sum = 0;
  for (size_t group = 0; group < (*reader)->row_groups(); ++group) {
    for (size_t column = 0; column < (*reader)->columns().size(); ++column) {
      (void)ReadChunk(**reader, group, column, &sum);
    }
  }
  volatile uint64_t sink = sum;
  (void)sink;
}

}  // namespace
}  // namespace petalite::parquet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  petalite::parquet::ReadEverything({data, size});
  return 0;
}
