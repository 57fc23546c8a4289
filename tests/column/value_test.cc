#include "petalite/value.h"

#include <cmath>

#include <gtest/gtest.h>

namespace petalite {
namespace {

Value MustParse(const Type& type, std::string_view text) {
  auto value = Value::Parse(type, text);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? *value : Value();
}

TEST(Value, TextReadsBackForEveryType) {
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"bool", {"true", "false"}},
      {"int8", {"-128", "127"}},
      {"int64", {"-9223372036854775808", "9223372036854775807"}},
      {"uint64", {"18446744073709551615"}},
      {"double", {"1.5", "-0.25"}},
      {"decimal(4,2)", {"-99.99", "0.05", "0.00"}},
      {"decimal(38,10)", {"9999999999999999999999999999.0123456789", "-1.0000000000"}},
      {"date", {"1970-01-01", "2024-02-29", "1600-12-31", "-0044-03-15"}},
      {"time", {"00:00:00", "23:59:59.999999"}},
      {"timestamp(s)", {"1969-12-31 23:59:59"}},
      {"timestamp(ns)", {"2001-09-09 01:46:40.123456789"}},
      {"timestamptz(us)", {"1900-01-01 00:00:00.5Z"}},
      {"string", {"", "héllo"}},
      {"binary", {"\\x00ff"}},
      {"uuid", {"00000000-0000-0000-0000-000000000000", "f47ac10b-58cc-4372-a567-0e02b2c3d479"}},
  };
  for (const auto& [name, texts] : cases) {
    const Type type = *Type::Parse(name);
    EXPECT_EQ(type.ToString(), name);
    for (const char* text : texts) EXPECT_EQ(MustParse(type, text).ToString(type), text) << name;
  }
}

TEST(Value, RefusesWhatIsNoSuchValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"int8", "128"},
      {"int32", "1x"},
      {"uint8", "-1"},
      {"decimal(4,2)", "100.00"},
      {"decimal(4,2)", "1.234"},
      {"date", "2023-02-29"},
      {"date", "2023-13-1"},
      {"time", "24:00:00"},
      {"timestamp(ms)", "2020-01-01 00:00:00.0001"},
      {"uuid", "1234"},
      {"binary", "\\xf"},
      {"bool", "yes"},
      {"timestamp(ns)", "9999-01-01 00:00:00"},
  };
  for (const auto& [type, text] : cases) {
    const auto value = Value::Parse(*Type::Parse(type), text);
    ASSERT_FALSE(value.ok()) << type << " " << text;
    EXPECT_NE(value.status().message().find(text), std::string::npos);
  }
}

TEST(Value, UuidsOrderAsTheirBytes) {
  const Type uuid = Type::Of(TypeId::kUuid);
  EXPECT_TRUE(Value::Compare(MustParse(uuid, "00000000-0000-0000-0000-000000000001"),
                             MustParse(uuid, "80000000-0000-0000-0000-000000000000")) < 0);
}

TEST(Value, NanIsGreatestAndZerosAreEqual) {
  const Value nan(std::nan(""));
  EXPECT_TRUE(Value::Compare(nan, Value(INFINITY)) > 0);
  EXPECT_TRUE(Value::Compare(nan, nan) == 0);
  EXPECT_TRUE(Value::Compare(Value(0.0), Value(-0.0)) == 0);
}

TEST(Value, SlotsRoundTrip) {
  for (const auto& [name, text] : {std::pair{"int16", "-7"},
                                   {"decimal(4,1)", "-99.9"},
                                   {"uint32", "4000000000"},
                                   {"decimal(20,0)", "12345678901234567890"},
                                   {"string", "longer than twelve bytes"}}) {
    const Type type = *Type::Parse(name);
    alignas(16) uint8_t slot[16] = {};
    const Value value = MustParse(type, text);
    value.ToSlot(type, slot);
    EXPECT_EQ(Value::FromSlot(type, slot), value) << name;
  }
}

}  // namespace
}  // namespace petalite
