// The performance profiles of a report's families, as SVG.

#include <emplace/bench/agent_colors.hpp>
#include <emplace/bench/log_plot.hpp>
#include <emplace/bench/report.hpp>
#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace emplace::bench {
namespace {

// Were an agent that is ten times slower shown in full, the others could not be told apart.
constexpr double kMostShown = 2;
constexpr double kLeastShown = 1.05;

LogPlot draw(const FamilyTable& table, std::span<const std::string> agents) {
  double most = kLeastShown;
  for (const FamilyRow& row : table.rows) {
    most = row.times_best.empty() ? most : std::max(most, row.times_best.back());
  }
  most = std::min(most, kMostShown);
  LogPlot plot(
      fmt::format("{} on {}", table.family.empty() ? "all graphs" : table.family, table.cluster),
      {.title = "step time over that of the fastest agent",
       .least = 1,
       .most = most,
       .linear = true},
      {.title = "share of graphs", .least = 0, .most = 1, .linear = true});
  for (const FamilyRow& row : table.rows) {
    std::vector<LogPlot::Place> places = {{1, 0}};
    double share = 0;
    for (const double times : row.times_best) {
      places.push_back({times, share});
      share += 1 / static_cast<double>(table.graphs);
      places.push_back({times, share});
    }
    places.push_back({std::max(places.back().x, 2 * most), share});
    plot.add_curve(row.agent, std::move(places), agent_pen(agents, row.agent));
  }
  return plot;
}

}  // namespace

std::string draw_families(const Report& report) {
  if (report.families.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("suite '{}' has no results of several graphs to draw", report.suite));
  }
  std::vector<LogPlot> plots;
  for (const FamilyTable& table : report.families) {
    plots.push_back(draw(table, report.agents));
  }
  return LogPlot::to_svg(plots);
}

}  // namespace emplace::bench
