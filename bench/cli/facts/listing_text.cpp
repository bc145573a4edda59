#include "listing_text.hpp"

#include "help_text.hpp"
#include "terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

namespace emplace::cli {
namespace {

using bench::TextTable;
constexpr std::size_t kLeastSummary = 20;

// Lines of at most `width` characters, broken at blanks.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    std::size_t end = text.rfind(' ', width);
    if (end == std::string_view::npos || end == 0) {
      end = std::min(text.find(' '), text.size());
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  lines.emplace_back(text);
  return lines;
}

std::string paragraph(std::string_view text) {
  std::string lines;
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part);) {
    for (const std::string& line : wrapped(part, kColumns - 2)) {
      lines += fmt::format("  {}\n", line);
    }
  }
  return lines;
}

std::string presets_of(const ListingEntry& entry) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(entry.presets.size());
  for (const agents::Preset& preset : entry.presets) {
    rows.push_back({preset.name, preset.summary});
  }
  return rows.empty() ? "" : "\n" + fitted_table({{"preset"}, {"meaning"}}, rows);
}

}  // namespace

std::string fitted_table(std::vector<TextTable::Column> columns,
                         const std::vector<std::vector<std::string>>& rows) {
  std::size_t before = 2;
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
    std::size_t width = columns[i].title.size();
    for (const auto& row : rows) {
      width = std::max(width, row[i].size());
    }
    before += width + 2;
  }
  const std::size_t width = table_width();
  const bool has_room = width >= before + kLeastSummary;
  if (width > 0 && !has_room) {
    columns.back().importance = 1;
  }
  TextTable table(std::move(columns));
  for (const auto& row : rows) {
    std::vector<std::string> cells = row;
    for (std::string& line : wrapped(row.back(), has_room ? width - before : row.back().size())) {
      cells.back() = std::move(line);
      table.add_row(cells);
      cells.assign(row.size(), "");
    }
  }
  return table.to_terminal(false, width);
}

// Those for experts last, else in the order in which they are listed.
std::string parameters_of(const ListingEntry& entry) {
  std::vector<std::vector<std::string>> rows;
  for (const bool expert : {false, true}) {
    for (const ParamSpec& parameter : entry.parameters) {
      if (parameter.expert == expert) {
        rows.push_back({parameter.name, emplace::to_string(parameter.default_value),
                        fmt::format("{} ({})", parameter.summary, allowed_values(parameter))});
      }
    }
  }
  return rows.empty() ? "" : "\n" + fitted_table({{"parameter"}, {"default"}, {"meaning"}}, rows);
}

std::string details_of(const Listing& listing, const std::string& name) {
  const ListingEntry entry = listing.entry(name);
  std::string text = fmt::format("{} ({})\n{}", name, listing.one, paragraph(entry.summary));
  for (std::size_t i = 0; i < entry.cells.size(); ++i) {
    if (!entry.cells[i].empty()) {
      text += fmt::format("  {}: {}\n", listing.columns[i].title, entry.cells[i]);
    }
  }
  if (!entry.reference.empty()) {
    text += paragraph("reference: " + entry.reference);
  }
  if (!entry.description.empty()) {
    text += "\n" + paragraph(entry.description);
  }
  return text + presets_of(entry) + parameters_of(entry);
}

}  // namespace emplace::cli
