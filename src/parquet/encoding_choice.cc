#include "parquet/encoding_choice.h"

#include <algorithm>
#include <limits>

#include "parquet/bit_packing.h"
#include "parquet/delta_encoder.h"

namespace petalite::parquet {
namespace {

constexpr double kDictionarySaves = 0.7;  // of the plain bytes
constexpr double kDeltaSaves = 0.5;       // of the best alternative
constexpr double kAscending = 0.9;        // share of differences that are not negative
// A reader holds the whole dictionary while it reads any page; this much stays in a second-level
// cache.
constexpr size_t kMaxDictionaryBytes = size_t{1} << 20;
constexpr size_t kMaxForcedDictionaryBytes = size_t{64} << 20;  // when somebody asked for one
constexpr size_t kPageOverhead = 48;                            // a page's header, about

size_t PlainBytes(const ColumnBuffer& buffer) { return buffer.bytes(); }

// The dictionary page and the codes; long runs of one code take next to nothing.
size_t DictionaryBytes(const ChunkDictionary& dictionary) {
  const std::vector<uint32_t>& codes = dictionary.codes;
  size_t runs = 1;
  for (size_t i = 1; i < codes.size(); ++i) runs += codes[i] != codes[i - 1] ? 1 : 0;
  const auto width = static_cast<size_t>(dictionary.code_width());
  const size_t packed = codes.size() * width / 8;
  const size_t as_runs = runs * (3 + width / 8);
  return kPageOverhead + dictionary.plain.size() + std::min(packed, as_runs);
}

DictionaryLimits LimitsFor(const ColumnBuffer& buffer, EncodingChoice choice) {
  if (choice == EncodingChoice::kDictionary) {
    return {kMaxForcedDictionaryBytes, std::numeric_limits<uint32_t>::max() - 1, false};
  }
  const auto worth = static_cast<size_t>(kDictionarySaves * static_cast<double>(PlainBytes(buffer)));
  return {std::min(kMaxDictionaryBytes, worth), buffer.values(), true};
}

// The bits of a bound of an integer or floating-point column.
uint64_t Bits(std::string_view bound) {
  return bound.size() == 4 ? LoadLe<uint32_t>(bound.data()) : LoadLe<uint64_t>(bound.data());
}

// How far apart the bounds are, where the values are integers.
std::optional<uint64_t> DenseRange(const ColumnBuffer& buffer, const std::optional<Bounds>& bounds) {
  const bool integers = buffer.physical() == PhysicalType::kInt32 || buffer.physical() == PhysicalType::kInt64;
  if (!integers || !bounds) return std::nullopt;
  uint64_t range = Bits(bounds->max) - Bits(bounds->min);
  if (buffer.width() == 4) range = static_cast<uint32_t>(range);
  // A table much larger than the column would cost more than hashing its values.
  if (range > kMaxDenseRange || range > 4 * buffer.values()) return std::nullopt;
  return range;
}

DeltaEstimate EstimateBuffer(const ColumnBuffer& buffer) {
  if (buffer.physical() == PhysicalType::kInt32) {
    return EstimateDelta(std::span(buffer.fixed<int32_t>(), buffer.values()));
  }
  return EstimateDelta(std::span(buffer.fixed<int64_t>(), buffer.values()));
}

}  // namespace

std::optional<ChunkDictionary> TryDictionary(const ColumnBuffer& buffer, EncodingChoice choice,
                                             const std::optional<Bounds>& bounds) {
  const bool wanted = choice == EncodingChoice::kAuto || choice == EncodingChoice::kDictionary;
  if (!wanted || buffer.values() == 0 || buffer.physical() == PhysicalType::kBoolean) return std::nullopt;
  const DictionaryLimits limits = LimitsFor(buffer, choice);
  ChunkDictionary dictionary;
  const std::optional<uint64_t> range = DenseRange(buffer, bounds);
  const bool built = range ? BuildDenseDictionary(buffer, Bits(bounds->min), *range, limits, &dictionary)
                           : BuildDictionary(buffer, limits, &dictionary);
  if (!built) return std::nullopt;
  return dictionary;
}

Encoding ChooseEncoding(const ColumnBuffer& buffer, EncodingChoice choice,
                        const std::optional<ChunkDictionary>& dictionary) {
  if (buffer.physical() == PhysicalType::kBoolean) {
    return choice == EncodingChoice::kPlain ? Encoding::kPlain : Encoding::kRle;
  }
  if (choice == EncodingChoice::kDelta) return Encoding::kDeltaBinaryPacked;
  if (choice == EncodingChoice::kDictionary && dictionary) return Encoding::kRleDictionary;
  if (choice != EncodingChoice::kAuto) return Encoding::kPlain;

  const size_t plain = PlainBytes(buffer);
  const size_t coded = dictionary ? DictionaryBytes(*dictionary) : std::numeric_limits<size_t>::max();
  const bool integers = buffer.physical() == PhysicalType::kInt32 || buffer.physical() == PhysicalType::kInt64;
  if (integers && buffer.values() > 1) {
    const DeltaEstimate delta = EstimateBuffer(buffer);
    const double best = kDeltaSaves * static_cast<double>(std::min(plain, coded));
    if (delta.ascending >= kAscending && static_cast<double>(delta.bytes) < best) return Encoding::kDeltaBinaryPacked;
  }
  const bool saves = static_cast<double>(coded) < kDictionarySaves * static_cast<double>(plain);
  return saves ? Encoding::kRleDictionary : Encoding::kPlain;
}

}  // namespace petalite::parquet
