// How Petalite's types stand in a Parquet schema, both ways.
//
// Written: int8…int32, uint8…uint32 and date as INT32; int64, uint64, time, timestamps as INT64
// (INTEGER, DATE, TIME(MICROS, not UTC), TIMESTAMP annotations, each with its ConvertedType where
// one exists); timestamp(s) as TIMESTAMP(MILLIS), because Parquet has no seconds; decimals as INT32
// up to 9 digits, INT64 up to 18, then FIXED_LEN_BYTE_ARRAY of the fewest bytes; string STRING,
// json JSON, binary bare BYTE_ARRAY; uuid UUID in 16 bytes; interval INTERVAL in 12 bytes (months,
// days, milliseconds, all unsigned: a value that does not fit is refused with its row); bool
// BOOLEAN; float, double as they are.
//
// Read: all of these and INT96 (timestamp(us)), TIME_MILLIS, FLOAT16 (float), decimals of any
// physical type, ENUM (string), BSON and bare FIXED_LEN_BYTE_ARRAY (binary). An unknown annotation
// leaves the physical type.

#pragma once

#include <vector>

#include "parquet/metadata.h"
#include "petalite/schema.h"
#include "petalite/value.h"

namespace petalite::parquet {

// A leaf of the file's schema. `support` says why it cannot be read (nested, repeated, an
// unsupported annotation).
struct LeafColumn {
  Field field;
  PhysicalType physical = PhysicalType::kInt64;
  int32_t type_length = 0;
  LogicalAnnotation logical;
  Converted converted = Converted::kNone;
  bool has_order = true;   // statistics are defined for it (not INT96, INTERVAL, unknown annotations)
  bool can_filter = true;  // Bloom filters are defined and its hash is known (not BOOLEAN, INT96,
                           // unknown annotations)
  int16_t max_definition = 0;
  int16_t max_repetition = 0;
  Status support;
};

// The element that a column is written as.
SchemaElement ToSchemaElement(const Field& field);
// The leaves of a file's schema, depth first. Fails only if the tree itself is malformed.
Result<std::vector<LeafColumn>> LeafColumns(const std::vector<SchemaElement>& schema);

// The XXH64 that a column filter of this leaf holds for a value of leaf.field.type. Not for null,
// nor where !leaf.can_filter. ±0 have two hashes: a probe must try both (writers insert both).
uint64_t FilterHash(const LeafColumn& leaf, const Value& value);

}  // namespace petalite::parquet
