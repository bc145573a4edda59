#pragma once

// Writes tables as text: aligned columns for a terminal, Markdown or HTML. Cells may contain names
// from users' files, so control characters are replaced and Markdown and HTML are escaped.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Collects rows and lays them out.
class TextTable {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };

  /// Describes one column.
  struct Column {
    std::string title{};
    Align align = Align::kLeft;
  };

  explicit TextTable(std::vector<Column> columns);

  /// Adds a row with one cell for each column; the emphasized ones stand out (bold).
  void add_row(std::vector<std::string> cells, bool emphasized = false);

  /// Returns aligned lines, each beginning with two blanks; with `color`, escape codes for
  /// emphasis.
  std::string to_terminal(bool color) const;

  /// Returns a Markdown table.
  std::string to_markdown() const;

  /// Returns a table element of HTML; cells of columns that are aligned to the right are of class
  /// "number".
  std::string to_html() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool emphasized;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace emplace::bench
