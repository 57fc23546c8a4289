#include "parquet/zones.h"

#include <cmath>

#include <gmock/gmock.h>

#include "base/bytes.h"
#include "bloom/split_block_filter.h"
#include "parquet/reader.h"

namespace petalite::parquet {
namespace {

template <typename T>
std::string Plain(T value) {
  std::string bytes(sizeof value, 0);
  StoreLe(bytes.data(), value);
  return bytes;
}

struct File {
  explicit File(SchemaElement element) {
    element.repetition = element.repetition.value_or(Repetition::kOptional);
    metadata.schema = {{.name = "root", .num_children = 1}, element};
    metadata.created_by = "parquet-mr version 1.12.3 (build x)";
    metadata.type_ordered = {true};
    leaf = (*LeafColumns(metadata.schema))[0];
  }
  ZoneMap Zone(const Statistics& statistics, uint64_t rows = 100) const {
    return ZoneOfStatistics(leaf, TrustOf(metadata, leaf, 0), statistics, rows);
  }

  FileMetadata metadata;
  LeafColumn leaf;
};

File Ints() { return File({.type = PhysicalType::kInt32, .name = "c"}); }
File Doubles() { return File({.type = PhysicalType::kDouble, .name = "c"}); }
File Strings() {
  return File({.type = PhysicalType::kByteArray, .name = "c", .logical = {.kind = LogicalKind::kString}});
}

Statistics Between(std::string min, std::string max) {
  return {.max_value = std::move(max), .min_value = std::move(min)};
}

TEST(ZoneOfStatistics, TakesBoundsAndNullCount) {
  Statistics statistics = Between(Plain<int32_t>(-5), Plain<int32_t>(9));
  statistics.null_count = 3;
  const ZoneMap zone = Ints().Zone(statistics);
  EXPECT_EQ(zone.rows, 100u);
  EXPECT_TRUE(zone.has_null_count);
  EXPECT_EQ(zone.null_count, 3u);
  EXPECT_EQ(zone.min, Value(int64_t{-5}));
  EXPECT_EQ(zone.max, Value(int64_t{9}));
  EXPECT_TRUE(zone.min_exact && zone.max_exact);
}

TEST(ZoneOfStatistics, AMissingNullCountIsNotZero) {
  EXPECT_FALSE(Ints().Zone({}).has_null_count);
  const File required({.type = PhysicalType::kInt32, .repetition = Repetition::kRequired, .name = "c"});
  EXPECT_TRUE(required.Zone({}).has_null_count);
}

TEST(ZoneOfStatistics, IgnoresAnImpossibleNullCount) {
  Statistics statistics = Between(Plain<int32_t>(-5), Plain<int32_t>(9));
  for (const int64_t count : {int64_t{-1}, int64_t{101}}) {
    statistics.null_count = count;
    const ZoneMap zone = Ints().Zone(statistics);
    EXPECT_FALSE(zone.has_null_count);
    EXPECT_TRUE(zone.min.is_null());
  }
}

TEST(ZoneOfStatistics, TrustsCurrentBoundsOnlyWithAColumnOrder) {
  File file = Ints();
  const Statistics statistics = Between(Plain<int32_t>(-5), Plain<int32_t>(9));
  file.metadata.type_ordered = {false};
  EXPECT_TRUE(file.Zone(statistics).min.is_null());
  file.metadata.type_ordered = {};
  EXPECT_TRUE(file.Zone(statistics).min.is_null());
}

TEST(ZoneOfStatistics, TrustsLegacyBoundsOnlyOfSignedOrders) {
  const auto legacy = [](std::string min, std::string max) {
    return Statistics{.legacy_max = std::move(max), .legacy_min = std::move(min)};
  };
  EXPECT_EQ(Ints().Zone(legacy(Plain<int32_t>(-5), Plain<int32_t>(9))).min, Value(int64_t{-5}));
  EXPECT_TRUE(Strings().Zone(legacy("a", "b")).min.is_null());
  const File unsigned_ints({.type = PhysicalType::kInt32, .name = "c", .converted = Converted::kUint32});
  EXPECT_TRUE(unsigned_ints.Zone(legacy(Plain<int32_t>(1), Plain<int32_t>(2))).min.is_null());
}

TEST(ZoneOfStatistics, DistrustsByteArrayBoundsOfWritersThatComparedThemWrongly) {
  File file = Strings();
  const Statistics statistics = Between("a", "b");
  EXPECT_EQ(file.Zone(statistics).min, Value(std::string("a")));
  for (const char* old :
       {"parquet-mr version 1.8.1 (build x)", "parquet-mr", "parquet-mr version ?", "parquet-cpp version 1.2.9"}) {
    file.metadata.created_by = old;
    EXPECT_TRUE(file.Zone(statistics).min.is_null()) << old;
  }
  for (const char* good : {"parquet-mr version 1.10.0", "parquet-cpp version 1.5.1-SNAPSHOT",
                           "parquet-cpp-arrow version 0.15.0", "DuckDB version v1.0.0", ""}) {
    file.metadata.created_by = good;
    EXPECT_FALSE(file.Zone(statistics).min.is_null()) << good;
  }
}

TEST(ZoneOfStatistics, KnowsWhichBoundsAreValues) {
  Statistics statistics = Between("a", "b");
  EXPECT_FALSE(Strings().Zone(statistics).min_exact) << "may have been shortened";
  statistics.is_min_value_exact = true;
  statistics.is_max_value_exact = false;
  EXPECT_TRUE(Strings().Zone(statistics).min_exact);
  EXPECT_FALSE(Strings().Zone(statistics).max_exact);
}

TEST(ZoneOfStatistics, IgnoresNanAndWidensZero) {
  const auto zone = [](double min, double max) { return Doubles().Zone(Between(Plain(min), Plain(max))); };
  EXPECT_TRUE(zone(NAN, 1).min.is_null());
  EXPECT_TRUE(zone(NAN, 1).max.is_null());
  EXPECT_TRUE(zone(1, NAN).min.is_null());
  EXPECT_EQ(zone(0.0, 1).min, Value(-0.0));
  EXPECT_EQ(zone(-1, -0.0).max, Value(0.0));
  EXPECT_FALSE(zone(-1, -0.0).max_exact);
  EXPECT_TRUE(zone(-1, -0.0).min_exact);
  EXPECT_TRUE(zone(1, 2).may_have_nan);
}

TEST(ZoneOfStatistics, IgnoresBoundsThatCannotBe) {
  EXPECT_TRUE(Ints().Zone(Between(Plain<int32_t>(9), Plain<int32_t>(-5))).min.is_null()) << "crossed";
  EXPECT_TRUE(Ints().Zone(Between("abc", Plain<int32_t>(1))).min.is_null()) << "of another size";
  const File int96({.type = PhysicalType::kInt96, .name = "c"});
  EXPECT_TRUE(int96.Zone(Between(std::string(12, 0), std::string(12, 1))).min.is_null());
}

TEST(ZoneOfStatistics, ComparesUnsignedAndDecimalBoundsAsTheirTypes) {
  const File unsigned_ints({.type = PhysicalType::kInt32, .name = "c", .converted = Converted::kUint32});
  EXPECT_EQ(unsigned_ints.Zone(Between(Plain<uint32_t>(1), Plain<uint32_t>(4'000'000'000))).max,
            Value(uint64_t{4'000'000'000}));
  const File decimals({.type = PhysicalType::kByteArray,
                       .name = "c",
                       .logical = {.kind = LogicalKind::kDecimal, .scale = 0, .precision = 6}});
  const ZoneMap zone = decimals.Zone(Between("\xff", "\x01\x01"));
  EXPECT_EQ(zone.min, Value(int64_t{-1}));
  EXPECT_EQ(zone.max, Value(int64_t{257}));
}

// Two pages of 50 rows, the second null.
ColumnIndex TwoPages() {
  return {.null_pages = {false, true},
          .min_values = {Plain<int32_t>(1), ""},
          .max_values = {Plain<int32_t>(2), ""},
          .null_counts = {0, 50}};
}

std::vector<ZoneMap> Zones(const ColumnIndex& index) {
  static const File file = Ints();
  const std::vector<uint32_t> rows = {50, 50};
  return ZonesOfColumnIndex(file.leaf, TrustOf(file.metadata, file.leaf, 0), index, rows);
}

TEST(ZonesOfColumnIndex, GivesEachPageItsZone) {
  const auto zones = Zones(TwoPages());
  ASSERT_EQ(zones.size(), 2u);
  EXPECT_EQ(zones[0].max, Value(int64_t{2}));
  EXPECT_FALSE(zones[0].max_exact);
  EXPECT_EQ(zones[1].null_count, 50u);
  EXPECT_TRUE(zones[1].min.is_null());
}

TEST(ZonesOfColumnIndex, IsDiscardedWhereItContradictsItself) {
  ColumnIndex index = TwoPages();
  index.null_counts = {0, 0};
  EXPECT_TRUE(Zones(index).empty()) << "a null page without nulls";
  index.null_counts = {50, 50};
  EXPECT_TRUE(Zones(index).empty()) << "a page of values with nothing but nulls";
  index.null_counts = {-1, 50};
  EXPECT_TRUE(Zones(index).empty());
  index.null_counts = {0};
  EXPECT_TRUE(Zones(index).empty());
  index = TwoPages();
  index.max_values.pop_back();
  EXPECT_TRUE(Zones(index).empty());
  index = TwoPages();
  index.null_counts.clear();
  ASSERT_EQ(Zones(index).size(), 2u);
  EXPECT_FALSE(Zones(index)[0].has_null_count);
  EXPECT_TRUE(Zones(index)[1].has_null_count);
}

Predicate Equal(Value value) { return Predicate::Compare(PredicateKind::kEqual, std::move(value)); }

TEST(FilterMayMatch, ProvesAbsenceOfEqualityAndIn) {
  const LeafColumn leaf = Ints().leaf;
  bloom::SplitBlockFilter filter(64);
  filter.Insert(FilterHash(leaf, Value(int64_t{7})));
  const auto may_match = [&](const Predicate& predicate) { return FilterMayMatch(predicate, leaf, filter.view()); };
  const Predicate present = Equal(Value(int64_t{7}));
  const Predicate absent = Equal(Value(int64_t{8}));
  EXPECT_TRUE(may_match(present));
  EXPECT_FALSE(may_match(absent));
  EXPECT_FALSE(may_match({.kind = PredicateKind::kIn, .values = {Value(int64_t{8}), Value(int64_t{9})}}));
  EXPECT_TRUE(may_match({.kind = PredicateKind::kIn, .values = {Value(int64_t{8}), Value(int64_t{7})}}));
  EXPECT_FALSE(may_match({.kind = PredicateKind::kAnd, .children = {present, absent}}));
  EXPECT_TRUE(may_match({.kind = PredicateKind::kOr, .children = {absent, present}}));
  EXPECT_FALSE(may_match({.kind = PredicateKind::kOr, .children = {absent, absent}}));
  EXPECT_TRUE(may_match({.kind = PredicateKind::kOr, .children = {absent, {.kind = PredicateKind::kIsNull}}}));
  for (const PredicateKind kind : {PredicateKind::kNotEqual, PredicateKind::kLess, PredicateKind::kGreaterEqual}) {
    EXPECT_TRUE(may_match(Predicate::Compare(kind, Value(int64_t{8}))));
  }
  EXPECT_TRUE(may_match({.kind = PredicateKind::kIsNotNull}));
  EXPECT_TRUE(may_match({}));
}

TEST(FilterMayMatch, ProbesBothZeroesAndNeverPrunesOnNan) {
  const LeafColumn leaf = Doubles().leaf;
  for (const double inserted : {0.0, -0.0}) {
    bloom::SplitBlockFilter filter(64);
    filter.Insert(FilterHash(leaf, Value(inserted)));
    EXPECT_TRUE(FilterMayMatch(Equal(Value(0.0)), leaf, filter.view()));
    EXPECT_TRUE(FilterMayMatch(Equal(Value(-0.0)), leaf, filter.view()));
    EXPECT_TRUE(FilterMayMatch(Equal(Value(static_cast<double>(NAN))), leaf, filter.view()));
    EXPECT_FALSE(FilterMayMatch(Equal(Value(1.0)), leaf, filter.view()));
  }
}

TEST(FilterMayMatch, SaysNothingWhereFiltersAreNotDefined) {
  LeafColumn leaf = Ints().leaf;
  leaf.can_filter = false;
  const bloom::SplitBlockFilter empty(1);
  EXPECT_TRUE(FilterMayMatch(Equal(Value(int64_t{8})), leaf, empty.view()));
}

}  // namespace
}  // namespace petalite::parquet
