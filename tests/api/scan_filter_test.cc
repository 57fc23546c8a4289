// Conditions of scans against the same conditions asked of each value, over rows in memory and in files, with and
// without dictionaries, nulls and deaths.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "petalite/database.h"
#include "predicate_oracle.h"
#include "temporary_folder.h"
#include "test_seed.h"

namespace petalite {
namespace {

constexpr size_t kColumns = 5;  // id, then one of each kind

class ScanFilterTest : public testing::Test {
 protected:
  ScanFilterTest() : seed_(TestSeed()), random_(seed_) {
    auto database = Database::Open(folder_.path() + "/db", {.create = true, .background = false});
    EXPECT_TRUE(database.ok());
    database_.emplace(*std::move(database));
    Transaction change = database_->Begin();
    const auto column = [](const char* name, const Type& type) { return Field{.name = name, .type = type}; };
    EXPECT_TRUE(change
                    .CreateTable(
                        {.name = table_,
                         .schema = {{column("id", Type::Of(TypeId::kInt64)), column("few", Type::Of(TypeId::kString)),
                                     column("many", Type::Of(TypeId::kString)),
                                     column("real", Type::Of(TypeId::kDouble)), column("price", Type::Decimal(20, 2))}},
                         .key = {"id"},
                         .options = {{"page_rows", "128"}, {"row_group_rows", "1024"}}})
                    .ok());
    EXPECT_TRUE(change.Commit().ok());
  }

  size_t Roll(size_t sides) { return random_() % sides; }

  Value RandomValue(size_t column) {
    switch (column) {
      case 0:
        return static_cast<int64_t>(Roll(6000));
      case 1:
        return "one of a few texts " + std::to_string(Roll(7));
      case 2:
        return std::to_string(Roll(100'000));
      case 3:
        if (Roll(20) == 0) return std::numeric_limits<double>::quiet_NaN();
        return Roll(20) == 0 ? -0.0 : static_cast<double>(Roll(40)) - 20;
      default:
        return Int128{Roll(1000), Roll(4) == 0 ? -1 : 0};
    }
  }

  Predicate RandomPredicate(size_t column, int depth = 0) {
    const size_t kind = Roll(depth == 2 ? 9 : 11);
    Predicate predicate;
    if (kind < 6) {
      return Predicate::Compare(static_cast<PredicateKind>(static_cast<size_t>(PredicateKind::kEqual) + kind),
                                RandomValue(column));
    }
    if (kind == 6) {
      predicate.kind = PredicateKind::kIn;
      for (size_t i = Roll(5); i-- > 0;) predicate.values.push_back(RandomValue(column));
      return predicate;
    }
    if (kind < 9) {
      predicate.kind = kind == 7 ? PredicateKind::kIsNull : PredicateKind::kIsNotNull;
      return predicate;
    }
    predicate.kind = kind == 9 ? PredicateKind::kAnd : PredicateKind::kOr;
    for (size_t i = Roll(4); i-- > 0;) predicate.children.push_back(RandomPredicate(column, depth + 1));
    return predicate;
  }

  // Upserts rows with random values, some of them null, into table and model.
  void Upsert(size_t rows) {
    std::vector<int64_t> ids;
    std::vector<std::string> few, many;
    std::vector<double> real;
    std::vector<Int128> price;
    std::vector<std::vector<uint64_t>> validity(kColumns, std::vector<uint64_t>((rows + 63) / 64));
    for (size_t row = 0; row < rows; ++row) {
      Row values;
      for (size_t column = 0; column < kColumns; ++column) values.push_back(RandomValue(column));
      ids.push_back(values[0].as<int64_t>());
      few.push_back(values[1].as<std::string>());
      many.push_back(values[2].as<std::string>());
      real.push_back(values[3].as<double>());
      price.push_back(values[4].as<Int128>());
      for (size_t column = 1; column < kColumns; ++column) {
        if (Roll(10) == 0) {
          values[column] = Value();
        } else {
          validity[column][row / 64] |= uint64_t{1} << row % 64;
        }
      }
      model_[ids.back()] = values;
    }
    WriteBatch batch{.op = WriteOp::kUpsert};
    batch.Add("id", ids)
        .Add("few", few, validity[1].data())
        .Add("many", many, validity[2].data())
        .Add("real", real, validity[3].data())
        .Add("price", Type::Decimal(20, 2), {.values = price.data(), .validity = validity[4].data(), .size = rows});
    const auto written = database_->Write(table_, batch);
    ASSERT_TRUE(written.ok()) << written.status().message();
  }

  void CompareScan(const ScanOptions& options, const std::vector<size_t>& conditions) {
    const auto reader = database_->Current().Open(table_);
    ASSERT_TRUE(reader.ok());
    const auto scan = reader->NewScan(options);
    ASSERT_TRUE(scan.ok()) << scan.status().message();
    std::map<int64_t, std::string> expected, found;
    for (const auto& [id, row] : model_) {
      bool all = true;
      for (size_t i = 0; i < conditions.size(); ++i) {
        all = all && Matches(options.where[i].predicate, row[conditions[i]]);
      }
      if (all) expected[id] = Print(reader->schema(), row);
    }
    ScanReader rows = scan->NewReader();
    for (RowBlock block;;) {
      const auto more = rows.Next(&block);
      ASSERT_TRUE(more.ok()) << more.status().message();
      if (!*more) break;
      for (size_t i = 0; i < block.rows; ++i) {
        Row row;
        for (size_t column = 0; column < kColumns; ++column) {
          const ColumnView& view = block.columns[column];
          const Type& type = reader->schema()[column].type;
          const auto* values = static_cast<const uint8_t*>(view.values);
          row.push_back(view.IsValid(i) ? Value::FromSlot(type, values + view.Position(i) * type.Width()) : Value());
        }
        EXPECT_TRUE(found.emplace(row[0].as<int64_t>(), Print(reader->schema(), row)).second);
      }
    }
    EXPECT_EQ(found, expected);
  }

  static std::string Print(const Schema& schema, const Row& row) {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i) text += (row[i].is_null() ? "null" : row[i].ToString(schema[i].type)) + "|";
    return text;
  }

  const TableName table_{.table = "t"};
  TemporaryFolder folder_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  std::optional<Database> database_;
  std::map<int64_t, Row> model_;
};

TEST_F(ScanFilterTest, RowsAreThoseThatTheModelHas) {
  SCOPED_TRACE(SeedTrace(seed_));
  const std::vector<std::string> names = {"id", "few", "many", "real", "price"};
  for (int round = 0; round < 4; ++round) {
    Upsert(2000 + Roll(2000));
    if (round % 2 == 0) {
      ASSERT_TRUE(database_->Flush().ok());
      Upsert(Roll(500) + 1);
    }
    CompareScan({}, {});
    for (int query = 0; query < 40 && !HasFailure(); ++query) {
      ScanOptions options;
      std::vector<size_t> conditions;
      for (size_t i = Roll(3) + 1; i-- > 0;) {
        conditions.push_back(Roll(kColumns));
        options.where.push_back({names[conditions.back()], RandomPredicate(conditions.back())});
      }
      CompareScan(options, conditions);
    }
  }
}

}  // namespace
}  // namespace petalite
