#include "command.hpp"
#include "graph_facts.hpp"
#include "help_text.hpp"
#include "listings.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ranges>

namespace emplace::cli {
namespace {

using bench::TextTable;
constexpr std::size_t kLeastSummary = 20;

struct ListOptions {
  std::string what;
  std::string name;
  bool details = false;
  bool json = false;
};

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

// A table whose last column goes on in the next line where 80 columns are full.
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
  TextTable table(std::move(columns));
  for (const auto& row : rows) {
    std::vector<std::string> cells = row;
    for (std::string& line :
         wrapped(row.back(), std::max(kColumns, before + kLeastSummary) - before)) {
      cells.back() = std::move(line);
      table.add_row(cells);
      cells.assign(row.size(), "");
    }
  }
  return table.to_terminal(false, table_width());
}

std::string table_of(const Listing& listing, const std::vector<std::string>& names) {
  std::vector<TextTable::Column> columns = {{std::string(listing.one)}};
  columns.insert(columns.end(), listing.columns.begin(), listing.columns.end());
  columns.push_back({"summary"});
  std::vector<std::vector<std::string>> rows;
  for (const std::string& name : names) {
    const ListingEntry entry = listing.entry(name);
    std::vector<std::string>& row = rows.emplace_back(std::vector{name});
    row.insert(row.end(), entry.cells.begin(), entry.cells.end());
    row.push_back(entry.summary);
  }
  return fitted_table(std::move(columns), rows);
}

std::string paragraph(std::string_view text) {
  std::string lines;
  for (const auto part : std::views::split(text, '\n')) {
    for (const std::string& line : wrapped({part.begin(), part.end()}, kColumns - 2)) {
      lines += fmt::format("  {}\n", line);
    }
  }
  return lines;
}

std::string presets_of(const ListingEntry& entry) {
  std::vector<std::vector<std::string>> rows;
  for (const agents::Preset& preset : entry.presets) {
    rows.push_back({preset.name, preset.summary});
  }
  return rows.empty() ? "" : "\n" + fitted_table({{"preset"}, {"meaning"}}, rows);
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
  std::string text = name + "\n" + paragraph(entry.summary);
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

// The sizes of all graphs, which are built for that.
std::string sizes_as_text(const std::vector<GraphFacts>& all) {
  using Align = TextTable::Align;
  TextTable table({{"graph"},
                   {"ops", Align::kRight},
                   {"edges", Align::kRight, 3},
                   {"groups", Align::kRight, 2},
                   {"parameters", Align::kRight, 1},
                   {"GFLOP", Align::kRight, 2},
                   {"memory [GB]", Align::kRight, 1}});
  for (const GraphFacts& facts : all) {
    table.add_row({facts.name, fmt::format("{}", facts.ops), fmt::format("{}", facts.edges),
                   fmt::format("{}", facts.groups), fmt::format("{}", facts.totals.parameters),
                   fmt::format("{:.3f}", static_cast<double>(facts.totals.flops) / 1e9),
                   fmt::format("{:.3f}", static_cast<double>(facts.memory_bytes()) / 1e9)});
  }
  return table.to_terminal(false, table_width());
}

Json with_size(Json graph, const GraphFacts& facts) {
  graph.add_all({{"ops", facts.ops},
                 {"edges", facts.edges},
                 {"groups", facts.groups},
                 {"parameter_count", facts.totals.parameters},
                 {"flops", facts.totals.flops},
                 {"memory_bytes", facts.memory_bytes()},
                 {"source", facts.source}});
  return graph;
}

// All names, or the one that the user gave.
std::vector<std::string> names_of(const Listing& listing, const ListOptions& options) {
  std::vector<std::string> names = listing.names();
  if (options.name.empty()) {
    return names;
  }
  if (std::ranges::find(names, options.name) == names.end()) {
    throw_unknown_name(listing.one, options.name, names);
  }
  return {options.name};
}

void list(const ListOptions& options) {
  const Listing& listing = find_listing(options.what);
  const std::vector<std::string> names = names_of(listing, options);
  std::vector<GraphFacts> sizes;
  if (listing.what == "graphs" && options.details && options.name.empty()) {
    sizes = facts_of_catalog();
  }
  if (options.json) {
    Json entries = Json::array();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Json entry = listing.entry(names[i]).json;
      entries.push_back(sizes.empty() ? entry : with_size(entry, sizes[i]));
    }
    std::string member(listing.what);
    std::ranges::replace(member, '-', '_');
    print_json(Json{{"schema_version", 1}, {member, entries}});
  } else if (!sizes.empty()) {
    print_text(sizes_as_text(sizes));
  } else if (options.details || !options.name.empty()) {
    std::string text;
    for (const std::string& name : names) {
      text += (text.empty() ? "" : "\n") + details_of(listing, name);
    }
    print_text(text);
  } else {
    print_text(table_of(listing, names));
  }
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "list",
      "List agents, clusters, formats, graphs, groupings, op-kinds, placement-formats, profiles or "
      "suites");
  set_examples(*command, {"emplace list agents", "emplace list agents placeto",
                          "emplace list graphs --details"});
  const auto options = std::make_shared<ListOptions>();
  command
      ->add_option(
          "WHAT", options->what,
          "agents, clusters, formats, graphs, groupings, op-kinds, placement-formats, profiles or "
          "suites")
      ->required()
      ->type_name("");
  command->add_option("NAME", options->name, "Show all details of this one, parameters included")
      ->type_name("");
  command->add_flag("--details", options->details,
                    "Show all details. For graphs this builds each one to report its size.");
  add_json(*command, options->json);
  command->callback([options, &action] {
    action = [options](const Invocation&) {
      list(*options);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
