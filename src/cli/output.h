// Results on standard output: as a table for people, or as CSV, JSON, NDJSON or Parquet for programs.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace duckdb {
class Connection;
class DataChunk;
}  // namespace duckdb

namespace petalite::cli {

enum class Format { kTable, kCsv, kJson, kNdjson, kParquet };

Result<Format> ParseFormat(const std::string& name);
inline constexpr const char* kFormatNames = "table, csv, json, ndjson, parquet";

// Runs the statements of `sql` one after another and writes what they return, in bounded memory. Throws DuckDB's
// exceptions, and those of WriteOut.
void RunStatements(duckdb::Connection& connection, const std::string& sql, Format format);

// Rows of text in columns, as wide as the widest of the first rows; numbers to the right.
class TablePrinter {
 public:
  TablePrinter(std::vector<std::string> names, std::vector<bool> numeric);
  ~TablePrinter();

  void Add(std::vector<std::optional<std::string>> row);  // none: NULL
  // Writes what is buffered, and the number of rows.
  void Finish();

 private:
  void Flush();
  void PrintRow(const std::vector<std::optional<std::string>>& row);

  std::vector<std::string> names_;
  std::vector<bool> numeric_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::optional<std::string>>> buffered_;
  const size_t shown_limit_;  // rows shown; the rest is counted
  bool header_printed_ = false;
  size_t rows_ = 0;
};

// Writes to standard output, or where output is redirected to; throws when it fails (a full disk, a reader that went
// away).
void WriteOut(std::string_view text);

// Takes results in place of standard output: the shell's pager.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  virtual void Write(std::string_view text) = 0;
};

// Null: standard output again. What goes to a sink is not shortened as it is on a terminal.
void RedirectOutput(OutputSink* sink);

}  // namespace petalite::cli
