#pragma once

// Writes tables as text: aligned columns for a terminal, Markdown or HTML. Cells may contain names
// from users' files, so control characters are replaced and Markdown and HTML are escaped. A
// terminal may be too narrow for all columns; then the least important ones are left out.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// Breaks a paragraph at blanks into lines of at most `width` characters, where words allow; all
/// but the first begin with `indent` blanks. Width 0 leaves it as it is.
std::string filled(std::string_view paragraph, std::size_t width, std::size_t indent = 0);

/// Collects rows and lays them out.
class TextTable {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };

  /// Describes one column.
  struct Column {
    std::string title{};
    Align align = Align::kLeft;
    int importance = 0;  ///< 0: always shown; larger numbers are the first to be left out
  };

  explicit TextTable(std::vector<Column> columns);

  /// Adds a row with one cell for each column; the emphasized ones stand out (bold).
  void add_row(std::vector<std::string> cells, bool emphasized = false);

  /// Returns the columns that fit a line of `width` characters, the important ones first; all if
  /// that is 0.
  std::vector<std::size_t> columns_within(std::size_t width) const;

  /// Returns aligned lines of these columns, each beginning with two blanks, and names the columns
  /// that are left out; with `color`, escape codes for emphasis.
  std::string to_terminal(bool color, std::size_t width = 0) const;

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
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace emplace::bench
