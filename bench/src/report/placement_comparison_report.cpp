// A comparison of placements as text, Markdown, tables of a page, and JSON.

#include "comparison_text.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/placement_comparison.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace emplace::bench {
namespace {

using Align = TextTable::Align;
using Resource = ComparedResource;

constexpr std::size_t kMostRows = 12;  // of one table of a text
constexpr std::size_t kLetters = 26;

// A, B, ..., Z, A1, B1, ...
std::string letter(std::size_t placement) {
  std::string text(1, static_cast<char>('A' + placement % kLetters));
  return placement < kLetters ? text : fmt::format("{}{}", text, placement / kLetters);
}

std::string ms(double us) { return fmt::format("{:.3f}", us / 1e3); }

std::string gb(double bytes) { return fmt::format("{:.3f}", bytes / 1e9); }

bool have_one_cluster(const PlacementComparison& comparison) {
  return std::ranges::all_of(comparison.placements, [&](const ComparedPlacement& placement) {
    return placement.cluster == comparison.placements.front().cluster;
  });
}

TextTable placement_table(const PlacementComparison& comparison) {
  const bool has_clusters = !have_one_cluster(comparison);
  const bool has_draws = comparison.placements.front().draws.has_value();
  std::vector<TextTable::Column> columns = {{""}, {"placement"}};
  if (has_clusters) {
    columns.push_back({"cluster"});
  }
  columns.push_back({"step [ms]", Align::kRight});
  columns.push_back({"over A [%]", Align::kRight});
  columns.push_back({"ops moved", Align::kRight, 2});
  columns.push_back({"only transfers [ms]", Align::kRight, 3});
  if (has_draws) {
    columns.push_back({"90 % of draws [ms]", Align::kRight, 4});
    columns.push_back({"beats A", Align::kRight, 1});
  }
  TextTable table(std::move(columns));
  for (std::size_t at = 0; at < comparison.placements.size(); ++at) {
    const ComparedPlacement& placement = comparison.placements[at];
    std::int64_t moved = 0;
    for (const MovedOps& ops : placement.moved) {
      moved += ops.ops;
    }
    std::vector<std::string> cells = {letter(at), placement.name};
    if (has_clusters) {
      cells.push_back(placement.cluster);
    }
    cells.push_back(placement.status == StepStatus::kOk ? ms(placement.step_time_us)
                                                        : std::string("out of memory"));
    cells.push_back(at == 0 ? "" : fmt::format("{:+.1f}", placement.over_first * 100));
    cells.push_back(at == 0 ? "" : fmt::format("{}", moved));
    cells.push_back(ms(placement.exposed_us));
    if (placement.draws) {
      const ComparedDraws& draws = *placement.draws;
      cells.push_back(fmt::format("{} .. {}", ms(draws.summary.p05_us), ms(draws.summary.p95_us)));
      cells.push_back(at == 0 ? ""
                              : fmt::format("{:.3f} ({:.3f} .. {:.3f})",
                                            draws.against_first.probability,
                                            draws.against_first.probability_low,
                                            draws.against_first.probability_high));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

// One quantity of all resources, a column for each placement and, of two, their difference.
struct Quantity {
  std::string title;
  std::function<bool(const Resource&)> is_of;
  std::function<double(const Resource::Use&)> of;
  std::function<std::string(double)> text;
};

std::string more_than(std::size_t rows, std::string_view what) {
  return rows > kMostRows ? fmt::format(" ({} more not shown)", counted(rows - kMostRows, what))
                          : "";
}

// The largest rows first.
std::pair<std::string, TextTable> quantity_table(const PlacementComparison& comparison,
                                                 const Quantity& quantity) {
  const bool are_two = comparison.placements.size() == 2;
  std::vector<TextTable::Column> columns = {{"device or link"}};
  for (std::size_t at = 0; at < comparison.placements.size(); ++at) {
    columns.push_back({letter(at), Align::kRight, static_cast<int>(at)});
  }
  if (are_two) {
    columns.push_back({"B - A", Align::kRight});
  }
  struct Row {
    const Resource* resource;
    double largest = 0;
  };
  std::vector<Row> rows;
  for (const Resource& resource : comparison.resources) {
    Row row{&resource};
    for (const auto& use : resource.uses) {
      row.largest = std::max(row.largest, use ? quantity.of(*use) : 0);
    }
    if (row.largest > 0 && quantity.is_of(resource)) {
      rows.push_back(row);
    }
  }
  if (rows.size() > kMostRows) {
    std::ranges::stable_sort(rows, std::greater{}, &Row::largest);
  }
  TextTable table(std::move(columns));
  for (std::size_t at = 0; at < std::min(rows.size(), kMostRows); ++at) {
    const Resource& resource = *rows[at].resource;
    std::vector<std::string> cells = {resource.name};
    for (const auto& use : resource.uses) {
      cells.push_back(use ? quantity.text(quantity.of(*use)) : "-");
    }
    if (are_two) {
      const auto value = [&](std::size_t side) {
        return resource.uses[side] ? quantity.of(*resource.uses[side]) : 0;
      };
      const double change = value(1) - value(0);
      cells.push_back((change > 0 ? "+" : "") + quantity.text(change));
    }
    table.add_row(std::move(cells));
  }
  return {quantity.title + more_than(rows.size(), "row"), std::move(table)};
}

TextTable moved_table(const ComparedPlacement& placement) {
  TextTable table({{"scope"},
                   {"ops", Align::kRight},
                   {"from"},
                   {"to"},
                   {"cost before [ms]", Align::kRight, 1},
                   {"cost after [ms]", Align::kRight, 1}});
  for (std::size_t at = 0; at < std::min(placement.moved.size(), kMostRows); ++at) {
    const MovedOps& ops = placement.moved[at];
    table.add_row(
        {ops.what, fmt::format("{}", ops.ops), ops.from, ops.to, ms(ops.from_us), ms(ops.to_us)});
  }
  return table;
}

// All tables with their titles, but for that of the placements.
std::vector<std::pair<std::string, TextTable>> more_tables(const PlacementComparison& comparison) {
  const auto any = [](const Resource&) { return true; };
  const auto is_device = [](const Resource& resource) { return resource.is_device; };
  const auto is_link = [](const Resource& resource) { return !resource.is_device; };
  const auto bytes = [](const Resource::Use& use) { return static_cast<double>(use.bytes); };
  const std::vector<Quantity> quantities = {
      {"On the critical path [ms]", any, [](const Resource::Use& use) { return use.path_us; }, ms},
      {"Busy [ms]", is_device, [](const Resource::Use& use) { return use.busy_us; }, ms},
      {"Moved over links [GB]", is_link, bytes, gb},
      {"Peak of memory [GB]", is_device, bytes, gb}};
  std::vector<std::pair<std::string, TextTable>> tables;
  for (const Quantity& quantity : quantities) {
    if (std::ranges::any_of(comparison.resources, quantity.is_of)) {
      tables.push_back(quantity_table(comparison, quantity));
    }
  }
  for (std::size_t at = 1; at < comparison.placements.size(); ++at) {
    const ComparedPlacement& placement = comparison.placements[at];
    if (!placement.moved.empty()) {
      tables.emplace_back(
          fmt::format("Moved from A to {}{}", letter(at), more_than(placement.moved.size(), "row")),
          moved_table(placement));
    }
  }
  return tables;
}

std::string write(const PlacementComparison& comparison, const TableForm& form) {
  std::string text = fmt::format("{}{}{}\n", form.markdown ? "# " : "",
                                 escaped(title_of(comparison), form), form.markdown ? "\n" : "");
  text += written(placement_table(comparison), form);
  for (const auto& [title, table] : more_tables(comparison)) {
    text += titled(title, table, form);
  }
  return text;
}

Json to_json(const MovedOps& ops) {
  return {{"scope", ops.what}, {"ops", ops.ops},         {"from", ops.from},
          {"to", ops.to},      {"from_us", ops.from_us}, {"to_us", ops.to_us}};
}

Json to_json(const ComparedDraws& draws) {
  return {{"mean_us", draws.summary.mean_us},
          {"median_us", draws.summary.median_us},
          {"p05_us", draws.summary.p05_us},
          {"p95_us", draws.summary.p95_us},
          {"out_of_memory", draws.summary.out_of_memory},
          {"probability_beats_first", draws.against_first.probability},
          {"probability_beats_first_low", draws.against_first.probability_low},
          {"probability_beats_first_high", draws.against_first.probability_high},
          {"mean_difference_us", draws.against_first.mean_difference_us}};
}

// The resources that the cluster of a placement has.
std::pair<Json, Json> resources_of(const PlacementComparison& comparison, std::size_t placement) {
  Json devices = Json::array();
  Json links = Json::array();
  for (const Resource& resource : comparison.resources) {
    const auto& use = resource.uses[placement];
    if (use && resource.is_device) {
      devices.push_back({{"name", resource.name},
                         {"path_us", use->path_us},
                         {"busy_us", use->busy_us},
                         {"peak_bytes", use->bytes}});
    } else if (use) {
      links.push_back({{"name", resource.name}, {"path_us", use->path_us}, {"bytes", use->bytes}});
    }
  }
  return {std::move(devices), std::move(links)};
}

}  // namespace

std::string title_of(const PlacementComparison& comparison) {
  return fmt::format(
      "Placements of {}{}", comparison.graph,
      have_one_cluster(comparison) ? " on " + comparison.placements.front().cluster : "");
}

std::string write_terminal(const PlacementComparison& comparison, std::size_t width) {
  return write(comparison, {.width = width});
}

std::string write_markdown(const PlacementComparison& comparison) {
  return write(comparison, {.markdown = true});
}

std::string write_html_tables(const PlacementComparison& comparison) {
  std::string text =
      fmt::format("<div class=\"scroll\">{}</div>\n", placement_table(comparison).to_html());
  for (const auto& [title, table] : more_tables(comparison)) {
    text += fmt::format("<h3>{}</h3>\n<div class=\"scroll\">{}</div>\n", escape_markup(title),
                        table.to_html());
  }
  return text;
}

std::string write_json(const PlacementComparison& comparison) {
  Json placements = Json::array();
  for (std::size_t at = 0; at < comparison.placements.size(); ++at) {
    const ComparedPlacement& placement = comparison.placements[at];
    Json moved = Json::array();
    for (const MovedOps& ops : placement.moved) {
      moved.push_back(to_json(ops));
    }
    auto [devices, links] = resources_of(comparison, at);
    Json json = {{"name", placement.name},
                 {"cluster", placement.cluster},
                 {"status", to_string(placement.status)},
                 {"step_time_us", placement.step_time_us},
                 {"over_first", placement.over_first},
                 {"exposed_us", placement.exposed_us},
                 {"devices", std::move(devices)},
                 {"links", std::move(links)},
                 {"moved", std::move(moved)}};
    if (placement.draws) {
      json.add("draws", to_json(*placement.draws));
    }
    placements.push_back(json);
  }
  const Json json = {
      {"schema_version", 1}, {"graph", comparison.graph}, {"placements", std::move(placements)}};
  return json.indented(2) + "\n";
}

}  // namespace emplace::bench
