#include "cli/output.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "duckdb/common/types/data_chunk.hpp"
#include "duckdb/common/types/vector.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/prepared_statement.hpp"
#include "duckdb/main/query_result.hpp"
#include "duckdb/parser/sql_statement.hpp"

#include "cli/engine.h"

namespace petalite::cli {
namespace {

constexpr size_t kWidthRows = 1000;    // rows that decide how wide columns are
constexpr size_t kTerminalRows = 100;  // rows shown on a terminal
constexpr size_t kMaxWidth = 80;       // characters of a column on a terminal

OutputSink* redirected = nullptr;

bool OnTerminal() { return redirected == nullptr && isatty(STDOUT_FILENO) != 0; }

// Characters, not bytes.
size_t DisplayWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string Shorten(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  size_t bytes = 0;
  for (size_t characters = 0; characters + 1 < width && bytes < text.size(); ++characters) {
    do {
      ++bytes;
    } while (bytes < text.size() && (text[bytes] & 0xc0) == 0x80);
  }
  return std::string(text.substr(0, bytes)) + "…";
}

// Line breaks and tabs would break the table.
std::string OneLine(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

// A chunk's values as text, as SQL casts them.
class ChunkText {
 public:
  ChunkText(duckdb::ClientContext& context, duckdb::DataChunk& chunk) {
    for (duckdb::idx_t i = 0; i < chunk.ColumnCount(); ++i) {
      columns_.emplace_back(duckdb::LogicalType::VARCHAR, chunk.size());
      duckdb::VectorOperations::Cast(context, chunk.data[i], columns_.back(), chunk.size());
      columns_.back().Flatten(chunk.size());
    }
  }
  std::optional<std::string_view> Get(size_t column, size_t row) const {
    if (duckdb::FlatVector::IsNull(columns_[column], row)) return std::nullopt;
    const auto& text = duckdb::FlatVector::GetData<duckdb::string_t>(columns_[column])[row];
    return std::string_view(text.GetData(), text.GetSize());
  }

 private:
  std::vector<duckdb::Vector> columns_;
};

void AppendCsv(std::string* line, std::optional<std::string_view> field) {
  if (!field.has_value()) return;  // null: nothing between the commas; an empty string is ""
  const bool quote = field->empty() || field->find_first_of(",\"\r\n") != std::string_view::npos;
  if (!quote) {
    line->append(*field);
    return;
  }
  line->push_back('"');
  for (const char c : *field) {
    if (c == '"') line->push_back('"');
    line->push_back(c);
  }
  line->push_back('"');
}

duckdb::unique_ptr<duckdb::DataChunk> FetchChunk(duckdb::QueryResult& result) {
  auto chunk = result.Fetch();
  if (result.HasError()) result.GetErrorObject().Throw();
  return chunk != nullptr && chunk->size() > 0 ? std::move(chunk) : nullptr;
}

void WriteTable(duckdb::ClientContext& context, duckdb::QueryResult& result) {
  std::vector<bool> numeric;
  for (const auto& type : result.types) numeric.push_back(type.IsNumeric());
  TablePrinter printer({result.names.begin(), result.names.end()}, numeric);
  while (auto chunk = FetchChunk(result)) {
    const ChunkText text(context, *chunk);
    for (size_t row = 0; row < chunk->size(); ++row) {
      std::vector<std::optional<std::string>> cells;
      for (size_t column = 0; column < chunk->ColumnCount(); ++column) {
        const auto cell = text.Get(column, row);
        cells.push_back(cell.has_value() ? std::optional(std::string(*cell)) : std::nullopt);
      }
      printer.Add(std::move(cells));
    }
  }
  printer.Finish();
}

void WriteCsv(duckdb::ClientContext& context, duckdb::QueryResult& result) {
  std::string lines;
  for (size_t i = 0; i < result.names.size(); ++i) {
    if (i > 0) lines.push_back(',');
    AppendCsv(&lines, result.names[i]);
  }
  lines.push_back('\n');
  WriteOut(lines);
  while (auto chunk = FetchChunk(result)) {
    const ChunkText text(context, *chunk);
    lines.clear();
    for (size_t row = 0; row < chunk->size(); ++row) {
      for (size_t column = 0; column < chunk->ColumnCount(); ++column) {
        if (column > 0) lines.push_back(',');
        AppendCsv(&lines, text.Get(column, row));
      }
      lines.push_back('\n');
    }
    WriteOut(lines);
  }
}

// `result` has one column: each row as a JSON object.
void WriteJson(duckdb::ClientContext& context, duckdb::QueryResult& result, bool as_array) {
  std::string lines = as_array ? "[" : "";
  bool first = true;
  while (auto chunk = FetchChunk(result)) {
    const ChunkText text(context, *chunk);
    for (size_t row = 0; row < chunk->size(); ++row) {
      if (as_array) lines += first ? "\n" : ",\n";
      first = false;
      lines += *text.Get(0, row);
      if (!as_array) lines.push_back('\n');
    }
    WriteOut(lines);
    lines.clear();
  }
  if (as_array) lines += first ? "]\n" : "\n]\n";
  WriteOut(lines);
}

void CopyFileOut(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error(path + ": cannot be read back");
  std::string buffer(size_t{1} << 20, '\0');
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), file)) {
    WriteOut(std::string_view(buffer).substr(0, count));
  }
  std::fclose(file);
}

// Through a temporary file: a Parquet file ends with its index.
void WriteParquet(duckdb::Connection& connection, const std::string& select) {
  const char* directory = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/petalite-XXXXXX", directory != nullptr ? directory : "/tmp");
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) throw std::runtime_error(path + ": cannot be created");
  close(descriptor);
  const auto remove = [&](void*) { unlink(path.c_str()); };
  const std::unique_ptr<void, decltype(remove)> guard(&path, remove);
  const auto result = connection.Query(fmt::format("COPY ({}) TO {} (FORMAT parquet)", select, QuoteText(path)));
  if (result->HasError()) result->GetErrorObject().Throw();
  CopyFileOut(path);
}

// Plans are drawings of several lines: the last column as it stands.
void WritePlan(duckdb::ClientContext& context, duckdb::QueryResult& result) {
  while (auto chunk = FetchChunk(result)) {
    const ChunkText text(context, *chunk);
    for (size_t row = 0; row < chunk->size(); ++row) {
      WriteOut(std::string(text.Get(chunk->ColumnCount() - 1, row).value_or("")) + "\n");
    }
  }
}

// The statement's own text, without its final semicolon.
std::string TextOf(const duckdb::SQLStatement& statement) {
  std::string text = statement.query.substr(statement.stmt_location, statement.stmt_length);
  while (!text.empty() && (text.back() == ';' || std::isspace(static_cast<unsigned char>(text.back())) != 0)) {
    text.pop_back();
  }
  return text;
}

void RunStatement(duckdb::Connection& connection, duckdb::unique_ptr<duckdb::SQLStatement> statement, Format format) {
  const bool is_select = statement->type == duckdb::StatementType::SELECT_STATEMENT;
  const bool is_explain = statement->type == duckdb::StatementType::EXPLAIN_STATEMENT;
  if (is_select && format == Format::kParquet) return WriteParquet(connection, TextOf(*statement));
  duckdb::unique_ptr<duckdb::QueryResult> result;
  const bool json = format == Format::kJson || format == Format::kNdjson;
  if (is_select && json) {
    result = connection.SendQuery(fmt::format("SELECT to_json(r) FROM ({}\n) r", TextOf(*statement)));
  } else {
    result = connection.SendQuery(std::move(statement));
  }
  if (result->HasError()) result->GetErrorObject().Throw();
  if (result->properties.return_type != duckdb::StatementReturnType::QUERY_RESULT) {
    while (FetchChunk(*result) != nullptr) {
    }
    return;
  }
  if (is_select && json) return WriteJson(*connection.context, *result, format == Format::kJson);
  if (is_explain) return WritePlan(*connection.context, *result);
  if (format == Format::kCsv) return WriteCsv(*connection.context, *result);
  WriteTable(*connection.context, *result);  // PRAGMA and the like in any other format
}

}  // namespace

Result<Format> ParseFormat(const std::string& name) {
  static const std::pair<const char*, Format> kFormats[] = {{"table", Format::kTable},
                                                            {"csv", Format::kCsv},
                                                            {"json", Format::kJson},
                                                            {"ndjson", Format::kNdjson},
                                                            {"parquet", Format::kParquet}};
  for (const auto& [known, format] : kFormats) {
    if (name == known) return format;
  }
  return InvalidArgument("unknown format '{}'; there are {}", name, kFormatNames);
}

void RunStatements(duckdb::Connection& connection, const std::string& sql, Format format) {
  for (auto& statement : connection.ExtractStatements(sql)) {
    RunStatement(connection, std::move(statement), format);
    if (Interrupted()) return;
  }
}

TablePrinter::TablePrinter(std::vector<std::string> names, std::vector<bool> numeric)
    : names_(std::move(names)), numeric_(std::move(numeric)), shown_limit_(OnTerminal() ? kTerminalRows : SIZE_MAX) {
  for (const std::string& name : names_) widths_.push_back(DisplayWidth(name));
}

TablePrinter::~TablePrinter() = default;

void TablePrinter::Add(std::vector<std::optional<std::string>> row) {
  if (++rows_ > shown_limit_) return;
  for (auto& cell : row) {
    if (cell.has_value()) cell = OneLine(*std::move(cell));
    if (cell.has_value() && OnTerminal()) cell = Shorten(*cell, kMaxWidth);
  }
  if (header_printed_) return PrintRow(row);
  for (size_t i = 0; i < row.size(); ++i) {
    widths_[i] = std::max(widths_[i], row[i].has_value() ? DisplayWidth(*row[i]) : 4);
  }
  buffered_.push_back(std::move(row));
  if (buffered_.size() == kWidthRows) Flush();
}

void TablePrinter::PrintRow(const std::vector<std::optional<std::string>>& row) {
  std::string line;
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string text = row[i].value_or("NULL");
    const size_t width = DisplayWidth(text);
    const std::string padding(widths_[i] > width ? widths_[i] - width : 0, ' ');
    if (i > 0) line += " │ ";
    const bool last = i + 1 == row.size();
    line += numeric_[i] ? padding + text : text + (last ? "" : padding);
  }
  WriteOut(line + "\n");
}

void TablePrinter::Flush() {
  if (!header_printed_) {
    std::string header;
    std::string rule;
    for (size_t i = 0; i < names_.size(); ++i) {
      const std::string padding(widths_[i] - DisplayWidth(names_[i]), ' ');
      header += (i > 0 ? " │ " : "") + (numeric_[i] ? padding + names_[i] : names_[i] + padding);
      rule += i > 0 ? "─┼─" : "";
      for (size_t c = 0; c < widths_[i]; ++c) rule += "─";
    }
    WriteOut(header + "\n" + rule + "\n");
    header_printed_ = true;
  }
  for (const auto& row : buffered_) PrintRow(row);
  buffered_.clear();
}

void TablePrinter::Finish() {
  Flush();
  const std::string count = fmt::format("({} row{}", rows_, rows_ == 1 ? "" : "s");
  WriteOut(count + (rows_ > shown_limit_ ? fmt::format(", {} shown)\n", shown_limit_) : ")\n"));
}

void RedirectOutput(OutputSink* sink) { redirected = sink; }

void WriteOut(std::string_view text) {
  if (redirected != nullptr) return redirected->Write(text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw std::runtime_error("standard output: cannot be written to");
  }
}

}  // namespace petalite::cli
