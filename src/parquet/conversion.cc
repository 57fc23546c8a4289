#include "parquet/conversion.h"

#include <bit>
#include <cmath>
#include <limits>

namespace petalite::parquet {

size_t PhysicalWidth(const LeafColumn& leaf) {
  switch (leaf.physical) {
    case PhysicalType::kBoolean:
      return 1;
    case PhysicalType::kInt32:
    case PhysicalType::kFloat:
      return 4;
    case PhysicalType::kInt64:
    case PhysicalType::kDouble:
      return 8;
    case PhysicalType::kInt96:
      return 12;
    case PhysicalType::kFixedLenByteArray:
      return static_cast<size_t>(leaf.type_length);
    case PhysicalType::kByteArray:
      return 0;
  }
  __builtin_unreachable();
}

// The kernels, one static function per way to convert.
struct ConversionKernels {
  using Parameters = Conversion::Parameters;

  // Applies `convert(value, &converted) -> bool` one by one.
  template <typename In, typename Out, typename F>
  static size_t ForEach(const uint8_t* in, size_t count, uint8_t* out, F convert) {
    for (size_t i = 0; i < count; ++i) {
      Out converted;
      if (!convert(LoadLe<In>(in + i * sizeof(In)), &converted)) return i;
      StoreLe(out + i * sizeof(Out), converted);
    }
    return count;
  }

  // Truncates all values first and looks for the ones that changed only if there are any: this loop
  // vectorizes.
  template <typename In, typename Out>
  static size_t Narrow(const Parameters&, const uint8_t* in, size_t count, uint8_t* out) {
    bool all_fit = true;
    for (size_t i = 0; i < count; ++i) {
      const In value = LoadLe<In>(in + i * sizeof(In));
      const auto narrow = static_cast<Out>(value);
      all_fit &= static_cast<In>(narrow) == value;
      StoreLe(out + i * sizeof(Out), narrow);
    }
    if (all_fit) [[likely]]
      return count;
    return ForEach<In, Out>(in, count, out, [](In value, Out* narrow) {
      *narrow = static_cast<Out>(value);
      return static_cast<In>(*narrow) == value;
    });
  }

  template <typename In, typename Out>
  static size_t DecimalOfInteger(const Parameters& parameters, const uint8_t* in, size_t count, uint8_t* out) {
    using Limits = std::numeric_limits<In>;
    const bool any_fits = parameters.limit > Limits::max();
    const In highest = any_fits ? Limits::max() : static_cast<In>(parameters.limit - 1);
    const In lowest = any_fits ? Limits::min() : -highest;
    bool all_fit = true;
    for (size_t i = 0; i < count; ++i) {
      const In value = LoadLe<In>(in + i * sizeof(In));
      all_fit &= static_cast<int>(value <= highest) & static_cast<int>(value >= lowest);
      if constexpr (std::is_same_v<Out, Int128>) {
        StoreLe(out + i * sizeof(Out), FromNative(value));
      } else {
        StoreLe(out + i * sizeof(Out), static_cast<Out>(value));
      }
    }
    if (all_fit) [[likely]]
      return count;
    size_t good = 0;
    for (In value; good < count; ++good) {
      value = LoadLe<In>(in + good * sizeof(In));
      if (value > highest || value < lowest) break;
    }
    return good;
  }

  // Sixteen big-endian bytes.
  static int128_t LoadBigEndian16(const uint8_t* bytes) {
    const uint64_t high = __builtin_bswap64(LoadLe<uint64_t>(bytes));
    const uint64_t low = __builtin_bswap64(LoadLe<uint64_t>(bytes + 8));
    return ToNative({low, static_cast<int64_t>(high)});
  }

  // A big-endian two's complement number of any length; false if it has more than 128 bits.
  static bool LoadBigEndian(const uint8_t* bytes, size_t size, int128_t* value) {
    const uint8_t sign = size != 0 && (bytes[0] & 0x80) != 0 ? 0xff : 0;
    for (; size > 16; ++bytes, --size) {
      if (*bytes != sign) return false;
    }
    uint8_t extended[16];
    std::memset(extended, sign, sizeof extended);
    if (size != 0) std::memcpy(extended + 16 - size, bytes, size);
    *value = LoadBigEndian16(extended);
    return (*value < 0) == (sign != 0);
  }

  template <typename Out>
  static bool StoreDecimal(const Parameters& parameters, int128_t value, uint8_t* out) {
    if (value >= parameters.limit || value <= -parameters.limit) return false;
    if constexpr (std::is_same_v<Out, Int128>) {
      StoreLe(out, FromNative(value));
    } else {
      StoreLe(out, static_cast<Out>(value));
    }
    return true;
  }

  template <typename Out>
  static size_t DecimalOfFixed(const Parameters& parameters, const uint8_t* in, size_t count, uint8_t* out) {
    const size_t width = parameters.physical_width;
    const int extra_bits = width < 16 ? static_cast<int>(16 - width) * 8 : 0;
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* const bytes = in + i * width;
      int128_t value;
      if (width <= 16 && (i + 1) * width >= 16) {
        // The sixteen bytes that end where the value ends; what stands before it is shifted out.
        const auto loaded = static_cast<unsigned __int128>(LoadBigEndian16(bytes + width - 16));
        value = static_cast<int128_t>(loaded << extra_bits) >> extra_bits;
      } else if (!LoadBigEndian(bytes, width, &value)) {
        return i;
      }
      if (!StoreDecimal<Out>(parameters, value, out + i * sizeof(Out))) return i;
    }
    return count;
  }

  template <typename Out>
  static size_t DecimalOfString(const Parameters& parameters, const uint8_t* in, size_t count, uint8_t* out) {
    for (size_t i = 0; i < count; ++i) {
      const auto bytes = LoadLe<StringRef>(in + i * sizeof(StringRef));
      int128_t value;
      if (!LoadBigEndian(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &value)) return i;
      if (!StoreDecimal<Out>(parameters, value, out + i * sizeof(Out))) return i;
    }
    return count;
  }

  static int64_t FloorDivide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

  static size_t TimeOfMillis(const Parameters&, const uint8_t* in, size_t count, uint8_t* out) {
    return ForEach<int32_t, int64_t>(in, count, out, [](int32_t millis, int64_t* micros) {
      *micros = int64_t{millis} * 1000;
      return true;
    });
  }
  static size_t TimeOfNanos(const Parameters&, const uint8_t* in, size_t count, uint8_t* out) {
    return ForEach<int64_t, int64_t>(in, count, out, [](int64_t nanos, int64_t* micros) {
      *micros = FloorDivide(nanos, 1000);
      return true;
    });
  }
  static size_t SecondsOfMillis(const Parameters&, const uint8_t* in, size_t count, uint8_t* out) {
    return ForEach<int64_t, int64_t>(in, count, out, [](int64_t millis, int64_t* seconds) {
      *seconds = millis / 1000;
      return millis % 1000 == 0;
    });
  }

  // INT96: nanoseconds of the day, then the Julian day. What is finer than a microsecond is lost.
  static size_t TimestampOfInt96(const Parameters&, const uint8_t* in, size_t count, uint8_t* out) {
    constexpr int64_t kEpochJulianDay = 2440588;
    constexpr int64_t kMicrosPerDay = 86'400'000'000;
    for (size_t i = 0; i < count; ++i) {
      const auto nanos = LoadLe<int64_t>(in + i * 12);
      const int64_t day = int64_t{LoadLe<int32_t>(in + i * 12 + 8)} - kEpochJulianDay;
      int64_t micros;
      if (__builtin_mul_overflow(day, kMicrosPerDay, &micros) ||
          __builtin_add_overflow(micros, FloorDivide(nanos, 1000), &micros)) {
        return i;
      }
      StoreLe(out + i * sizeof micros, micros);
    }
    return count;
  }

  static float FloatOfHalf(uint16_t half) {
    const int exponent = half >> 10 & 0x1f;
    const int fraction = half & 0x3ff;
    if (exponent == 31) {
      const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
      return std::bit_cast<float>(sign | 0x7f800000u | static_cast<uint32_t>(fraction) << 13);
    }
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                          : std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
  }
  static size_t FloatsOfHalves(const Parameters&, const uint8_t* in, size_t count, uint8_t* out) {
    return ForEach<uint16_t, float>(in, count, out, [](uint16_t half, float* value) {
      *value = FloatOfHalf(half);
      return true;
    });
  }

  static size_t Uuids(const Parameters&, const uint8_t* in, size_t count, uint8_t* out) {
    for (size_t i = 0; i < count; ++i) {
      Int128 value = FromNative(LoadBigEndian16(in + i * 16));
      value.high ^= std::numeric_limits<int64_t>::min();
      StoreLe(out + i * sizeof value, value);
    }
    return count;
  }

  // Months, days and milliseconds, unsigned; months and days beyond 2^31 are no Interval.
  static size_t Intervals(const Parameters&, const uint8_t* in, size_t count, uint8_t* out) {
    for (size_t i = 0; i < count; ++i) {
      const auto months = LoadLe<int32_t>(in + i * 12);
      const auto days = LoadLe<int32_t>(in + i * 12 + 4);
      if (months < 0 || days < 0) return i;
      StoreLe(out + i * sizeof(Interval), Interval{months, days, LoadLe<uint32_t>(in + i * 12 + 8) * int64_t{1000}});
    }
    return count;
  }

  static size_t StringsOfFixed(const Parameters& parameters, const uint8_t* in, size_t count, uint8_t* out) {
    const size_t width = parameters.physical_width;
    for (size_t i = 0; i < count; ++i) StoreLe(out + i * sizeof(StringRef), StringRef(in + i * width, width));
    return count;
  }

  template <typename Out>
  static Conversion::Kernel Decimal(PhysicalType physical) {
    switch (physical) {
      case PhysicalType::kInt32:
        return DecimalOfInteger<int32_t, Out>;
      case PhysicalType::kInt64:
        return DecimalOfInteger<int64_t, Out>;
      case PhysicalType::kFixedLenByteArray:
        return DecimalOfFixed<Out>;
      default:
        return DecimalOfString<Out>;
    }
  }

  static Conversion::Kernel Decimal(const LeafColumn& leaf) {
    switch (leaf.field.type.Width()) {
      case 2:
        return Decimal<int16_t>(leaf.physical);
      case 4:
        return Decimal<int32_t>(leaf.physical);
      case 8:
        return Decimal<int64_t>(leaf.physical);
      default:
        return Decimal<Int128>(leaf.physical);
    }
  }

  // Null: none is needed.
  static Conversion::Kernel Choose(const LeafColumn& leaf) {
    switch (leaf.field.type.id) {
      case TypeId::kDecimal:
        return Decimal(leaf);
      case TypeId::kInt8:
        return Narrow<int32_t, int8_t>;
      case TypeId::kInt16:
        return Narrow<int32_t, int16_t>;
      case TypeId::kUInt8:
        return Narrow<int32_t, uint8_t>;
      case TypeId::kUInt16:
        return Narrow<int32_t, uint16_t>;
      case TypeId::kFloat:
        return leaf.physical == PhysicalType::kFixedLenByteArray ? FloatsOfHalves : nullptr;
      case TypeId::kTime:
        return leaf.physical == PhysicalType::kInt32 ? TimeOfMillis : leaf.logical.unit == 3 ? TimeOfNanos : nullptr;
      case TypeId::kTimestamp:
        if (leaf.physical == PhysicalType::kInt96) return TimestampOfInt96;
        return leaf.field.type.unit == TimeUnit::kSecond ? SecondsOfMillis : nullptr;
      case TypeId::kBinary:
        return leaf.physical == PhysicalType::kFixedLenByteArray ? StringsOfFixed : nullptr;
      case TypeId::kUuid:
        return Uuids;
      case TypeId::kInterval:
        return Intervals;
      default:
        return nullptr;
    }
  }
};

Conversion::Conversion(const LeafColumn& leaf)
    : physical_width_(leaf.physical == PhysicalType::kByteArray ? sizeof(StringRef) : PhysicalWidth(leaf)),
      layout_width_(leaf.field.type.Width()),
      kernel_(ConversionKernels::Choose(leaf)) {
  parameters_.physical_width = physical_width_;
  parameters_.limit = 1;
  for (int i = 0; i < leaf.field.type.precision; ++i) parameters_.limit *= 10;
  CHECK(kernel_ != nullptr || physical_width_ == layout_width_);
}

size_t Conversion::Run(const void* in, size_t count, void* out) const {
  if (kernel_ != nullptr) {
    return kernel_(parameters_, static_cast<const uint8_t*>(in), count, static_cast<uint8_t*>(out));
  }
  if (count != 0) std::memcpy(out, in, count * physical_width_);
  return count;
}

}  // namespace petalite::parquet
