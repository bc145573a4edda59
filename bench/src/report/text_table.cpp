#include <emplace/base/check.hpp>
#include <emplace/base/counted.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/bench/text_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace emplace::bench {
namespace {

// The width of UTF-8 text in characters: every byte but those that continue one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

constexpr std::size_t kGap = 2;  // before each column of a terminal

}  // namespace

std::string filled(std::string_view paragraph, std::size_t width, std::size_t indent) {
  std::string text;
  std::size_t used = 0;  // of the line
  for (std::size_t at = 0; at < paragraph.size();) {
    const std::size_t first = std::min(paragraph.find_first_not_of(' ', at), paragraph.size());
    const std::size_t end = std::min(paragraph.find(' ', first), paragraph.size());
    std::string_view word = paragraph.substr(at, end - at);
    if (width > 0 && used > indent && used + width_of(word) > width) {
      text += '\n' + std::string(indent, ' ');
      used = indent;
      word = paragraph.substr(first, end - first);
    }
    text += word;
    used += width_of(word);
    at = end;
  }
  return text;
}

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

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t width = width_of(columns_[column].title);
    for (const Row& row : rows_) {
      width = std::max(width, width_of(row.cells[column]));
    }
    widths.push_back(width);
  }
  return widths;
}

std::vector<std::size_t> TextTable::columns_within(std::size_t width) const {
  const std::vector<std::size_t> widths = this->widths();
  std::vector<std::size_t> columns(columns_.size());
  std::iota(columns.begin(), columns.end(), 0);
  if (width == 0) {
    return columns;
  }
  std::ranges::stable_sort(columns, {}, [&](std::size_t at) { return columns_[at].importance; });
  std::size_t total = 0;
  std::erase_if(columns, [&](std::size_t at) {
    const std::size_t more = kGap + widths[at];
    const bool fits = columns_[at].importance == 0 || total + more <= width;
    total += fits ? more : 0;
    return !fits;
  });
  std::ranges::sort(columns);
  return columns;
}

std::string TextTable::to_terminal(bool color, std::size_t width) const {
  const std::vector<std::size_t> widths = this->widths();
  const std::vector<std::size_t> shown = columns_within(width);
  const auto line = [&](auto&& cell_at) {
    std::string text;
    for (const std::size_t column : shown) {
      const std::string& cell = cell_at(column);
      const std::string padding(widths[column] - width_of(cell), ' ');
      text.append(kGap, ' ');
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
  std::vector<std::string_view> missing;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (!std::ranges::binary_search(shown, column)) {
      missing.emplace_back(columns_[column].title);
    }
  }
  return missing.empty() ? text
                         : text +
                               filled(fmt::format("  (--wide shows {}: {})",
                                                  counted(static_cast<std::int64_t>(missing.size()),
                                                          "more column"),
                                                  fmt::join(missing, ", ")),
                                      width, 2 * kGap) +
                               "\n";
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
