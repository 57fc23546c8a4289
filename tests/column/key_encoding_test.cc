#include "column/key_encoding.h"

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "test_seed.h"

namespace petalite {
namespace {

using ::testing::HasSubstr;
using Tuple = std::vector<Value>;

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

Value Int(int64_t v) { return Value(v); }
Value Text(std::string_view v) { return Value(std::string(v)); }

std::string EncodeOk(const std::vector<Type>& types, const Tuple& values) {
  Result<std::string> key = EncodeKey(types, values);
  EXPECT_TRUE(key.ok()) << key.status().message();
  return key.ok() ? *key : "";
}

// Columns of tuples, as the writer gets them.
class Columns {
 public:
  Columns(const std::vector<Type>& types, const std::vector<Tuple>& rows) : rows_(rows) {
    for (size_t c = 0; c < types.size(); c++) {
      // StringRefs need their alignment, and no layout wants more.
      auto slots = std::make_unique<Slot[]>(rows.size() * types[c].Width() / sizeof(Slot) + 1);
      for (size_t i = 0; i < rows.size(); i++) {
        rows_[i][c].ToSlot(types[c], slots[0].bytes + i * types[c].Width());
      }
      views_.push_back({.values = slots.get(), .size = rows.size()});
      slots_.push_back(std::move(slots));
    }
  }
  std::vector<ColumnView>& views() { return views_; }

 private:
  struct alignas(16) Slot {
    std::byte bytes[16];
  };
  std::vector<Tuple> rows_;  // the strings
  std::vector<std::unique_ptr<Slot[]>> slots_;
  std::vector<ColumnView> views_;
};

const std::vector<Type>& KeyTypes() {
  static const std::vector<Type> types = {Type::Of(TypeId::kInt8),
                                          Type::Of(TypeId::kInt16),
                                          Type::Of(TypeId::kInt32),
                                          Type::Of(TypeId::kInt64),
                                          Type::Of(TypeId::kUInt8),
                                          Type::Of(TypeId::kUInt16),
                                          Type::Of(TypeId::kUInt32),
                                          Type::Of(TypeId::kUInt64),
                                          Type::Decimal(4, 1),
                                          Type::Decimal(9, 2),
                                          Type::Decimal(18, 3),
                                          Type::Decimal(38, 10),
                                          Type::Of(TypeId::kDate),
                                          Type::Of(TypeId::kTime),
                                          Type::Timestamp(TimeUnit::kMicro),
                                          Type::Of(TypeId::kTimestampTz),
                                          Type::Of(TypeId::kString),
                                          Type::Of(TypeId::kBinary),
                                          Type::Of(TypeId::kJson),
                                          Type::Of(TypeId::kUuid)};
  return types;
}

// Values crowd around zero and the ends of the range, so that tuples share columns and signs,
// carries and prefixes are met.
Value RandomValue(const Type& type, std::mt19937_64& random) {
  if (type.IsString()) {
    std::string text(random() % 4 == 0 ? random() % 40 : random() % 4, '\0');
    constexpr char kBytes[] = {'\0', '\1', '\xFE', '\xFF', 'a'};
    for (char& c : text) c = kBytes[random() % std::size(kBytes)];
    return Value(text);
  }
  std::array<uint64_t, 2> bits = {random(), random()};
  switch (random() % 4) {
    case 0:
      bits = {random() % 3, 0};
      break;
    case 1:
      bits = {~(random() % 3), ~uint64_t{0}};
      break;
    case 2:
      bits = {bits[0] & 0x8000000080008080, bits[1] & 0x8000000000000000};
      break;
  }
  return Value::FromSlot(type, bits.data());
}

std::weak_ordering CompareTuples(const Tuple& a, const Tuple& b) {
  for (size_t c = 0; c < a.size(); c++) {
    const std::weak_ordering order = Value::Compare(a[c], b[c]);
    if (order != 0) return order;
  }
  return std::weak_ordering::equivalent;
}

TEST(KeyEncoding, HasTheDocumentedBytes) {
  const std::vector<Type> types = {Type::Of(TypeId::kInt32), Type::Of(TypeId::kString), Type::Of(TypeId::kString)};
  EXPECT_EQ(Hex(EncodeOk(types, {Int(-2), Text(std::string_view("a\0b", 3)), Text("xyz")})),
            "7ffffffe"  // −2: fffffffe with the sign bit flipped
            "6100ff62"  // a 00 b, with its 00 escaped
            "0000"      // the string's end
            "78797a");  // xyz, which the key's end ends
  EXPECT_EQ(Hex(EncodeOk({Type::Of(TypeId::kInt64)}, {Int(1)})), "8000000000000001");
  EXPECT_EQ(Hex(EncodeOk({Type::Of(TypeId::kUInt16)}, {Value(uint64_t{0x1234})})), "1234");
  EXPECT_EQ(Hex(EncodeOk({Type::Decimal(4, 2)}, {Int(-1)})), "7fff");
  EXPECT_EQ(Hex(EncodeOk({Type::Decimal(20, 0)}, {Value(FromNative(5))})), "80000000000000000000000000000005");
  EXPECT_EQ(Hex(EncodeOk({Type::Of(TypeId::kDate)}, {Int(0)})), "80000000");
  const Type uuid = Type::Of(TypeId::kUuid);
  Result<Value> id = Value::Parse(uuid, "00112233-4455-6677-8899-aabbccddeeff");
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(Hex(EncodeOk({uuid}, {*id})), "00112233445566778899aabbccddeeff");
}

TEST(KeyEncoding, OrdersAndReturnsRandomTuples) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; round++) {
    std::vector<Type> types(1 + random() % 4);
    for (Type& type : types) type = KeyTypes()[random() % KeyTypes().size()];
    std::vector<Tuple> rows(60, Tuple(types.size()));
    for (Tuple& row : rows) {
      for (size_t c = 0; c < types.size(); c++) row[c] = RandomValue(types[c], random);
    }
    Columns columns(types, rows);
    EncodedKeys keys;
    const Status status = EncodeKeys(types, columns.views(), &keys);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(keys.size(), rows.size());
    for (size_t i = 0; i < rows.size(); i++) {
      SCOPED_TRACE(Hex(keys[i]));
      ASSERT_EQ(EncodeOk(types, rows[i]), keys[i]);
      Result<Tuple> decoded = DecodeKey(types, keys[i]);
      ASSERT_TRUE(decoded.ok()) << decoded.status().message();
      ASSERT_EQ(*decoded, rows[i]);
      for (size_t j = 0; j < i; j++) {
        ASSERT_EQ(CompareTuples(rows[i], rows[j]) <=> 0, keys[i] <=> keys[j]) << Hex(keys[j]);
      }
    }
  }
}

TEST(KeyEncoding, FollowsSelections) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (const Type& type : KeyTypes()) {
    for (const std::vector<Type>& types : {std::vector<Type>{type}, {type, type}}) {
      std::vector<Tuple> rows(20, Tuple(types.size()));
      for (Tuple& row : rows) {
        for (Value& value : row) value = RandomValue(type, random);
      }
      Columns columns(types, rows);
      const std::vector<uint32_t> selection = {19, 3, 3, 0};
      for (ColumnView& view : columns.views()) {
        view.selection = selection.data();
        view.size = selection.size();
      }
      EncodedKeys keys;
      ASSERT_TRUE(EncodeKeys(types, columns.views(), &keys).ok());
      ASSERT_EQ(keys.size(), selection.size());
      for (size_t i = 0; i < selection.size(); i++) EXPECT_EQ(keys[i], EncodeOk(types, rows[selection[i]]));
    }
  }
}

TEST(KeyEncoding, ReplacesWhatTheOutputHeld) {
  const std::vector<Type> types = {Type::Of(TypeId::kInt64)};
  Columns three(types, {{Int(1)}, {Int(2)}, {Int(3)}});
  Columns one(types, {{Int(4)}});
  Columns none(types, {});
  EncodedKeys keys;
  ASSERT_TRUE(EncodeKeys(types, three.views(), &keys).ok());
  ASSERT_TRUE(EncodeKeys(types, one.views(), &keys).ok());
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(Hex(keys[0]), "8000000000000004");
  ASSERT_TRUE(EncodeKeys(types, none.views(), &keys).ok());
  EXPECT_EQ(keys.size(), 0u);
}

TEST(KeyEncoding, RefusesNullsAndNamesTheRow) {
  const std::vector<Type> types = {Type::Of(TypeId::kInt64), Type::Of(TypeId::kString)};
  std::vector<Tuple> rows(200, {Int(7), Text("x")});
  Columns columns(types, rows);
  for (size_t null : {0, 63, 64, 127, 130, 199}) {
    std::vector<uint64_t> validity(4, ~uint64_t{0});
    validity[null / 64] &= ~(uint64_t{1} << (null % 64));
    columns.views()[1].validity = validity.data();
    EncodedKeys keys;
    const Status status = EncodeKeys(types, columns.views(), &keys);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), fmt::format("row {}: column 2 of the key is null", null));

    const std::vector<uint32_t> selection = {static_cast<uint32_t>(null)};
    std::vector<ColumnView> selected = columns.views();
    for (ColumnView& view : selected) {
      view.selection = selection.data();
      view.size = 1;
    }
    EXPECT_EQ(EncodeKeys(types, selected, &keys).message(), "row 0: column 2 of the key is null");
  }
  EXPECT_EQ(EncodeKey(types, Tuple{Value(), Text("x")}).status().message(), "column 1 of the key is null");
}

TEST(KeyEncoding, RefusesOversizedKeysAndNamesTheRow) {
  const std::vector<Type> types = {Type::Of(TypeId::kInt32), Type::Of(TypeId::kString)};
  const std::string fits(kMaxKeySize - 4, 'x');
  EXPECT_EQ(EncodeOk(types, {Int(1), Text(fits)}).size(), kMaxKeySize);
  Columns columns(types, {{Int(1), Text(fits)}, {Int(2), Text(fits + "x")}});
  EncodedKeys keys;
  const Status status = EncodeKeys(types, columns.views(), &keys);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("row 1"));
  EXPECT_THAT(status.message(), HasSubstr("16385 bytes"));
  EXPECT_EQ(EncodeKey(types, Tuple{Int(2), Text(fits + "x")}).status().code(), StatusCode::kInvalidArgument);
  // What escaping adds counts too.
  const std::vector<Type> escaped = {Type::Of(TypeId::kBinary), Type::Of(TypeId::kInt8)};
  EXPECT_FALSE(EncodeKey(escaped, Tuple{Text(std::string(kMaxKeySize / 2, '\0')), Int(0)}).ok());
}

TEST(KeyEncoding, RefusesBytesThatAreNoKey) {
  const std::vector<Type> types = {Type::Of(TypeId::kString), Type::Of(TypeId::kInt16)};
  const std::string key = EncodeOk(types, {Text("ab"), Int(5)});
  for (size_t length = 0; length < key.size(); length++) {
    EXPECT_EQ(DecodeKey(types, key.substr(0, length)).status().code(), StatusCode::kCorruption) << length;
  }
  EXPECT_EQ(DecodeKey(types, key + "x").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeKey(types, std::string("a\0b\0\0zz", 7)).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeKey({Type::Of(TypeId::kString)}, std::string(kMaxKeySize + 1, 'x')).status().code(),
            StatusCode::kCorruption);
}

TEST(KeyEncoding, DecodesNoiseOnlyIfItIsAnEncoding) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5000; round++) {
    std::vector<Type> types(1 + random() % 3);
    for (Type& type : types) type = KeyTypes()[random() % KeyTypes().size()];
    std::string noise(random() % 20, '\0');
    for (char& c : noise) c = static_cast<char>(random() % 3 == 0 ? 0 : random());
    Result<Tuple> decoded = DecodeKey(types, noise);
    if (decoded.ok()) {
      EXPECT_EQ(EncodeOk(types, *decoded), noise);
    } else {
      EXPECT_EQ(decoded.status().code(), StatusCode::kCorruption);
    }
  }
}

TEST(KeyEncoding, FormatsKeysForMessages) {
  EXPECT_EQ(FormatKey({Type::Of(TypeId::kInt64), Type::Of(TypeId::kString)}, Tuple{Int(1), Text("abc")}), "(1, 'abc')");
  EXPECT_EQ(FormatKey({Type::Of(TypeId::kString)}, Tuple{Text("it's")}), "('it''s')");
  EXPECT_EQ(FormatKey({Type::Decimal(9, 2), Type::Of(TypeId::kDate)}, Tuple{Int(-150), Int(0)}),
            "(-1.50, '1970-01-01')");
  EXPECT_EQ(FormatKey({Type::Of(TypeId::kBinary), Type::Of(TypeId::kInt8)}, Tuple{Text("\x01\xff"), Value()}),
            "('\\x01ff', NULL)");
}

}  // namespace
}  // namespace petalite
