#include "store/mem_rowset.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "column/key_encoding.h"
#include "store/flush.h"
#include "store/key_bounds.h"
#include "test_seed.h"

namespace petalite::store {
namespace {

// Keys of every form: put together from numbers, a string that is its own key, and what has to be stored.
std::vector<std::vector<Type>> KeyTypes() {
  const Type int64 = Type::Of(TypeId::kInt64);
  const Type string = Type::Of(TypeId::kString);
  const Type uuid = Type::Of(TypeId::kUuid);
  std::vector<std::vector<Type>> keys;
  for (const TypeId id : {TypeId::kInt8, TypeId::kUInt8, TypeId::kInt16, TypeId::kUInt16, TypeId::kInt32,
                          TypeId::kUInt32, TypeId::kInt64, TypeId::kUInt64, TypeId::kDate, TypeId::kUuid}) {
    keys.push_back({Type::Of(id)});
  }
  keys.push_back({Type::Decimal(9, 2)});
  keys.push_back({Type::Decimal(18, 2)});
  keys.push_back({Type::Decimal(38, 2)});
  keys.push_back({Type::Of(TypeId::kInt8), int64, uuid});
  keys.push_back({uuid, uuid, uuid, uuid});
  keys.push_back({uuid, uuid, uuid, uuid, uuid});  // too wide to be put together
  keys.push_back({string});
  keys.push_back({int64, string});
  keys.push_back({string, int64});
  return keys;
}

// Values of any bytes, in the type's layout; strings that are short, long, and begin alike.
class RandomColumn {
 public:
  RandomColumn(const Type& type, size_t rows, std::mt19937_64& random) : slots_(rows * type.Width()) {
    if (!type.IsString()) {
      for (uint8_t& byte : slots_) byte = static_cast<uint8_t>(random());
      return;
    }
    auto* const refs = reinterpret_cast<StringRef*>(slots_.data());
    for (size_t i = 0; i < rows; ++i) {
      texts_.push_back(std::string(8 * (random() % 3), 'p') + std::to_string(random() % 100'000'000));
      if (random() % 4 == 0) texts_.back().back() = '\0';
    }
    for (size_t i = 0; i < rows; ++i) refs[i] = StringRef(texts_[i]);
  }
  ColumnView View(const std::vector<uint32_t>& rows) const {
    return {.values = slots_.data(), .selection = rows.data(), .size = rows.size()};
  }

 private:
  ByteBuffer slots_;
  std::vector<std::string> texts_;
};

std::vector<uint64_t> HashesOf(const std::vector<std::string_view>& keys) {
  std::vector<uint64_t> hashes;
  for (const std::string_view key : keys) hashes.push_back(Xxh64(key));
  return hashes;
}

// Rows with keys that are all different, in batches, into memrowsets that expect nothing, too much and too little.
TEST(MemRowset, FindsSortsAndGivesBackKeysOfEveryForm) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  constexpr size_t kRows = 30'000;  // several blocks
  for (const std::vector<Type>& types : KeyTypes()) {
    for (const size_t expected : {size_t{0}, size_t{100'000}, size_t{5000}}) {
      // A payload in front, so that the key's columns are not the first.
      Schema schema{{{.name = "v", .type = Type::Of(TypeId::kInt32)}}};
      std::vector<RandomColumn> columns;
      columns.emplace_back(schema[0].type, kRows, random);
      std::vector<size_t> key;
      for (const Type& type : types) {
        key.push_back(schema.size());
        schema.fields.push_back({.name = "k" + std::to_string(key.size()), .type = type, .nullable = false});
        columns.emplace_back(type, kRows, random);
      }
      std::vector<uint32_t> all(kRows);
      std::iota(all.begin(), all.end(), 0);
      std::vector<ColumnView> key_views;
      for (const size_t column : key) key_views.push_back(columns[column].View(all));
      EncodedKeys encoded;
      ASSERT_TRUE(EncodeKeys(types, key_views, &encoded).ok());
      std::set<std::string_view> seen;
      std::vector<uint32_t> rows;
      for (const uint32_t row : all) {
        if (seen.insert(encoded[row]).second) rows.push_back(row);
      }
      MemRowset mem(1, schema, key, expected);
      std::vector<std::string_view> keys;
      for (size_t begin = 0; begin < rows.size();) {
        const size_t count = std::min<size_t>(rows.size() - begin, 1 + random() % 5000);
        const std::vector<uint32_t> batch(rows.begin() + static_cast<ptrdiff_t>(begin),
                                          rows.begin() + static_cast<ptrdiff_t>(begin + count));
        std::vector<ColumnView> views;
        for (const RandomColumn& column : columns) views.push_back(column.View(batch));
        std::vector<std::string_view> batch_keys;
        for (const uint32_t row : batch) batch_keys.push_back(encoded[row]);
        ASSERT_EQ(mem.Append(views, count, batch_keys, HashesOf(batch_keys), begin + 1, 1), begin);
        keys.insert(keys.end(), batch_keys.begin(), batch_keys.end());
        begin += count;
      }
      MemRowset::KeyBuffer buffer;
      const std::vector<uint64_t> hashes = HashesOf(keys);
      std::vector<uint32_t> found(keys.size());
      mem.FindNewest(keys, hashes, found.data());
      for (uint32_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(mem.KeyOf(i, &buffer), keys[i]);
        ASSERT_EQ(found[i], i);
        ASSERT_EQ(mem.Find(keys[i], hashes[i], UINT64_MAX - 1), i);
      }
      ASSERT_EQ(mem.FindNewest("absent key", Xxh64(std::string_view("absent key"))), kNoRow);
      std::vector<uint32_t> order(keys.size());
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
      ASSERT_EQ(SortedRows(mem, 0), order);
    }
  }
}

TEST(KeyBounds, CountsLikeASearchOfTheKeys) {
  const uint64_t seed = TestSeed();
  SCOPED_TRACE(SeedTrace(seed));
  std::mt19937_64 random(seed);
  const auto key = [&] {
    std::string text(8 * (random() % 2), 'p');
    for (size_t size = random() % 4; size > 0; --size) text.push_back(static_cast<char>(random() % 3));
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> keys(random() % 20);
    for (std::string& each : keys) each = key();
    std::sort(keys.begin(), keys.end());
    KeyBounds bounds;
    for (const std::string& each : keys) bounds.Add(each);
    for (int i = 0; i < 20; ++i) {
      const std::string wanted = key();
      const auto behind = std::upper_bound(keys.begin(), keys.end(), wanted);
      ASSERT_EQ(bounds.CountUpTo(wanted, KeyPrefix(wanted)), static_cast<size_t>(behind - keys.begin()));
      for (size_t at = 0; at < keys.size(); ++at) {
        ASSERT_EQ(bounds.IsUpTo(at, wanted, KeyPrefix(wanted)), wanted <= keys[at]);
      }
    }
  }
}

}  // namespace
}  // namespace petalite::store
