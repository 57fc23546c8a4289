// The writer against Petalite's reader, and what it refuses. tests/python/test_written_files.py
// reads its files with other engines.

#include "parquet/writer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "memory_file_system.h"
#include "parquet/read_column.h"
#include "parquet/reader.h"
#include "parquet/row_group_writer.h"
#include "test_seed.h"

namespace petalite::parquet {
namespace {

constexpr char kPath[] = "t.parquet";

WriterOptions OptionsFor(const Schema& schema) {
  WriterOptions options;
  options.columns.resize(schema.size());
  options.page_rows = 64;
  options.row_group_rows = 256;
  return options;
}

Schema OneColumn(Type type, bool nullable = true) { return {{{.name = "c", .type = type, .nullable = nullable}}}; }

template <typename T>
ColumnView ViewOf(const std::vector<T>& values) {
  return {.values = values.data(), .size = values.size()};
}

template <typename T>
Status WriteOne(FileSystem& fs, const Schema& schema, const WriterOptions& options, const std::vector<T>& values,
                WrittenFile* written = nullptr, const uint64_t* validity = nullptr) {
  ASSIGN_OR_RETURN(auto writer, FileWriter::Create(fs, kPath, schema, options));
  ColumnView view = ViewOf(values);
  view.validity = validity;
  RETURN_IF_ERROR(writer->Append({&view, 1}, values.size()));
  ASSIGN_OR_RETURN(WrittenFile file, writer->Finish());
  if (written != nullptr) *written = std::move(file);
  return Status::Ok();
}

template <typename T>
std::string ErrorOf(const Schema& schema, const std::vector<T>& values, const uint64_t* validity = nullptr) {
  MemoryFileSystem fs;
  const Status status = WriteOne(fs, schema, OptionsFor(schema), values, nullptr, validity);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(fs.Has(kPath)) << "a failed writer leaves its file";
  return status.message();
}

TEST(FileWriter, ReadsBackWithSelectionsNullsAndManyGroups) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  const Schema schema = OneColumn(Type::Of(TypeId::kInt64));
  for (const size_t threads : {0, 2}) {
    const auto pool = threads == 0 ? nullptr : std::make_unique<ThreadPool>(threads);
    WriterOptions options = OptionsFor(schema);
    options.pool = pool.get();
    MemoryFileSystem fs;
    auto writer = FileWriter::Create(fs, kPath, schema, options);
    ASSERT_TRUE(writer.ok());
    std::vector<int64_t> values(500);
    std::vector<uint64_t> validity(8);
    for (int64_t& value : values) value = static_cast<int64_t>(random() % 1000);
    for (uint64_t& word : validity) word = random();
    std::vector<Value> expected;
    while (expected.size() < 3000) {
      std::vector<uint32_t> selection(random() % 700);
      for (uint32_t& at : selection) at = random() % values.size();
      const ColumnView view{values.data(), validity.data(), selection.data(), selection.size()};
      ASSERT_TRUE((*writer)->Append({&view, 1}, view.size).ok());
      for (size_t i = 0; i < view.size; ++i) {
        Value& value = expected.emplace_back();
        if (view.IsValid(i)) value = Value(view.Value<int64_t>(i));
      }
    }
    const Result<WrittenFile> written = (*writer)->Finish();
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(written->rows, expected.size());
    EXPECT_EQ(written->row_groups, (expected.size() + 255) / 256);
    EXPECT_EQ(written->bytes, fs.bytes(kPath).size());
    const auto reader = FileReader::Open(fs, kPath, {.footer_crc = written->footer_crc});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    const auto read = ReadColumn(**reader, 0);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, expected);
  }
}

TEST(FileWriter, SummaryIsThatOfAllGroups) {
  std::vector<int32_t> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 7919 % 1000) - 500;
  MemoryFileSystem fs;
  WrittenFile written;
  const Schema schema = OneColumn(Type::Of(TypeId::kInt32));
  std::vector<uint64_t> validity(16, ~uint64_t{0});
  validity[3] = 0;
  ASSERT_TRUE(WriteOne(fs, schema, OptionsFor(schema), values, &written, validity.data()).ok());
  const ColumnSummary& summary = written.columns[0];
  EXPECT_EQ(summary.zone.rows, 1000u);
  EXPECT_EQ(summary.zone.null_count, 64u);
  EXPECT_TRUE(summary.zone.min_exact && summary.zone.max_exact);
  EXPECT_FALSE(summary.zone.may_have_nan);
  EXPECT_EQ(summary.zone.min, Value(int64_t{-500}));
  EXPECT_EQ(summary.zone.max, Value(int64_t{499}));
  EXPECT_NEAR(summary.distinct.Estimate(), 936, 120);
  EXPECT_GT(summary.filter_bytes, 0u);
  EXPECT_LT(summary.compressed_bytes + summary.filter_bytes, written.bytes);
}

TEST(FileWriter, BoundsOfLongStringsAreNotExact) {
  const std::string low(100, 'a');
  const std::string high(100, 'z');
  MemoryFileSystem fs;
  WrittenFile written;
  const Schema schema = OneColumn(Type::Of(TypeId::kString));
  const std::vector<StringRef> values = {StringRef(high), StringRef(low)};
  ASSERT_TRUE(WriteOne(fs, schema, OptionsFor(schema), values, &written).ok());
  const ZoneMap& zone = written.columns[0].zone;
  EXPECT_FALSE(zone.min_exact || zone.max_exact);
  EXPECT_EQ(zone.min, Value(low.substr(0, 64)));
  EXPECT_EQ(zone.max, Value(high.substr(0, 63) + std::string("{")));
}

// A sample decides early that a column is worth no dictionary, and must not be taken in by one whose values come again
// only much later, or only next to each other.
TEST(Writer, ChoosesDictionariesForColumnsThatRepeat) {
  constexpr size_t kRows = 98'304;
  const Schema schema = OneColumn(Type::Of(TypeId::kInt64));
  WriterOptions options = OptionsFor(schema);
  options.page_rows = kRows / 4;
  options.row_group_rows = kRows;
  const auto has_dictionary = [&](const auto& value_of) {
    std::vector<int64_t> values(kRows);
    for (size_t i = 0; i < kRows; ++i) values[i] = static_cast<int64_t>(Remix(value_of(i)));
    MemoryFileSystem fs;
    EXPECT_TRUE(WriteOne(fs, schema, options, values).ok());
    const auto reader = *FileReader::Open(fs, kPath);
    return *reader->LoadDictionary(0, 0, **reader->LoadPages(0, 0)) != nullptr;
  };
  EXPECT_TRUE(has_dictionary([](size_t i) { return i % 5000; }));  // in turn
  EXPECT_TRUE(has_dictionary([](size_t i) { return i / 8; }));     // in runs
  EXPECT_TRUE(has_dictionary([](size_t i) { return Remix(i) % 5000; }));
  EXPECT_FALSE(has_dictionary([](size_t i) { return i; }));
  EXPECT_FALSE(has_dictionary([](size_t i) { return Remix(i) % 10'000'000; }));
}

// Every value of every type that has a filter is found, both zeros are, and the true rate of false
// positives stays below the target, with a dictionary and without.
TEST(FileWriter, FiltersHoldWhatTheyPromise) {
  const Schema schema = OneColumn(Type::Of(TypeId::kDouble), false);
  for (const EncodingChoice encoding : {EncodingChoice::kDictionary, EncodingChoice::kPlain}) {
    for (const size_t distinct : {1, 40, 700, 3000}) {
      WriterOptions options = OptionsFor(schema);
      options.row_group_rows = 4096;
      options.columns[0].encoding = encoding;
      std::vector<double> values(3000);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % distinct);
      MemoryFileSystem fs;
      ASSERT_TRUE(WriteOne(fs, schema, options, values).ok());
      const auto reader = FileReader::Open(fs, kPath);
      ASSERT_TRUE(reader.ok());
      const auto filter = (*reader)->LoadFilter(0, 0);
      ASSERT_TRUE(filter.ok() && *filter != nullptr);
      const bloom::FilterView view = (*filter)->view();
      for (const double value : values) ASSERT_TRUE(view.MayContain(Xxh64(&value, sizeof value)));
      const double negative_zero = -0.0;
      EXPECT_TRUE(view.MayContain(Xxh64(&negative_zero, sizeof negative_zero)));
      size_t found = 0;
      constexpr size_t kProbes = 20'000;
      for (size_t i = 0; i < kProbes; ++i) {
        const double absent = static_cast<double>(i) + 0.5;
        found += view.MayContain(Xxh64(&absent, sizeof absent)) ? 1 : 0;
      }
      EXPECT_LT(found, kProbes / 100 * 13 / 10) << distinct << " distinct values";  // 1 %, and five standard deviations
      EXPECT_LE(view.blocks(), bloom::PowerOfTwoBlocksFor(2 * distinct + 2, 0.01)) << "larger than it need be";
    }
  }
}

TEST(FileWriter, ErrorsNameColumnAndRow) {
  const std::vector<StringRef> texts = {StringRef("fine"), StringRef("b\xc3")};
  EXPECT_EQ(ErrorOf(OneColumn(Type::Of(TypeId::kString)), texts),
            "t.parquet: column 'c', row 1: the text is not valid UTF-8 at byte 1");
  const uint64_t validity = 0b101;
  EXPECT_EQ(ErrorOf<int32_t>(OneColumn(Type::Of(TypeId::kInt32), false), {1, 2, 3}, &validity),
            "t.parquet: column 'c', row 1: null, in a column that is not nullable");
  EXPECT_EQ(ErrorOf<int16_t>(OneColumn(Type::Decimal(3, 1)), {999, -999, 1000}),
            "t.parquet: column 'c', row 2: the number has more digits than decimal(3,1)");
  EXPECT_EQ(ErrorOf<Int128>(OneColumn(Type::Decimal(19, 0)), {{0, 1}}),
            "t.parquet: column 'c', row 0: the number has more digits than decimal(19,0)");
  EXPECT_EQ(ErrorOf<int64_t>(OneColumn(Type::Timestamp(TimeUnit::kSecond)), {0, INT64_MAX}),
            "t.parquet: column 'c', row 1: the timestamp does not fit in 64-bit milliseconds");
  EXPECT_NE(ErrorOf<Interval>(OneColumn(Type::Of(TypeId::kInterval)), {{1, 1, 1000}, {0, 0, -1000}}).find("row 1"),
            std::string::npos);
}

TEST(FileWriter, IgnoresWhatLiesUnderNulls) {
  MemoryFileSystem fs;
  const Schema schema = OneColumn(Type::Of(TypeId::kString));
  std::vector<StringRef> values(3);
  std::memset(static_cast<void*>(&values[1]), 0xff, sizeof values[1]);  // a size and a pointer to nowhere
  const uint64_t validity = 0b101;
  EXPECT_TRUE(WriteOne(fs, schema, OptionsFor(schema), values, nullptr, &validity).ok());
}

TEST(FileWriter, IsOfNoUseAfterAnError) {
  MemoryFileSystem fs;
  const Schema schema = OneColumn(Type::Decimal(3, 0));
  auto writer = FileWriter::Create(fs, kPath, schema, OptionsFor(schema));
  ASSERT_TRUE(writer.ok());
  const std::vector<int16_t> values = {1000};
  const ColumnView view = ViewOf(values);
  const Status first = (*writer)->Append({&view, 1}, 1);
  EXPECT_FALSE(first.ok());
  EXPECT_EQ((*writer)->Append({&view, 0}, 0).message(), first.message());
  EXPECT_EQ((*writer)->Finish().status().message(), first.message());
  writer->reset();
  EXPECT_FALSE(fs.Has(kPath));
}

TEST(FileWriter, RefusesOptionsThatMakeNoSense) {
  MemoryFileSystem fs;
  const Schema text = OneColumn(Type::Of(TypeId::kString));
  const auto refuses = [&](const Schema& schema, auto change) {
    WriterOptions options = OptionsFor(schema);
    change(options);
    const Status status = FileWriter::Create(fs, kPath, schema, options).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
    EXPECT_FALSE(fs.Has(kPath));
  };
  refuses(text, [](WriterOptions& o) { o.page_rows = 100; });
  refuses(text, [](WriterOptions& o) { o.page_rows = 0; });
  refuses(text, [](WriterOptions& o) { o.row_group_rows = 100; });
  refuses(text, [](WriterOptions& o) { o.columns[0].bloom_fpp = 0; });
  refuses(text, [](WriterOptions& o) { o.columns[0].bloom_fpp = 1; });
  refuses(text, [](WriterOptions& o) { o.columns[0].encoding = EncodingChoice::kDelta; });
  refuses(text, [](WriterOptions& o) { o.columns[0].encoding = EncodingChoice::kRle; });
  refuses(text, [](WriterOptions& o) { o.columns.clear(); });
  refuses({}, [](WriterOptions&) {});
  refuses(OneColumn(Type::Decimal(39, 0)), [](WriterOptions&) {});
  refuses(OneColumn(Type::Of(TypeId::kBool)),
          [](WriterOptions& o) { o.columns[0].encoding = EncodingChoice::kDictionary; });
}

TEST(FileWriter, RefusesAPathThatExistsAndLeavesItAlone) {
  MemoryFileSystem fs;
  const Schema schema = OneColumn(Type::Of(TypeId::kInt32));
  ASSERT_TRUE(WriteOne<int32_t>(fs, schema, OptionsFor(schema), {1}).ok());
  EXPECT_EQ(FileWriter::Create(fs, kPath, schema, OptionsFor(schema)).status().code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(fs.Has(kPath));
}

TEST(FileWriter, PropagatesEveryIoErrorAndRemovesTheFile) {
  const Schema schema = OneColumn(Type::Of(TypeId::kInt32));
  const std::vector<int32_t> values(1000, 5);
  MemoryFileSystem healthy;
  ASSERT_TRUE(WriteOne(healthy, schema, OptionsFor(schema), values).ok());
  for (size_t call = 0; call < healthy.calls; ++call) {
    MemoryFileSystem fs;
    fs.fail_at = call;
    const Status status = WriteOne(fs, schema, OptionsFor(schema), values);
    EXPECT_EQ(status.code(), StatusCode::kIoError) << "call " << call;
    EXPECT_TRUE(status.message().starts_with(kPath)) << status.message();
    EXPECT_FALSE(fs.Has(kPath)) << "call " << call;
  }
}

TEST(FileWriter, RemovesItsFileWhenItIsGivenUp) {
  ThreadPool pool(1);
  MemoryFileSystem fs;
  const Schema schema = OneColumn(Type::Of(TypeId::kInt64));
  WriterOptions options = OptionsFor(schema);
  options.pool = &pool;
  auto writer = FileWriter::Create(fs, kPath, schema, options);
  ASSERT_TRUE(writer.ok());
  const std::vector<int64_t> values(5000, 7);
  const ColumnView view = ViewOf(values);
  ASSERT_TRUE((*writer)->Append({&view, 1}, values.size()).ok());
  writer->reset();  // with groups in flight
  EXPECT_FALSE(fs.Has(kPath));
}

// All threads of the pool write files and none is left to encode their columns.
TEST(FileWriter, FinishesOnTheThreadsOfItsOwnPool) {
  ThreadPool pool(2);
  TaskGroup tasks(&pool);
  std::vector<MemoryFileSystem> systems(4);
  for (MemoryFileSystem& fs : systems) {
    tasks.Add([&fs, &pool] {
      const Schema schema = OneColumn(Type::Of(TypeId::kInt64));
      WriterOptions options = OptionsFor(schema);
      options.pool = &pool;
      return WriteOne(fs, schema, options, std::vector<int64_t>(5000, 7));
    });
  }
  EXPECT_TRUE(tasks.Wait().ok());
}

TEST(FileWriter, KeepsSectionsAndRefusesDoubleOnes) {
  MemoryFileSystem fs;
  const Schema schema = OneColumn(Type::Of(TypeId::kInt32));
  auto writer = FileWriter::Create(fs, kPath, schema, OptionsFor(schema));
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->AddSection("keys", AsBytes("abc")).ok());
  EXPECT_EQ((*writer)->AddSection("keys", {}).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ((*writer)->AddSection("checksums", {}).code(), StatusCode::kAlreadyExists);
  ASSERT_TRUE((*writer)->Finish().ok());
  const auto reader = FileReader::Open(fs, kPath);
  ASSERT_TRUE(reader.ok());
  const auto section = (*reader)->LoadSection("keys");
  ASSERT_TRUE(section.ok());
  EXPECT_EQ(AsText(*section), "abc");
}

TEST(FileWriter, AFileWithoutRowsIsAFile) {
  MemoryFileSystem fs;
  const Schema schema = OneColumn(Type::Of(TypeId::kString));
  WrittenFile written;
  ASSERT_TRUE(WriteOne<StringRef>(fs, schema, OptionsFor(schema), {}, &written).ok());
  EXPECT_EQ(written.row_groups, 0u);
  EXPECT_EQ(written.columns[0].zone.rows, 0u);
  const auto reader = FileReader::Open(fs, kPath);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ((*reader)->columns()[0].field, schema[0]);
}

TEST(FileWriter, APageOfNanHasNoColumnIndexAndOtherNansNoSay) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Schema schema = OneColumn(Type::Of(TypeId::kDouble), false);
  std::vector<double> values(128, 1.5);
  values[3] = nan;
  values[100] = -2.5;
  for (const bool whole_page : {false, true}) {
    if (whole_page) std::fill(values.begin(), values.begin() + 64, nan);
    MemoryFileSystem fs;
    WrittenFile written;
    ASSERT_TRUE(WriteOne(fs, schema, OptionsFor(schema), values, &written).ok());
    EXPECT_TRUE(written.columns[0].zone.may_have_nan);
    EXPECT_EQ(written.columns[0].zone.min.as<double>(), -2.5);
    EXPECT_EQ(written.columns[0].zone.max.as<double>(), 1.5);
    const auto reader = FileReader::Open(fs, kPath);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ((*reader)->metadata().row_groups[0].columns[0].column_index_offset > 0, !whole_page);
  }
}

TEST(FileWriter, AZeroIsNoExactBound) {
  const Schema schema = OneColumn(Type::Of(TypeId::kDouble), false);
  MemoryFileSystem fs;
  WrittenFile written;
  ASSERT_TRUE(WriteOne<double>(fs, schema, OptionsFor(schema), {0.0, 7.0}, &written).ok());
  const ZoneMap& zone = written.columns[0].zone;
  EXPECT_TRUE(zone.min.as<double>() == 0 && std::signbit(zone.min.as<double>()));
  EXPECT_FALSE(zone.min_exact);
  EXPECT_TRUE(zone.max_exact);
}

TEST(FileWriter, StoresWhatDoesNotShrinkAsItIs) {
  std::mt19937_64 random(1);
  std::vector<int64_t> noise(256);
  for (int64_t& value : noise) value = static_cast<int64_t>(random());
  const Schema schema = OneColumn(Type::Of(TypeId::kInt64));
  for (const bool shrinks : {false, true}) {
    WriterOptions options = OptionsFor(schema);
    options.columns[0].encoding = EncodingChoice::kPlain;
    MemoryFileSystem fs;
    ASSERT_TRUE(WriteOne(fs, schema, options, shrinks ? std::vector<int64_t>(256, 5) : noise).ok());
    const auto reader = FileReader::Open(fs, kPath);
    ASSERT_TRUE(reader.ok());
    const auto pages = (*reader)->LoadPages(0, 0);
    ASSERT_TRUE(pages.ok());
    for (const PageLocation& page : (*pages)->locations) {
      const auto header = ParsePageHeader(Bytes(fs.bytes(kPath)).subspan(static_cast<size_t>(page.offset)), nullptr);
      ASSERT_TRUE(header.ok());
      EXPECT_EQ(header->is_compressed, shrinks);
    }
  }
}

// So that one look at the file's end finds what pruning needs, and one position names one page in
// every column.
TEST(FileWriter, LaysTheFileOutAsDocumented) {
  Schema schema = OneColumn(Type::Of(TypeId::kInt64));
  schema.fields.push_back({.name = "d", .type = Type::Of(TypeId::kString)});
  MemoryFileSystem fs;
  auto writer = FileWriter::Create(fs, kPath, schema, OptionsFor(schema));
  ASSERT_TRUE(writer.ok());
  std::vector<int64_t> numbers(700);
  std::vector<StringRef> texts(700);
  for (size_t i = 0; i < 700; ++i) numbers[i] = static_cast<int64_t>(i);
  const ColumnView views[] = {ViewOf(numbers), ViewOf(texts)};
  ASSERT_TRUE((*writer)->Append(views, 700).ok());
  const Result<WrittenFile> written = (*writer)->Finish();
  ASSERT_TRUE(written.ok());
  const auto reader = FileReader::Open(fs, kPath);
  ASSERT_TRUE(reader.ok());
  std::vector<int64_t> offsets;  // in the order that they should have
  const auto add = [&](auto member) {
    for (const RowGroup& group : (*reader)->metadata().row_groups) {
      for (const ColumnMetadata& column : group.columns) offsets.push_back(column.*member);
    }
  };
  for (const RowGroup& group : (*reader)->metadata().row_groups) {
    for (const ColumnMetadata& column : group.columns) offsets.push_back(column.data_page_offset);
    for (const ColumnMetadata& column : group.columns) offsets.push_back(column.bloom_filter_offset);
  }
  add(&ColumnMetadata::column_index_offset);
  add(&ColumnMetadata::offset_index_offset);
  offsets.push_back(static_cast<int64_t>(written->footer_offset));
  EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
  EXPECT_GT(offsets.front(), 0);
  for (size_t group = 0; group < 3; ++group) {
    EXPECT_EQ((*(*reader)->LoadPages(group, 0))->rows, (*(*reader)->LoadPages(group, 1))->rows);
  }
}

// Long values end a row group before it has its rows.
TEST(RowGroupBuffer, IsCutBeforeItsColumnsGrowTooLarge) {
  const Schema schema = OneColumn(Type::Of(TypeId::kBinary));
  RowGroupBuffer buffer(schema, 1000);
  const std::string value(100 << 20, 'x');
  const std::vector<StringRef> values(4, StringRef(value));
  const ColumnView view = ViewOf(values);
  EXPECT_EQ(buffer.FittingRows({&view, 1}, 0, 4), 2u);
  const std::string huge(300 << 20, 'x');
  const std::vector<StringRef> one(1, StringRef(huge));
  const ColumnView huge_view = ViewOf(one);
  EXPECT_EQ(buffer.FittingRows({&huge_view, 1}, 0, 1), 1u);  // alone in its group
}

}  // namespace
}  // namespace petalite::parquet
