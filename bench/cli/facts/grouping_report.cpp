#include "grouping_report.hpp"

#include "terminal.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/json.hpp>
#include <emplace/bench/text_table.hpp>

#include <fmt/format.h>

namespace emplace::cli {

using bench::ComparedGrouping;
std::string to_text(const bench::GroupingComparison& comparison) {
  std::string text =
      fmt::format("\nbest placements found by {}, {}, seed {}; ", comparison.agent,
                  counted(comparison.max_evaluations, "evaluation"), comparison.root_seed);
  text += comparison.best_step_time_us
              ? fmt::format("the best known without a grouping takes {:.3f} ms\n\n",
                            *comparison.best_step_time_us / 1e3)
              : "none fits into the memories\n\n";
  using Align = bench::TextTable::Align;
  bench::TextTable table({{"grouping"},
                          {"groups", Align::kRight},
                          {"cut [GB]", Align::kRight, 1},
                          {"largest [%]", Align::kRight, 2},
                          {"step [ms]", Align::kRight},
                          {"lost [%]", Align::kRight}});
  for (const ComparedGrouping& grouping : comparison.groupings) {
    const bool known = grouping.lost_parallelism.has_value();
    table.add_row({grouping.name, fmt::format("{}", grouping.numbers.groups),
                   fmt::format("{:.3f}", static_cast<double>(grouping.numbers.cut_bytes) / 1e9),
                   fmt::format("{:.1f}", grouping.numbers.largest_share * 100),
                   known ? fmt::format("{:.3f}", grouping.step_time_us / 1e3)
                         : std::string(to_string(grouping.status)),
                   known ? fmt::format("{:.1f}", *grouping.lost_parallelism * 100) : ""});
  }
  return text + table.to_terminal(false, table_width());
}

Json to_json(const bench::GroupingComparison& comparison) {
  Json groupings = Json::array();
  for (const ComparedGrouping& grouping : comparison.groupings) {
    Json json = {{"grouping", grouping.name},
                 {"groups", grouping.numbers.groups},
                 {"cut_bytes", grouping.numbers.cut_bytes},
                 {"largest_group_share", grouping.numbers.largest_share},
                 {"status", to_string(grouping.status)},
                 {"step_time_us", grouping.step_time_us}};
    if (grouping.lost_parallelism) {
      json.add("lost_parallelism", *grouping.lost_parallelism);
    }
    groupings.push_back(json);
  }
  Json json = {{"agent", comparison.agent},
               {"max_evaluations", comparison.max_evaluations},
               {"root_seed", comparison.root_seed}};
  if (comparison.best_step_time_us) {
    json.add("best_step_time_us", *comparison.best_step_time_us);
  }
  json.add("by_grouping", groupings);
  return json;
}

}  // namespace emplace::cli
