#include "column/predicate.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "predicate_oracle.h"

namespace petalite {
namespace {

class RandomPredicates {
 public:
  explicit RandomPredicates(uint64_t seed) : random_(seed) {}

  Value NextValue() {
    static const double kValues[] = {-INFINITY, -1, -0.0, 0.0, 1, 2, INFINITY, std::nan("")};
    return Value(kValues[random_() % 8]);
  }
  Predicate Next(int depth) {
    const auto kind = static_cast<PredicateKind>(random_() % (depth == 0 ? 10 : 12));
    switch (kind) {
      case PredicateKind::kAnd:
      case PredicateKind::kOr:
        return {kind, {}, {Next(depth - 1), Next(depth - 1)}};
      case PredicateKind::kIn:
        return {kind, {NextValue(), NextValue()}, {}};
      case PredicateKind::kAlways:
      case PredicateKind::kIsNull:
      case PredicateKind::kIsNotNull:
        return {kind, {}, {}};
      default:
        return Predicate::Compare(kind, NextValue());
    }
  }
  // Rows, some null, and what a writer would say of them, with details left out at random.
  std::pair<std::vector<Value>, ZoneMap> NextZone() {
    std::vector<Value> rows;
    ZoneMap zone;
    zone.rows = random_() % 4;
    zone.may_have_nan = random_() % 4 == 0;
    for (uint64_t i = 0; i < zone.rows; ++i) {
      const Value value = random_() % 4 == 0 ? Value() : NextValue();
      rows.push_back(value);
      if (value.is_null()) {
        ++zone.null_count;
      } else if (value.is_nan()) {
        zone.may_have_nan = true;
      } else {
        if (zone.min.is_null() || Value::Compare(value, zone.min) < 0) zone.min = value;
        if (zone.max.is_null() || Value::Compare(value, zone.max) > 0) zone.max = value;
      }
    }
    zone.has_null_count = random_() % 4 != 0;
    if (random_() % 4 == 0) zone.min = Value();
    if (random_() % 4 == 0) zone.max = Value();
    return {rows, zone};
  }

 private:
  std::mt19937_64 random_;
};

TEST(Predicate, PruningNeverDropsAMatch) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomPredicates random(seed);
  for (int i = 0; i < 200'000; ++i) {
    const auto [rows, zone] = random.NextZone();
    const Predicate predicate = random.Next(2);
    bool any = false;
    for (const Value& row : rows) any = any || Matches(predicate, row);
    ASSERT_TRUE(!any || MayMatch(predicate, zone)) << "iteration " << i;
  }
}

TEST(Predicate, PrunesOutsideTheBounds) {
  ZoneMap zone{
      .rows = 3, .has_null_count = true, .null_count = 0, .min = Value(int64_t{10}), .max = Value(int64_t{20})};
  const auto compare = [&](PredicateKind kind, int64_t value) {
    return MayMatch(Predicate::Compare(kind, Value(value)), zone);
  };
  EXPECT_FALSE(compare(PredicateKind::kEqual, 9));
  EXPECT_TRUE(compare(PredicateKind::kEqual, 10));
  EXPECT_FALSE(compare(PredicateKind::kLess, 10));
  EXPECT_TRUE(compare(PredicateKind::kLessEqual, 10));
  EXPECT_FALSE(compare(PredicateKind::kGreater, 20));
  EXPECT_FALSE(MayMatch({PredicateKind::kIsNull, {}, {}}, zone));
  zone.null_count = 3;
  EXPECT_FALSE(MayMatch({PredicateKind::kIsNotNull, {}, {}}, zone));
  EXPECT_FALSE(compare(PredicateKind::kNotEqual, 1));
}

}  // namespace
}  // namespace petalite
