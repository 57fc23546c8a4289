#include "cli/inspect.h"

#include <filesystem>

#include <CLI/CLI.hpp>

#include "cli/output.h"

namespace petalite::cli {
namespace {

std::string Label(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// Whether the members of a list are objects: a table, not a value.
bool IsTable(const Document& value) { return value.is_array() && (value.empty() || value.front().is_object()); }

std::optional<std::string> CellText(const Document& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Document& each : value) text += (text.empty() ? "" : ", ") + CellText(each).value_or("");
  return text;
}

void PrintRows(const Document& list) {
  std::vector<std::string> members;  // of any row, in the order met
  for (const Document& row : list) {
    for (const auto& [name, _] : row.items()) {
      if (std::find(members.begin(), members.end(), name) == members.end()) members.push_back(name);
    }
  }
  std::vector<std::string> header;
  std::vector<bool> numeric;
  for (const std::string& name : members) {
    header.push_back(Label(name));
    const auto is_number = [&](const Document& row) { return row.contains(name) && row[name].is_number(); };
    numeric.push_back(std::any_of(list.begin(), list.end(), is_number));
  }
  TablePrinter printer(header, numeric);
  for (const Document& row : list) {
    std::vector<std::optional<std::string>> cells;
    // Nothing, where a row has not what others have; NULL would read as a value.
    for (const std::string& name : members) {
      cells.push_back(row.contains(name) && !row[name].is_null() ? CellText(row[name]) : std::string());
    }
    printer.Add(std::move(cells));
  }
  printer.Finish();
}

void PrintForPeople(const Document& document) {
  for (const auto& [name, value] : document.items()) {
    const bool empty_list = value.is_array() && value.empty();
    if (empty_list || !IsTable(value)) {
      const std::string text = empty_list ? "none" : CellText(value).value_or("");
      WriteOut(fmt::format("{}: {}\n", Label(name), text.empty() ? "none" : text));
      continue;
    }
    WriteOut(fmt::format("\n{}\n", Label(name)));
    PrintRows(value);
  }
}

Result<Document> Inspect(const InspectOptions& options, const CommonOptions& common) {
  std::error_code error;
  const auto status = std::filesystem::status(options.path, error);
  if (!std::filesystem::exists(status)) return NotFound("{}: there is no such file or directory", options.path);
  if (std::filesystem::is_directory(status)) return InspectDatabase(options, common);
  if (!options.table.empty()) {
    return InvalidArgument("{} is a file; a table ('{}') can only be named in a database", options.path, options.table);
  }
  return InspectFile(options);
}

int RunInspect(const InspectOptions& options, const CommonOptions& common) {
  const auto document = Inspect(options, common);
  if (!document.ok()) return Fail(document.status());
  if (options.json) {
    // Other writers' names and values need not be UTF-8.
    WriteOut(document->dump(2, ' ', false, Document::error_handler_t::replace) + "\n");
  } else {
    PrintForPeople(*document);
  }
  return kDone;
}

}  // namespace

void AddInspect(CLI::App& app, CommonOptions& common, Run* run) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect", "Show what a Parquet file or a database consists of");
  command->footer(
      "Examples:\n  petalite inspect flights.parquet --filters\n"
      "  petalite inspect db orders --probe o_orderkey=4711     which row groups a search would read");
  command->add_option("FILE|DB", options->path, "A Parquet file, whoever wrote it, or the directory of a database")
      ->required();
  command->add_option("TABLE", options->table, "Table of the database; all in short by default");
  command->add_flag("--pages", options->pages, "Every page: where it is, rows, nulls, bounds");
  command->add_flag("--filters", options->filters, "Every column filter: size, bits per distinct value, real FPP");
  command->add_option("--probe", options->probes, "What zone maps and filters say of a value; may be repeated")
      ->type_name("COLUMN=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "Print one JSON document");
  command->callback([=, &common] { *run = [=, &common] { return RunInspect(*options, common); }; });
}

}  // namespace petalite::cli
