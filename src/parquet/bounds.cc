#include "parquet/bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bytes.h"

namespace petalite::parquet {
namespace {

template <typename T>
std::string ToBound(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
int CompareAs(std::string_view a, std::string_view b) {
  const T x = LoadLe<T>(a.data());
  const T y = LoadLe<T>(b.data());
  return x < y ? -1 : x > y ? 1 : 0;
}

int CompareBytes(std::string_view a, std::string_view b) {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  return order != 0 ? order : a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

template <typename T>
BoundsScan ScanIntegers(const T* values, size_t count) {
  if (count == 0) return {};
  T min = values[0];
  T max = values[0];
  for (size_t i = 1; i < count; ++i) {
    min = std::min(min, values[i]);
    max = std::max(max, values[i]);
  }
  return {.bounds = Bounds{ToBound(min), ToBound(max)}};
}

// Several independent minima, because the compiler may not reorder comparisons of floating-point
// numbers and one chain of them would wait for itself.
template <typename T>
BoundsScan ScanFloats(const T* values, size_t count) {
  constexpr size_t kLanes = 8;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::array<T, kLanes> mins;
  std::array<T, kLanes> maxs;
  mins.fill(kInfinity);
  maxs.fill(-kInfinity);
  size_t numbers = 0;
  size_t zeros = 0;
  const auto take = [&](size_t lane, T value) {
    mins[lane] = value < mins[lane] ? value : mins[lane];  // false for NaN
    maxs[lane] = value > maxs[lane] ? value : maxs[lane];
    numbers += value == value ? 1 : 0;
    zeros += value == 0 ? 1 : 0;
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) take(lane, values[i + lane]);
  }
  for (; i < count; ++i) take(0, values[i]);
  BoundsScan scan{.bounds = std::nullopt, .has_nan = numbers != count, .has_zero = zeros != 0};
  if (numbers == 0) return scan;
  T min = *std::min_element(mins.begin(), mins.end());
  T max = *std::max_element(maxs.begin(), maxs.end());
  if (min == 0) min = -T{0};
  if (max == 0) max = T{0};
  scan.bounds = Bounds{ToBound(min), ToBound(max)};
  return scan;
}

// The first eight bytes as a number that orders as they do; missing ones are zero.
uint64_t Prefix(std::string_view value) {
  const uint64_t word = __builtin_bswap64(LoadLe<uint64_t>(value.data()));  // ColumnBuffer lets us read on
  return value.size() >= 8 ? word : value.size() == 0 ? 0 : word & ~uint64_t{0} << (64 - 8 * value.size());
}

// Keeps the smallest and the largest of the strings it is shown; their prefixes settle nearly all
// comparisons.
class StringBounds {
 public:
  // `flip` is XORed to each prefix: the sign bit for big-endian signed numbers.
  explicit StringBounds(uint64_t flip) : flip_(flip) {}

  void Add(std::string_view value) {
    const uint64_t prefix = Prefix(value) ^ flip_;
    if (prefix <= min_prefix_ && (empty_ || prefix < min_prefix_ || CompareBytes(value, min_) < 0)) {
      min_ = value;
      min_prefix_ = prefix;
    }
    if (prefix >= max_prefix_ && (empty_ || prefix > max_prefix_ || CompareBytes(value, max_) > 0)) {
      max_ = value;
      max_prefix_ = prefix;
    }
    empty_ = false;
  }

  BoundsScan Finish() const {
    if (empty_) return {};
    return {.bounds = Bounds{std::string(min_), std::string(max_)}};
  }

 private:
  uint64_t flip_;
  bool empty_ = true;
  uint64_t min_prefix_ = ~uint64_t{0};
  uint64_t max_prefix_ = 0;
  std::string_view min_;
  std::string_view max_;
};

uint64_t PrefixFlip(BoundOrder order) { return order == BoundOrder::kBigEndianSigned ? uint64_t{1} << 63 : 0; }

// The largest cut ≤ kMaxBoundBytes between two code points of valid UTF-8.
size_t CodePointCut(std::string_view text) {
  size_t cut = kMaxBoundBytes;
  while (cut > 0 && (static_cast<uint8_t>(text[cut]) & 0xc0) == 0x80) --cut;
  return cut;
}

uint32_t DecodeCodePoint(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  uint32_t point = text.size() == 1 ? lead : lead & (0x7f >> text.size());
  for (size_t i = 1; i < text.size(); ++i) point = point << 6 | (static_cast<uint8_t>(text[i]) & 0x3f);
  return point;
}

void AppendCodePoint(uint32_t point, std::string* out) {
  const auto continuation = [&](int shift) { out->push_back(static_cast<char>(0x80 | (point >> shift & 0x3f))); };
  if (point < 0x80) {
    out->push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out->push_back(static_cast<char>(0xc0 | point >> 6));
    continuation(0);
  } else if (point < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | point >> 12));
    continuation(6);
    continuation(0);
  } else {
    out->push_back(static_cast<char>(0xf0 | point >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

// Raises the last code point that can be raised and drops those behind it; false if there is none.
bool RaiseText(std::string* text) {
  constexpr uint32_t kLastPoint = 0x10ffff;
  constexpr uint32_t kBeforeSurrogates = 0xd7ff;
  constexpr uint32_t kBehindSurrogates = 0xe000;
  while (!text->empty()) {
    size_t begin = text->size() - 1;
    while ((static_cast<uint8_t>((*text)[begin]) & 0xc0) == 0x80) --begin;
    const uint32_t point = DecodeCodePoint(std::string_view(*text).substr(begin));
    text->resize(begin);
    if (point == kLastPoint) continue;
    AppendCodePoint(point == kBeforeSurrogates ? kBehindSurrogates : point + 1, text);
    return true;
  }
  return false;
}

bool RaiseBytes(std::string* bytes) {
  while (!bytes->empty() && static_cast<uint8_t>(bytes->back()) == 0xff) bytes->pop_back();
  if (bytes->empty()) return false;
  bytes->back() = static_cast<char>(static_cast<uint8_t>(bytes->back()) + 1);
  return true;
}

int128_t BigEndian(std::string_view bytes) {
  int128_t value = static_cast<int8_t>(bytes[0]);
  for (size_t i = 1; i < bytes.size(); ++i) value = value * 256 + static_cast<uint8_t>(bytes[i]);
  return value;
}

}  // namespace

BoundOrder OrderOf(const Type& type) {
  switch (type.id) {
    case TypeId::kBool:
      return BoundOrder::kUInt8;
    case TypeId::kInt8:
    case TypeId::kInt16:
    case TypeId::kInt32:
    case TypeId::kDate:
      return BoundOrder::kInt32;
    case TypeId::kUInt8:
    case TypeId::kUInt16:
    case TypeId::kUInt32:
      return BoundOrder::kUInt32;
    case TypeId::kInt64:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      return BoundOrder::kInt64;
    case TypeId::kUInt64:
      return BoundOrder::kUInt64;
    case TypeId::kFloat:
      return BoundOrder::kFloat;
    case TypeId::kDouble:
      return BoundOrder::kDouble;
    case TypeId::kDecimal:
      return type.precision <= 9    ? BoundOrder::kInt32
             : type.precision <= 18 ? BoundOrder::kInt64
                                    : BoundOrder::kBigEndianSigned;
    case TypeId::kString:
    case TypeId::kBinary:
    case TypeId::kJson:
    case TypeId::kUuid:
      return BoundOrder::kBytes;
    case TypeId::kInterval:
      return BoundOrder::kNone;
  }
  __builtin_unreachable();
}

int CompareBounds(BoundOrder order, std::string_view a, std::string_view b) {
  switch (order) {
    case BoundOrder::kNone:
      return 0;
    case BoundOrder::kUInt8:
      return CompareAs<uint8_t>(a, b);
    case BoundOrder::kInt32:
      return CompareAs<int32_t>(a, b);
    case BoundOrder::kUInt32:
      return CompareAs<uint32_t>(a, b);
    case BoundOrder::kInt64:
      return CompareAs<int64_t>(a, b);
    case BoundOrder::kUInt64:
      return CompareAs<uint64_t>(a, b);
    case BoundOrder::kFloat:
      return CompareAs<float>(a, b);
    case BoundOrder::kDouble:
      return CompareAs<double>(a, b);
    case BoundOrder::kBytes:
      return CompareBytes(a, b);
    case BoundOrder::kBigEndianSigned: {
      const int signs = CompareAs<int8_t>(a, b);
      const bool same_sign = (static_cast<int8_t>(a[0]) < 0) == (static_cast<int8_t>(b[0]) < 0);
      return same_sign ? CompareBytes(a, b) : signs;
    }
  }
  __builtin_unreachable();
}

BoundsScan ScanBounds(const ColumnBuffer& buffer, BoundOrder order, size_t begin, size_t end) {
  const size_t count = end - begin;
  switch (order) {
    case BoundOrder::kNone:
      return {};
    case BoundOrder::kUInt8:
      return ScanIntegers(buffer.fixed<uint8_t>() + begin, count);
    case BoundOrder::kInt32:
      return ScanIntegers(buffer.fixed<int32_t>() + begin, count);
    case BoundOrder::kUInt32:
      return ScanIntegers(buffer.fixed<uint32_t>() + begin, count);
    case BoundOrder::kInt64:
      return ScanIntegers(buffer.fixed<int64_t>() + begin, count);
    case BoundOrder::kUInt64:
      return ScanIntegers(buffer.fixed<uint64_t>() + begin, count);
    case BoundOrder::kFloat:
      return ScanFloats(buffer.fixed<float>() + begin, count);
    case BoundOrder::kDouble:
      return ScanFloats(buffer.fixed<double>() + begin, count);
    case BoundOrder::kBytes:
    case BoundOrder::kBigEndianSigned: {
      StringBounds bounds(PrefixFlip(order));
      for (size_t i = begin; i < end; ++i) bounds.Add(buffer.value(i));
      return bounds.Finish();
    }
  }
  __builtin_unreachable();
}

BoundsScan DictionaryBoundsScanner::Scan(size_t begin, size_t end) {
  ++scan_;
  StringBounds bounds(PrefixFlip(OrderOf(buffer_.field().type)));
  for (size_t i = begin; i < end; ++i) {
    const uint32_t code = dictionary_.codes[i];
    if (seen_in_[code] == scan_) continue;
    seen_in_[code] = scan_;
    bounds.Add(buffer_.value(dictionary_.first[code]));
  }
  return bounds.Finish();
}

bool ShortenMin(bool utf8, std::string* bound) {
  if (bound->size() <= kMaxBoundBytes) return true;
  bound->resize(utf8 ? CodePointCut(*bound) : kMaxBoundBytes);
  return false;
}

bool ShortenMax(bool utf8, std::string* bound) {
  if (bound->size() <= kMaxBoundBytes) return true;
  std::string raised = bound->substr(0, utf8 ? CodePointCut(*bound) : kMaxBoundBytes);
  if (!(utf8 ? RaiseText(&raised) : RaiseBytes(&raised))) return true;
  *bound = std::move(raised);
  return false;
}

Value BoundValue(const Type& type, std::string_view bound) {
  switch (OrderOf(type)) {
    case BoundOrder::kNone:
      return Value();
    case BoundOrder::kUInt8:
      return Value(uint64_t{LoadLe<uint8_t>(bound.data())});
    case BoundOrder::kInt32:
      return Value(int64_t{LoadLe<int32_t>(bound.data())});
    case BoundOrder::kUInt32:
      return Value(uint64_t{LoadLe<uint32_t>(bound.data())});
    case BoundOrder::kInt64: {
      const bool is_timestamp = type.id == TypeId::kTimestamp || type.id == TypeId::kTimestampTz;
      const int64_t stored = LoadLe<int64_t>(bound.data());
      // The file has milliseconds where the type has seconds.
      return Value(is_timestamp && type.unit == TimeUnit::kSecond ? stored / 1000 : stored);
    }
    case BoundOrder::kUInt64:
      return Value(LoadLe<uint64_t>(bound.data()));
    case BoundOrder::kFloat:
      return Value(double{LoadLe<float>(bound.data())});
    case BoundOrder::kDouble:
      return Value(LoadLe<double>(bound.data()));
    case BoundOrder::kBigEndianSigned:
      return Value(FromNative(BigEndian(bound)));
    case BoundOrder::kBytes:
      if (type.id != TypeId::kUuid) return Value(std::string(bound));
      return Value(Int128{__builtin_bswap64(LoadLe<uint64_t>(bound.data() + 8)),
                          static_cast<int64_t>(__builtin_bswap64(LoadLe<uint64_t>(bound.data())) ^ uint64_t{1} << 63)});
  }
  __builtin_unreachable();
}

}  // namespace petalite::parquet
