#include "family_report.hpp"

#include <emplace/bench/log_plot.hpp>
#include <emplace/graphs/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

namespace emplace::bench {
namespace {

// Tells one agent's step times apart by graph.
struct Times {
  std::vector<double> own_us{};
  std::vector<double> least_us{};   // of any agent, on the same graphs
  std::vector<double> paired_us{};  // own, on graphs with a rival
  std::vector<double> rivals_us{};  // of the rival, on the same graphs
};

// Rows of a table are sorted, so the first is the fastest.
void collect(const ReportTable& table, const std::string& agent, Times& times) {
  const auto row = std::ranges::find(table.rows, agent, &ReportRow::agent);
  if (row == table.rows.end() || !row->ok()) {
    return;
  }
  times.own_us.push_back(row->step_time_us);
  times.least_us.push_back(table.rows.front().step_time_us);
  const auto rival = std::ranges::find(table.rows, table.rival, &ReportRow::agent);
  if (rival != table.rows.end() && rival != row) {
    times.paired_us.push_back(row->step_time_us);
    times.rivals_us.push_back(rival->step_time_us);
  }
}

FamilyRow sum_up(const std::string& agent, const Times& times) {
  FamilyRow row{.agent = agent, .graphs = static_cast<std::int64_t>(times.own_us.size())};
  if (times.own_us.empty()) {
    return row;
  }
  double sum_us = 0;
  for (std::size_t i = 0; i < times.own_us.size(); ++i) {
    sum_us += times.own_us[i];
    row.times_best.push_back(times.own_us[i] / times.least_us[i]);
  }
  row.mean_us = sum_us / static_cast<double>(times.own_us.size());
  row.over_best = compare_pairs(times.own_us, times.least_us).ratio;
  std::ranges::sort(row.times_best);
  if (!times.paired_us.empty()) {
    row.against_rival = compare_pairs(times.paired_us, times.rivals_us);
  }
  return row;
}

FamilyTable sum_up(const SuiteFamily& family, const std::string& cluster,
                   const std::vector<ReportTable>& tables, const Suite& suite) {
  FamilyTable summary{.family = family.name, .cluster = cluster};
  std::vector<Times> times(suite.agents.size());
  for (const ReportTable& table : tables) {
    if (table.family == family.name && table.cluster == cluster) {
      ++summary.graphs;
      for (std::size_t agent = 0; agent < suite.agents.size(); ++agent) {
        collect(table, suite.agents[agent].label(), times[agent]);
      }
    }
  }
  for (std::size_t agent = 0; agent < suite.agents.size(); ++agent) {
    summary.rows.push_back(sum_up(suite.agents[agent].label(), times[agent]));
  }
  std::ranges::sort(summary.rows, {}, [](const FamilyRow& row) {
    return std::make_tuple(-row.graphs, row.over_best, row.agent);
  });
  return summary;
}

// By Okabe and Ito, told apart by all eyes; dashed the second time.
constexpr std::array kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                "#e69f00", "#56b4e9", "#000000", "#999999"};
// A plot that shows an agent ten times slower than the best shows nothing else.
constexpr double kMostShown = 2;
constexpr double kLeastShown = 1.05;

LogPlot draw(const FamilyTable& table) {
  double most = kLeastShown;
  for (const FamilyRow& row : table.rows) {
    most = row.times_best.empty() ? most : std::max(most, row.times_best.back());
  }
  most = std::min(most, kMostShown);
  LogPlot plot(fmt::format("{} on {}", table.family, table.cluster),
               {.title = "step time over that of the fastest agent",
                .least = 1,
                .most = most,
                .linear = true},
               {.title = "share of graphs", .least = 0, .most = 1, .linear = true});
  for (std::size_t agent = 0; agent < table.rows.size(); ++agent) {
    const FamilyRow& row = table.rows[agent];
    std::vector<LogPlot::Place> places = {{1, 0}};
    double share = 0;
    for (const double times : row.times_best) {
      places.push_back({times, share});
      share += 1 / static_cast<double>(table.graphs);
      places.push_back({times, share});
    }
    places.push_back({std::max(places.back().x, 2 * most), share});
    plot.add_curve(row.agent, std::move(places),
                   {kColors[agent % kColors.size()], agent >= kColors.size()});
  }
  return plot;
}

}  // namespace

std::vector<FamilyTable> sum_up_families(const std::vector<ReportTable>& tables,
                                         const Suite& suite) {
  std::vector<FamilyTable> summaries;
  for (const SuiteFamily& family : suite.families) {
    for (const std::string& cluster : suite.clusters) {
      FamilyTable summary = sum_up(family, cluster, tables, suite);
      if (summary.graphs > 0) {
        summaries.push_back(std::move(summary));
      }
    }
  }
  return summaries;
}

std::string draw_families(const Report& report) {
  if (report.families.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("there is nothing to draw: no results of families in suite '{}'",
                            report.suite));
  }
  std::vector<LogPlot> plots;
  for (const FamilyTable& table : report.families) {
    plots.push_back(draw(table));
  }
  return LogPlot::to_svg(plots);
}

}  // namespace emplace::bench
