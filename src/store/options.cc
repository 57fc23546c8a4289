#include "store/options.h"

#include <array>
#include <bit>
#include <charconv>

#include "base/nearest.h"

namespace petalite::store {
namespace {

constexpr std::array<std::string_view, 10> kNames = {
    "codec",     "bloom",          "bloom_fpp",    "key_bloom_fpp", "encoding",
    "page_rows", "row_group_rows", "rowset_bytes", "tablets",       "skip_unchanged",
};

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(Trim(text.substr(0, at)));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<size_t> FindColumn(const Schema& schema, std::string_view name) {
  if (const auto found = schema.Find(name)) return *found;
  std::vector<std::string_view> names;
  for (const Field& field : schema.fields) names.push_back(field.name);
  return NotFound("there is no column '{}'; the nearest is '{}'", name, NearestName(name, names));
}

Result<double> ParseFpp(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value < 1)) {
    return InvalidArgument("'{}' is no false-positive probability: it must lie between 0 and 1, both excluded", text);
  }
  return value;
}

Result<uint64_t> ParseCount(std::string_view text, uint64_t least, uint64_t most, uint64_t multiple_of) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most ||
      value % multiple_of != 0) {
    return InvalidArgument("'{}' must be a number from {} to {}{}", text, least, most,
                           multiple_of == 1 ? "" : fmt::format(", a multiple of {}", multiple_of));
  }
  return value;
}

Result<bool> ParseSwitch(std::string_view text) {
  if (SameName(text, "on") || SameName(text, "true")) return true;
  if (SameName(text, "off") || SameName(text, "false")) return false;
  return InvalidArgument("'{}' must be on or off", text);
}

Result<parquet::EncodingChoice> ParseEncoding(std::string_view text) {
  struct Named {
    std::string_view name;
    parquet::EncodingChoice choice;
  };
  static constexpr std::array kEncodings = {
      Named{"auto", parquet::EncodingChoice::kAuto},
      Named{"plain", parquet::EncodingChoice::kPlain},
      Named{"dictionary", parquet::EncodingChoice::kDictionary},
      Named{"delta", parquet::EncodingChoice::kDelta},
      Named{"rle", parquet::EncodingChoice::kRle},
  };
  std::vector<std::string_view> names;
  for (const Named& encoding : kEncodings) {
    if (SameName(encoding.name, text)) return encoding.choice;
    names.push_back(encoding.name);
  }
  return InvalidArgument("unknown encoding '{}'; the nearest is '{}'", text, NearestName(text, names));
}

// Calls set(column position, value text, whether it is the table's) for the table's value (all columns) and for each
// "column = value" behind it.
template <typename Set>
Status ForEachColumn(const Schema& schema, std::string_view value, Set&& set) {
  const std::vector<std::string_view> parts = Split(value, ';');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) continue;
    const size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos) {
      if (i != 0) return InvalidArgument("'{}' is not of the form 'column = value'", parts[i]);
      for (size_t column = 0; column < schema.size(); ++column) RETURN_IF_ERROR(set(column, parts[i], true));
    } else {
      ASSIGN_OR_RETURN(const size_t column, FindColumn(schema, Trim(parts[i].substr(0, equals))));
      RETURN_IF_ERROR(set(column, Trim(parts[i].substr(equals + 1)), false));
    }
  }
  return Status::Ok();
}

Status SetBloom(const Schema& schema, std::string_view value, std::vector<parquet::ColumnOptions>* columns) {
  const bool all = SameName(value, "all");
  for (parquet::ColumnOptions& column : *columns) column.bloom = all;
  if (all || SameName(value, "none")) return Status::Ok();
  for (const std::string_view name : Split(value, ',')) {
    ASSIGN_OR_RETURN(const size_t column, FindColumn(schema, name));
    (*columns)[column].bloom = true;
  }
  return Status::Ok();
}

}  // namespace

Result<std::pair<std::string, std::string>> SplitOption(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == text.npos) return InvalidArgument("option '{}' is not of the form 'name=value'", text);
  return std::pair(std::string(Trim(text.substr(0, equals))), std::string(Trim(text.substr(equals + 1))));
}

TableOptions::TableOptions(const Schema& schema) : columns_(schema.size()) {}

Status TableOptions::Apply(const Schema& schema, const OptionList& options) {
  TableOptions changed = *this;
  for (const auto& [name, value] : options) {
    RETURN_IF_ERROR(changed.ApplyOne(schema, name, value).WithContext(fmt::format("option '{}'", name)));
  }
  if (changed.row_group_rows_ % changed.page_rows_ != 0) {
    return InvalidArgument("row_group_rows ({}) must be a multiple of page_rows ({})", changed.row_group_rows_,
                           changed.page_rows_);
  }
  *this = std::move(changed);
  return Status::Ok();
}

TableOptions TableOptions::For(const Schema& own, const Schema& other) const {
  TableOptions options = *this;
  options.columns_.assign(other.size(), parquet::ColumnOptions());
  for (size_t i = 0; i < other.size(); ++i) {
    for (size_t j = 0; j < own.size(); ++j) {
      if (own[j].field_id == other[i].field_id && own[j].type == other[i].type) options.columns_[i] = columns_[j];
    }
  }
  return options;
}

void TableOptions::RenameColumn(const std::string& from, const std::optional<std::string>& to) {
  for (auto& [option, value] : given_) {
    const bool is_list = SameName(option, "bloom");
    std::string changed;
    for (const std::string_view part : Split(value, is_list ? ',' : ';')) {
      const size_t equals = part.find('=');
      const bool names_it =
          SameName(Trim(is_list ? part : part.substr(0, equals)), from) && (is_list || equals != part.npos);
      if (names_it && !to.has_value()) continue;
      if (!changed.empty()) changed += is_list ? "," : "; ";
      if (names_it) {
        changed += is_list ? *to : fmt::format("{} = {}", *to, Trim(part.substr(equals + 1)));
      } else {
        changed += Trim(part);
      }
    }
    value = changed.empty() && is_list ? "none" : changed;
  }
  std::erase_if(given_, [](const auto& option) { return option.second.empty(); });
}

Status TableOptions::ApplyOne(const Schema& schema, const std::string& name, const std::string& value) {
  const auto is = [&](std::string_view option) { return SameName(name, option); };
  if (is("codec")) {
    RETURN_IF_ERROR(ForEachColumn(schema, value, [&](size_t column, std::string_view text, bool) -> Status {
      ASSIGN_OR_RETURN(columns_[column].codec, CodecSpec::Parse(text));
      return Status::Ok();
    }));
  } else if (is("bloom")) {
    RETURN_IF_ERROR(SetBloom(schema, Trim(value), &columns_));
  } else if (is("bloom_fpp")) {
    RETURN_IF_ERROR(ForEachColumn(schema, value, [&](size_t column, std::string_view text, bool) -> Status {
      ASSIGN_OR_RETURN(columns_[column].bloom_fpp, ParseFpp(text));
      return Status::Ok();
    }));
  } else if (is("encoding")) {
    RETURN_IF_ERROR(ForEachColumn(schema, value, [&](size_t column, std::string_view text, bool of_table) -> Status {
      parquet::ColumnOptions changed = columns_[column];
      ASSIGN_OR_RETURN(changed.encoding, ParseEncoding(text));
      const Status fits = parquet::CheckColumn(schema[column], changed);
      if (fits.ok()) columns_[column] = changed;
      return of_table ? Status::Ok() : fits;  // a table's encoding serves the columns that can have it
    }));
  } else if (is("key_bloom_fpp")) {
    ASSIGN_OR_RETURN(key_bloom_fpp_, ParseFpp(Trim(value)));
  } else if (is("page_rows")) {
    ASSIGN_OR_RETURN(page_rows_, ParseCount(Trim(value), 64, 1u << 20, 64));
  } else if (is("row_group_rows")) {
    ASSIGN_OR_RETURN(row_group_rows_, ParseCount(Trim(value), 64, 1u << 24, 64));
  } else if (is("rowset_bytes")) {
    ASSIGN_OR_RETURN(rowset_bytes_, ParseCount(Trim(value), 1u << 16, uint64_t{1} << 40, 1));
  } else if (is("tablets")) {
    ASSIGN_OR_RETURN(tablets_, ParseCount(Trim(value), 1, 256, 1));
  } else if (is("skip_unchanged")) {
    ASSIGN_OR_RETURN(skip_unchanged_, ParseSwitch(Trim(value)));
  } else {
    return InvalidArgument("unknown option; the nearest is '{}'", NearestName(name, kNames));
  }
  given_[name] = value;
  return Status::Ok();
}

}  // namespace petalite::store
