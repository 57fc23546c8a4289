#include "column/calendar.h"

#include <optional>

namespace petalite {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

int64_t TicksPerSecond(const Type& type) {
  if (type.id == TypeId::kTime) return 1'000'000;
  switch (type.unit) {
    case TimeUnit::kSecond:
      return 1;
    case TimeUnit::kMilli:
      return 1'000;
    case TimeUnit::kMicro:
      return 1'000'000;
    case TimeUnit::kNano:
      return 1'000'000'000;
  }
  __builtin_unreachable();
}

// Takes digits from the front of `text`, at least `least`.
std::optional<int64_t> TakeDigits(std::string_view* text, size_t least, size_t most) {
  size_t count = 0;
  int64_t number = 0;
  while (count < most && count < text->size() && (*text)[count] >= '0' && (*text)[count] <= '9') {
    number = number * 10 + ((*text)[count++] - '0');
  }
  if (count < least) return std::nullopt;
  text->remove_prefix(count);
  return number;
}

bool TakeChar(std::string_view* text, char c) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}

std::optional<int64_t> TakeDate(std::string_view* text) {
  const bool negative = TakeChar(text, '-');
  const auto year = TakeDigits(text, 1, 7);
  if (!year || !TakeChar(text, '-')) return std::nullopt;
  const auto month = TakeDigits(text, 1, 2);
  if (!month || !TakeChar(text, '-')) return std::nullopt;
  const auto day = TakeDigits(text, 1, 2);
  if (!day || *month < 1 || *month > 12) return std::nullopt;
  // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil; std::chrono stops at year 32767.
  const int64_t full_year = negative ? -*year : *year;
  const bool leap = full_year % 4 == 0 && (full_year % 100 != 0 || full_year % 400 == 0);
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (*day < 1 || *day > kDays[*month - 1] + (*month == 2 && leap ? 1 : 0)) return std::nullopt;
  const int64_t y = full_year - (*month <= 2 ? 1 : 0);
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t year_of_era = y - era * 400;
  const int64_t day_of_year = (153 * (*month + (*month > 2 ? -3 : 9)) + 2) / 5 + *day - 1;
  const int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

// Ticks since midnight.
std::optional<int64_t> TakeTime(std::string_view* text, int64_t ticks_per_second) {
  const auto hour = TakeDigits(text, 1, 2);
  if (!hour || !TakeChar(text, ':')) return std::nullopt;
  const auto minute = TakeDigits(text, 2, 2);
  if (!minute) return std::nullopt;
  int64_t second = 0;
  int64_t fraction = 0;
  if (TakeChar(text, ':')) {
    const auto taken = TakeDigits(text, 2, 2);
    if (!taken) return std::nullopt;
    second = *taken;
    if (TakeChar(text, '.')) {
      int64_t unit = ticks_per_second;
      while (!text->empty() && text->front() >= '0' && text->front() <= '9') {
        unit /= 10;
        if (unit == 0 && text->front() != '0') return std::nullopt;
        fraction += unit * (text->front() - '0');
        text->remove_prefix(1);
      }
    }
  }
  if (*hour > 23 || *minute > 59 || second > 59) return std::nullopt;
  return ((*hour * 60 + *minute) * 60 + second) * ticks_per_second + fraction;
}

std::string FormatDate(int64_t days) {
  // civil_from_days, from the same source.
  days += 719'468;
  const int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const int64_t day_of_era = days - era * 146'097;
  const int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  const int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return fmt::format("{}{:04}-{:02}-{:02}", year < 0 ? "-" : "", year < 0 ? -year : year, month, day);
}

std::string FormatTime(int64_t ticks, int64_t ticks_per_second) {
  const int64_t seconds = ticks / ticks_per_second;
  std::string text = fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  int64_t fraction = ticks % ticks_per_second;
  if (fraction == 0) return text;
  text.push_back('.');
  for (int64_t unit = ticks_per_second / 10; fraction != 0; unit /= 10) {
    text.push_back(static_cast<char>('0' + fraction / unit));
    fraction %= unit;
  }
  return text;
}

}  // namespace

Result<int64_t> ParseMoment(const Type& type, std::string_view text) {
  const Status bad = InvalidArgument("'{}' is not a value of type {}", text, type.ToString());
  const int64_t ticks_per_second = TicksPerSecond(type);
  std::string_view rest = text;
  std::optional<int64_t> days = 0;
  std::optional<int64_t> ticks = 0;
  if (type.id != TypeId::kTime) days = TakeDate(&rest);
  if (!days) return bad;
  const bool has_time =
      type.id == TypeId::kTime || (type.id != TypeId::kDate && (TakeChar(&rest, ' ') || TakeChar(&rest, 'T')));
  if (has_time) ticks = TakeTime(&rest, ticks_per_second);
  if (!ticks) return bad;
  if (type.id == TypeId::kTimestampTz && !TakeChar(&rest, 'Z') && rest.starts_with("+00")) rest.remove_prefix(3);
  if (!rest.empty()) return bad;
  int64_t moment = *days;
  if (type.id == TypeId::kDate) {
    if (moment < INT32_MIN || moment > INT32_MAX) return bad;
    return moment;
  }
  if (__builtin_mul_overflow(*days, kSecondsPerDay * ticks_per_second, &moment) ||
      __builtin_add_overflow(moment, *ticks, &moment)) {
    return bad;
  }
  return moment;
}

std::string FormatMoment(const Type& type, int64_t moment) {
  if (type.id == TypeId::kDate) return FormatDate(moment);
  const int64_t ticks_per_second = TicksPerSecond(type);
  if (type.id == TypeId::kTime) return FormatTime(moment, ticks_per_second);
  const int64_t ticks_per_day = kSecondsPerDay * ticks_per_second;
  int64_t days = moment / ticks_per_day;
  int64_t ticks = moment % ticks_per_day;
  if (ticks < 0) {
    ticks += ticks_per_day;
    --days;
  }
  return fmt::format("{} {}{}", FormatDate(days), FormatTime(ticks, ticks_per_second),
                     type.id == TypeId::kTimestampTz ? "Z" : "");
}

}  // namespace petalite
