// Dates, times and timestamps as ISO 8601 text, in the proleptic Gregorian calendar. Independent of locale and zone:
// timestamptz is shown and read in UTC.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "column/types.h"

namespace petalite {

// "2024-02-29", "13:05:00.25", "2024-02-29 13:05:00" (T for the blank and a final Z for timestamptz are accepted): the
// integer of the type's layout. An error where the text is no such moment or has digits finer than the type's unit.
Result<int64_t> ParseMoment(const Type& type, std::string_view text);

// What ParseMoment reads back. `moment` may be any integer.
std::string FormatMoment(const Type& type, int64_t moment);

}  // namespace petalite
