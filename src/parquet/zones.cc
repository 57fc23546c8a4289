#include "parquet/zones.h"

#include <array>
#include <charconv>
#include <cmath>

#include "parquet/conversion.h"

namespace petalite::parquet {
namespace {

// Writers that compared byte arrays as signed bytes, or put bounds of other rows there
// (PARQUET-251, PARQUET-686, PARQUET-1025): anything before these versions.
struct FixedIn {
  std::string_view application;
  std::array<int, 3> version;
};
constexpr FixedIn kByteArrayBoundsFixed[] = {{"parquet-mr", {1, 10, 0}}, {"parquet-cpp", {1, 3, 0}}};

// "parquet-mr version 1.8.1 (build …)": whether the version is before `fixed`. One that cannot be
// read is taken for old.
bool IsBefore(std::string_view created_by, const FixedIn& fixed) {
  constexpr std::string_view kVersion = " version ";
  std::string_view rest = created_by.substr(fixed.application.size());
  if (!rest.starts_with(kVersion)) return true;
  rest.remove_prefix(kVersion.size());
  std::array<int, 3> version{};
  for (int& part : version) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), part);
    if (error != std::errc()) return true;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (rest.starts_with('.')) rest.remove_prefix(1);
  }
  return version < fixed.version;
}

bool WriterIsKnownToLie(std::string_view created_by, PhysicalType physical) {
  if (physical != PhysicalType::kByteArray && physical != PhysicalType::kFixedLenByteArray) return false;
  for (const FixedIn& fixed : kByteArrayBoundsFixed) {
    // "parquet-cpp-arrow" is a later name of parquet-cpp, with higher versions.
    const bool same =
        created_by.starts_with(fixed.application) && !created_by.substr(fixed.application.size()).starts_with("-arrow");
    if (same && IsBefore(created_by, fixed)) return true;
  }
  return false;
}

// Whether the order of a column is that of signed numbers, which alone the legacy fields meant.
bool HasSignedOrder(const LeafColumn& leaf) {
  switch (leaf.physical) {
    case PhysicalType::kInt32:
    case PhysicalType::kInt64:
      return leaf.field.type.id != TypeId::kUInt8 && leaf.field.type.id != TypeId::kUInt16 &&
             leaf.field.type.id != TypeId::kUInt32 && leaf.field.type.id != TypeId::kUInt64;
    case PhysicalType::kFloat:
    case PhysicalType::kDouble:
      return true;
    default:
      return false;
  }
}

// Null if the bytes are no bound of this column.
Value BoundOf(const LeafColumn& leaf, std::string_view bytes) {
  if (leaf.field.type.IsString()) return Value(std::string(bytes));
  alignas(16) uint8_t slot[sizeof(Int128)] = {};
  if (leaf.physical == PhysicalType::kByteArray) {  // a decimal
    const StringRef string(bytes);
    if (Conversion(leaf).Run(&string, 1, slot) != 1) return Value();
    return Value::FromSlot(leaf.field.type, slot);
  }
  if (bytes.size() != PhysicalWidth(leaf)) return Value();
  if (Conversion(leaf).Run(bytes.data(), 1, slot) != 1) return Value();
  return Value::FromSlot(leaf.field.type, slot);
}

// Whether a bound is a value that is there. Without a word on it that is so unless writers shorten
// such values, which they do with byte arrays only. Of zeroes nobody knows which sign is there.
bool IsExact(const LeafColumn& leaf, const Value& bound, std::optional<bool> said) {
  if (bound.is_null()) return false;
  if (const auto* number = std::get_if<double>(&bound.storage()); number != nullptr && *number == 0) return false;
  return said.value_or(!leaf.field.type.IsString());
}

// Zeroes stand for both signs: the lower bound becomes −0, the upper +0.
void WidenZero(Value* bound, bool is_lower) {
  const auto* number = std::get_if<double>(&bound->storage());
  if (number != nullptr && *number == 0) *bound = Value(is_lower ? -0.0 : 0.0);
}

// Gives the zone both bounds, unless they contradict each other.
void SetBounds(Value min, Value max, ZoneMap* zone) {
  if (min.is_nan() || max.is_nan()) return;
  if (!min.is_null() && !max.is_null() && Value::Compare(min, max) > 0) return;
  WidenZero(&min, true);
  WidenZero(&max, false);
  zone->min = std::move(min);
  zone->max = std::move(max);
}

}  // namespace

BoundsTrust TrustOf(const FileMetadata& file, const LeafColumn& leaf, size_t column) {
  if (!leaf.has_order || !leaf.support.ok()) return {};
  const bool ordered = column < file.type_ordered.size() && file.type_ordered[column];
  return {.current = ordered && !WriterIsKnownToLie(file.created_by, leaf.physical), .legacy = HasSignedOrder(leaf)};
}

ZoneMap ZoneOfStatistics(const LeafColumn& leaf, BoundsTrust trust, const Statistics& statistics, uint64_t rows) {
  ZoneMap zone{.rows = rows};
  if (leaf.max_definition == 0) {
    zone.has_null_count = true;
  } else if (statistics.null_count.has_value()) {
    if (*statistics.null_count < 0 || static_cast<uint64_t>(*statistics.null_count) > rows) return zone;
    zone.has_null_count = true;
    zone.null_count = static_cast<uint64_t>(*statistics.null_count);
  }
  if (zone.has_null_count && zone.null_count == rows) return zone;
  const bool use_current = trust.current && (statistics.min_value.has_value() || statistics.max_value.has_value());
  if (!use_current && !trust.legacy) return zone;
  const auto& min = use_current ? statistics.min_value : statistics.legacy_min;
  const auto& max = use_current ? statistics.max_value : statistics.legacy_max;
  SetBounds(min.has_value() ? BoundOf(leaf, *min) : Value(), max.has_value() ? BoundOf(leaf, *max) : Value(), &zone);
  zone.min_exact = IsExact(leaf, zone.min, statistics.is_min_value_exact);
  zone.max_exact = IsExact(leaf, zone.max, statistics.is_max_value_exact);
  return zone;
}

std::vector<ZoneMap> ZonesOfColumnIndex(const LeafColumn& leaf, BoundsTrust trust, const ColumnIndex& index,
                                        std::span<const uint32_t> rows) {
  const size_t pages = rows.size();
  const bool has_counts = !index.null_counts.empty();
  if (!trust.current || index.null_pages.size() != pages || index.min_values.size() != pages ||
      index.max_values.size() != pages || (has_counts && index.null_counts.size() != pages)) {
    return {};
  }
  std::vector<ZoneMap> zones(pages);
  for (size_t i = 0; i < pages; ++i) {
    ZoneMap& zone = zones[i];
    zone.rows = rows[i];
    zone.has_null_count = has_counts || leaf.max_definition == 0;
    if (has_counts) {
      if (index.null_counts[i] < 0 || static_cast<uint64_t>(index.null_counts[i]) > zone.rows) return {};
      zone.null_count = static_cast<uint64_t>(index.null_counts[i]);
    }
    if (index.null_pages[i]) {
      if (has_counts && zone.null_count != zone.rows) return {};
      zone.has_null_count = true;
      zone.null_count = zone.rows;
      continue;
    }
    // A page of values whose count says that all are null.
    if (has_counts && zone.null_count == zone.rows) return {};
    SetBounds(BoundOf(leaf, index.min_values[i]), BoundOf(leaf, index.max_values[i]), &zone);
  }
  return zones;
}

}  // namespace petalite::parquet
