// Files that were cut off or changed: the reader answers with an error or with the same values as
// before, and never crashes. (The sanitizer builds run this too.)

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>

#include "column/column_vector.h"
#include "memory_file_system.h"
#include "parquet/read_column.h"
#include "parquet/writer.h"

namespace petalite::parquet {
namespace {

using std::filesystem::path;

struct Outcome {
  bool opened = false;
  std::vector<std::optional<std::vector<Value>>> columns;  // none: an error
};

Outcome ReadAll(MemoryFileSystem& files) {
  Outcome outcome;
  const auto reader = FileReader::Open(files, "f");
  outcome.opened = reader.ok();
  if (!reader.ok()) return outcome;
  for (size_t column = 0; column < (*reader)->columns().size(); ++column) {
    for (size_t group = 0; group < (*reader)->row_groups(); ++group) {
      (void)(*reader)->RowGroupZone(group, column);
      (void)(*reader)->LoadFilter(group, column);
    }
    auto values = ReadColumn(**reader, column);
    outcome.columns.push_back(values.ok() ? std::optional(*std::move(values)) : std::nullopt);
  }
  return outcome;
}

// NaN is equal to itself here: files are compared by what is stored.
bool SameValues(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Value& x, const Value& y) { return x == y || (x.is_nan() && y.is_nan()); });
}

// A file of all kinds of columns with page CRCs and Petalite's checksums, written by our writer.
ByteBuffer PetaliteFile() {
  const Schema schema{{{"number", Type::Of(TypeId::kInt64), false},
                       {"text", Type::Of(TypeId::kString), true},
                       {"real", Type::Of(TypeId::kDouble), true},
                       {"few", Type::Of(TypeId::kString), false}}};
  constexpr size_t kRows = 200;
  std::vector<int64_t> numbers(kRows);
  std::vector<double> reals(kRows);
  std::vector<std::string> texts(kRows);
  std::vector<StringRef> refs(kRows);
  std::vector<StringRef> few(kRows);
  std::vector<uint64_t> validity((kRows + 63) / 64);
  for (size_t i = 0; i < kRows; ++i) {
    numbers[i] = static_cast<int64_t>(i * i);
    reals[i] = static_cast<double>(i) / 3;
    texts[i] = fmt::format("the text of row {}", i);
    refs[i] = StringRef(texts[i]);
    few[i] = StringRef(i % 3 == 0 ? std::string_view("three") : std::string_view("another one that is longer"));
    if (i % 7 != 0) validity[i / 64] |= uint64_t{1} << (i % 64);
  }
  const ColumnView views[] = {{.values = numbers.data(), .size = kRows},
                              {.values = refs.data(), .validity = validity.data(), .size = kRows},
                              {.values = reals.data(), .validity = validity.data(), .size = kRows},
                              {.values = few.data(), .size = kRows}};
  MemoryFileSystem files;
  WriterOptions options{.columns = std::vector<ColumnOptions>(4), .page_rows = 64, .row_group_rows = 128};
  auto writer = FileWriter::Create(files, "f", schema, options);
  CHECK(writer.ok());
  CHECK((*writer)->Append(views, kRows).ok());
  const auto written = (*writer)->Finish();
  CHECK(written.ok());
  return files["f"];
}

ByteBuffer CorpusFile(const char* name) {
  auto bytes = PosixFileSystem().ReadAll(path(PETALITE_TEST_DATA) / "parquet-testing" / name);
  CHECK(bytes.ok());
  return *std::move(bytes);
}

// Each file with a description; of others than ours a change may go unseen.
struct Sample {
  const char* name;
  bool all_checksummed;
};

class Damage : public testing::TestWithParam<Sample> {
 protected:
  Damage() : original_(GetParam().all_checksummed ? PetaliteFile() : CorpusFile(GetParam().name)) {
    files_["f"] = original_;
    intact_ = ReadAll(files_);
  }

  void SetUp() override {
    ASSERT_TRUE(intact_.opened);
    const auto readable = [](const auto& column) { return column.has_value(); };
    ASSERT_TRUE(std::any_of(intact_.columns.begin(), intact_.columns.end(), readable));
  }

  MemoryFileSystem files_;
  ByteBuffer original_;
  Outcome intact_;
};

TEST_P(Damage, AFileCutOffAnywhereIsRefused) {
  for (size_t size = 0; size < original_.size(); ++size) {
    files_["f"].assign(original_.begin(), original_.begin() + static_cast<ptrdiff_t>(size));
    ASSERT_FALSE(ReadAll(files_).opened) << "cut off at " << size;
  }
}

// The footer itself is checked by who knows its CRC, so that a flip there may change what the file
// says; everything before it that is read is under a checksum in files of ours.
TEST_P(Damage, AFlippedByteGivesAnErrorOrTheSameValues) {
  const size_t footer = original_.size() - 8 - LoadLe<uint32_t>(original_.data() + original_.size() - 8);
  for (size_t at = 0; at < original_.size(); ++at) {
    for (const uint8_t flip : {0xff, 0x01, 0x80}) {
      files_["f"] = original_;
      files_["f"][at] ^= flip;
      const Outcome outcome = ReadAll(files_);
      if (!GetParam().all_checksummed || at >= footer) continue;
      for (size_t i = 0; i < outcome.columns.size(); ++i) {
        ASSERT_TRUE(!outcome.columns[i].has_value() || SameValues(*outcome.columns[i], *intact_.columns[i]))
            << "byte " << at << " xor " << int{flip} << ", column " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Damage,
                         testing::Values(Sample{"petalite", true}, Sample{"alltypes_plain.snappy.parquet", false},
                                         Sample{"alltypes_dictionary.parquet", false},
                                         Sample{"rle_boolean_encoding.parquet", false},
                                         Sample{"data_index_bloom_encoding_stats.parquet", false},
                                         Sample{"fixed_length_decimal.parquet", false},
                                         Sample{"hadoop_lz4_compressed.parquet", false},
                                         Sample{"datapage_v2.snappy.parquet", false}),
                         [](const auto& info) {
                           const std::string_view name(info.param.name);
                           return std::string(name.substr(0, name.find('.')));
                         });

}  // namespace
}  // namespace petalite::parquet
