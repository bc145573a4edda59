#include <emplace/bench/text_table.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/escape.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace emplace::bench {
namespace {

// The width of UTF-8 text in characters: every byte but those that continue one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) {
    column.title = escape_terminal(column.title);
  }
}

void TextTable::add_row(std::vector<std::string> cells, bool emphasized) {
  EMPLACE_CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(),
                columns_.size());
  for (std::string& cell : cells) {
    cell = escape_terminal(cell);
  }
  rows_.push_back({std::move(cells), emphasized});
}

std::string TextTable::to_terminal(bool color) const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t width = width_of(columns_[column].title);
    for (const Row& row : rows_) {
      width = std::max(width, width_of(row.cells[column]));
    }
    widths.push_back(width);
  }
  const auto line = [&](auto&& cell_at) {
    std::string text;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      const std::string& cell = cell_at(column);
      const std::string padding(widths[column] - width_of(cell), ' ');
      text += "  ";
      if (columns_[column].align == Align::kRight) {
        text += padding;
      }
      text += cell;
      if (columns_[column].align == Align::kLeft) {
        text += padding;
      }
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string text =
      line([&](std::size_t column) -> const std::string& { return columns_[column].title; }) + "\n";
  for (const Row& row : rows_) {
    const std::string cells =
        line([&](std::size_t column) -> const std::string& { return row.cells[column]; });
    text += color && row.emphasized ? "\x1b[1;32m" + cells + "\x1b[0m\n" : cells + "\n";
  }
  return text;
}

std::string TextTable::to_markdown() const {
  std::string text = "|";
  for (const Column& column : columns_) {
    text += fmt::format(" {} |", escape_markdown(column.title));
  }
  text += "\n|";
  for (const Column& column : columns_) {
    text += column.align == Align::kRight ? " ---: |" : " --- |";
  }
  text += "\n";
  for (const Row& row : rows_) {
    text += "|";
    for (const std::string& cell : row.cells) {
      const std::string_view emphasis = row.emphasized && !cell.empty() ? "**" : "";
      text += fmt::format(" {0}{1}{0} |", emphasis, escape_markdown(cell));
    }
    text += "\n";
  }
  return text;
}

std::string TextTable::to_html() const {
  std::string text = "<table>\n<tr>";
  const auto cell = [&](std::string_view element, std::size_t column, const std::string& content) {
    const std::string_view alignment =
        columns_[column].align == Align::kRight ? " class=\"number\"" : "";
    text += fmt::format("<{0}{1}>{2}</{0}>", element, alignment, escape_markup(content));
  };
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    cell("th", column, columns_[column].title);
  }
  text += "</tr>\n";
  for (const Row& row : rows_) {
    text += row.emphasized ? "<tr class=\"emphasized\">" : "<tr>";
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      cell("td", column, row.cells[column]);
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace emplace::bench
