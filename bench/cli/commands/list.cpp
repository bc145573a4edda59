#include "command.hpp"
#include "facts/graph_facts.hpp"
#include "facts/listing_text.hpp"
#include "facts/listings.hpp"
#include "help_text.hpp"
#include "options.hpp"
#include "terminal.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ranges>

namespace emplace::cli {
namespace {

using bench::TextTable;
struct ListOptions {
  std::string what;
  bool details = false;
};

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

void list(const ListOptions& options, bool json) {
  const Listing& listing = find_listing(options.what);
  const std::vector<std::string> names = listing.names();
  std::vector<GraphFacts> sizes;
  if (listing.what == "graphs" && options.details) {
    sizes = facts_of_catalog();
  }
  if (json) {
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
  } else if (options.details) {
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
  std::string kinds;
  for (const Listing& listing : listings()) {
    kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", listing.what);
  }
  CLI::App* command = app.add_subcommand("list", "List what emplace knows by name");
  command->group("Look up");
  set_examples(*command, {"emplace list agents", "emplace list graphs --details"});
  const auto options = std::make_shared<ListOptions>();
  command->add_option("WHAT", options->what, kinds)->required()->type_name("");
  command->add_flag("--details", options->details,
                    "Show all details. For graphs this builds each one to report its size.");
  command->callback([options, &action] {
    action = [options](const Invocation& invocation) {
      list(*options, invocation.json);
      return Outcome::kOk;
    };
  });
}

}  // namespace emplace::cli
