#include "codec/codec.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/nearest.h"
#include "codec/codecs.h"

namespace petalite {
namespace {

// The codecs that the option `codec` offers, and their names there.
struct OptionName {
  std::string_view name;
  CodecId id;
};
constexpr std::array<OptionName, 4> kOptionNames = {{
    {"uncompressed", CodecId::kUncompressed},
    {"lz4", CodecId::kLz4Raw},
    {"snappy", CodecId::kSnappy},
    {"zstd", CodecId::kZstd},
}};

std::string ToLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

Status UnknownCodec(std::string_view text, std::string_view name) {
  std::array<std::string_view, kOptionNames.size()> names;
  std::transform(kOptionNames.begin(), kOptionNames.end(), names.begin(), [](const OptionName& o) { return o.name; });
  return InvalidArgument("unknown codec '{}'; the nearest is '{}' (codecs: {})", text, NearestName(name, names),
                         fmt::join(names, ", "));
}

Result<int> ParseZstdLevel(std::string_view text, std::string_view level_text) {
  int level = 0;
  const char* end = level_text.data() + level_text.size();
  const auto [stopped, error] = std::from_chars(level_text.data(), end, level);
  if (error != std::errc() || stopped != end || level < kZstdMinLevel || level > kZstdMaxLevel) {
    return InvalidArgument("codec '{}': the level of zstd is a whole number from {} to {}", text, kZstdMinLevel,
                           kZstdMaxLevel);
  }
  return level;
}

}  // namespace

std::string_view CodecName(CodecId id) {
  switch (id) {
    case CodecId::kUncompressed:
      return "UNCOMPRESSED";
    case CodecId::kSnappy:
      return "SNAPPY";
    case CodecId::kGzip:
      return "GZIP";
    case CodecId::kLzo:
      return "LZO";
    case CodecId::kBrotli:
      return "BROTLI";
    case CodecId::kLz4Hadoop:
      return "LZ4";
    case CodecId::kZstd:
      return "ZSTD";
    case CodecId::kLz4Raw:
      return "LZ4_RAW";
  }
  return "UNKNOWN";  // the number comes from a file
}

std::string CodecSpec::ToString() const {
  for (const OptionName& option : kOptionNames) {
    if (option.id != id) continue;
    return id == CodecId::kZstd ? fmt::format("{}:{}", option.name, level) : std::string(option.name);
  }
  return ToLower(CodecName(id));
}

Result<CodecSpec> CodecSpec::Parse(std::string_view text) {
  const std::string lower = ToLower(text);
  const size_t colon = lower.find(':');
  const std::string_view name = std::string_view(lower).substr(0, colon);
  const auto option = std::find_if(kOptionNames.begin(), kOptionNames.end(),
                                   [&](const OptionName& candidate) { return candidate.name == name; });
  if (option == kOptionNames.end()) return UnknownCodec(text, name);

  CodecSpec spec{.id = option->id};
  if (spec.id == CodecId::kZstd) spec.level = kZstdDefaultLevel;
  if (colon == std::string::npos) return spec;
  if (spec.id != CodecId::kZstd) return InvalidArgument("codec '{}': only zstd takes a level", text);
  ASSIGN_OR_RETURN(spec.level, ParseZstdLevel(text, std::string_view(lower).substr(colon + 1)));
  return spec;
}

Result<std::shared_ptr<const Codec>> MakeCodec(const CodecSpec& spec) {
  if (spec.id == CodecId::kZstd) {
    if (spec.level < kZstdMinLevel || spec.level > kZstdMaxLevel) {
      return InvalidArgument("zstd level {} is not within {} to {}", spec.level, kZstdMinLevel, kZstdMaxLevel);
    }
    return MakeZstdCodec(spec.level);
  }
  if (spec.id == CodecId::kLz4Hadoop) {
    return Unsupported("codec LZ4 (Parquet's code 5) is only read; write lz4, which is LZ4_RAW");
  }
  ASSIGN_OR_RETURN(const Codec* codec, DecoderFor(spec.id));
  return std::shared_ptr<const Codec>(std::shared_ptr<const Codec>(), codec);  // lives forever: nothing to own
}

Result<const Codec*> DecoderFor(CodecId id) {
  switch (id) {
    case CodecId::kUncompressed:
      return &UncompressedCodec();
    case CodecId::kSnappy:
      return &SnappyCodec();
    case CodecId::kGzip:
      return &GzipCodec();
    case CodecId::kBrotli:
      return &BrotliCodec();
    case CodecId::kLz4Hadoop:
      return &Lz4HadoopCodec();
    case CodecId::kZstd:
      return &ZstdDecoder();
    case CodecId::kLz4Raw:
      return &Lz4RawCodec();
    case CodecId::kLzo:
      break;
  }
  return Unsupported("compression codec {} ({}) is not supported", static_cast<int>(id), CodecName(id));
}

Status DamagedStream(CodecId id, Bytes in, MutableBytes out) {
  return Corruption("{} stream of {} bytes is damaged, or does not hold {} bytes", CodecName(id), in.size(),
                    out.size());
}

}  // namespace petalite
