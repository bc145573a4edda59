#include <emplace/base/error.hpp>
#include <emplace/bench/agent_colors.hpp>
#include <emplace/bench/convergence.hpp>
#include <emplace/bench/report_picture.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace emplace::bench {
namespace {

constexpr auto kPlots = std::to_array<std::pair<ReportPlots, std::string_view>>({
    {ReportPlots::kAll, "all"},
    {ReportPlots::kProfiles, "profiles"},
    {ReportPlots::kEvaluations, "evaluations"},
    {ReportPlots::kSeconds, "seconds"},
});

// Lines of the legend are so high.
constexpr double kLegendLine = 18;

double field_height_for(std::size_t num_agents) {
  return std::max(LogPlot::kFieldHeight, kLegendLine * static_cast<double>(num_agents + 1));
}

// --- Performance profiles

// Were an agent that is ten times slower shown in full, the others could not be told apart.
constexpr double kMostShown = 2;
constexpr double kLeastShown = 1.05;

LogPlot plot_profile(const FamilyTable& table, std::span<const std::string> agents) {
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
      {.title = "share of graphs", .least = 0, .most = 1, .linear = true},
      field_height_for(table.rows.size()));
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

// --- Convergence

// Steps up to the first of these, in times of the best, are always on the axis; those beyond the
// second never are.
constexpr double kShortestShown = 1.05;
constexpr double kLongestShown = 2.5;
constexpr double kShortestStepS = 1e-12;  // shorter ones are drawn as 0

using Curve = std::vector<ConvergencePoint>;

const Curve& points_of(const ConvergenceCurve& curve, ReportPlots axis) {
  return axis == ReportPlots::kSeconds ? curve.by_seconds : curve.by_evaluations;
}

// Agents that search nothing have one point.
bool searches(const ConvergenceCurve& curve, ReportPlots axis) {
  return points_of(curve, axis).size() > 1;
}

// Logarithmic axes begin above 0.
double least_of(ReportPlots axis) { return axis == ReportPlots::kSeconds ? 1e-3 : 1; }

// Returns the curve of medians as steps, up to `end`.
std::vector<LogPlot::Place> steps_of(const Curve& curve, double least, double end) {
  std::vector<LogPlot::Place> places;
  for (const ConvergencePoint& point : curve) {
    if (!std::isfinite(point.median_us)) {
      continue;
    }
    const double at = std::max(point.at, least);
    if (!places.empty()) {
      places.push_back({at, places.back().y});
    }
    places.push_back({at, point.median_us / 1e6});
  }
  if (curve.size() == 1 && !places.empty()) {
    places.push_back({end, places.back().y});
  }
  return places;
}

const ReportTable* find_table(const Report& report, const Convergence& convergence) {
  const auto table = std::ranges::find_if(report.tables, [&](const ReportTable& candidate) {
    return candidate.graph == convergence.graph && candidate.cluster == convergence.cluster;
  });
  return table == report.tables.end() ? nullptr : &*table;
}

// Adds rings at the published figures that have a number of evaluations.
void add_published(LogPlot& plot, const ReportTable& table, std::span<const std::string> agents) {
  for (const ReportRow& row : table.rows) {
    if (row.published && row.published->step_time_s && row.published->evaluations) {
      const std::size_t series =
          plot.add_series(row.agent + ", published", agent_pen(agents, row.agent).color);
      plot.add_point(
          series, {static_cast<double>(*row.published->evaluations), *row.published->step_time_s},
          fmt::format("{}, published: {} s after {} evaluations", row.agent,
                      *row.published->step_time_s, *row.published->evaluations),
          LogPlot::Mark::kHollow);
    }
  }
}

// Nothing if no agent searched.
std::optional<LogPlot> plot_convergence(const Convergence& convergence, const ReportTable& table,
                                        ReportPlots axis, std::span<const std::string> agents) {
  const double least = least_of(axis);
  double end = least;
  double best_us = std::numeric_limits<double>::infinity();
  double longest_us = 0;
  bool any = false;
  for (const ConvergenceCurve& curve : convergence.curves) {
    const Curve& points = points_of(curve, axis);
    if (!points.empty()) {
      end = std::max(end, points.back().at);
      best_us = std::min(best_us, points.back().median_us);
      for (const ConvergencePoint& point : points) {
        longest_us =
            std::isfinite(point.median_us) ? std::max(longest_us, point.median_us) : longest_us;
      }
      any = any || searches(curve, axis);
    }
  }
  if (!any || !std::isfinite(best_us)) {
    return std::nullopt;
  }
  const double longest_shown_us =
      std::clamp(longest_us, kShortestShown * best_us, kLongestShown * best_us);
  LogPlot plot(fmt::format("{} on {}", convergence.graph, convergence.cluster),
               {.title = axis == ReportPlots::kSeconds ? "seconds of the search" : "evaluations",
                .least = least,
                .most = std::max(end, 10 * least)},
               {.title = "best step time so far [s], median",
                .least = best_us / 1e6 < kShortestStepS ? 0 : best_us / 1e6,
                .most = std::max(longest_shown_us / 1e6, kShortestStepS),
                .linear = true},
               field_height_for(convergence.curves.size()));
  for (const ConvergenceCurve& curve : convergence.curves) {
    LogPlot::Pen pen = agent_pen(agents, curve.agent);
    plot.add_curve(curve.agent, steps_of(points_of(curve, axis), least, end), std::move(pen));
  }
  if (axis == ReportPlots::kEvaluations) {
    add_published(plot, table, agents);
  }
  return plot;
}

std::vector<LogPlot> plot_convergence(const StoredRun& run, const Report& report, ReportPlots axis,
                                      bool with_families) {
  std::vector<LogPlot> plots;
  for (const Convergence& convergence : convergence_of(run)) {
    const ReportTable* const table = find_table(report, convergence);
    if (table != nullptr && (with_families || table->family.empty())) {
      if (auto plot = plot_convergence(convergence, *table, axis, report.agents)) {
        plots.push_back(std::move(*plot));
      }
    }
  }
  return plots;
}

}  // namespace

std::string_view to_string(ReportPlots plots) {
  return std::ranges::find(kPlots, plots, &decltype(kPlots)::value_type::first)->second;
}

std::vector<std::string> report_plots_names() {
  std::vector<std::string> names;
  std::ranges::transform(kPlots, std::back_inserter(names),
                         [](const auto& plots) { return std::string(plots.second); });
  return names;
}

ReportPlots report_plots_of(std::string_view name) {
  const auto found = std::ranges::find(kPlots, name, &decltype(kPlots)::value_type::second);
  if (found == kPlots.end()) {
    throw_unknown_name("plot", name, report_plots_names());
  }
  return found->first;
}

std::string draw_report(const StoredRun& run, const Report& report, ReportPlots plots) {
  std::vector<LogPlot> drawn;
  if (plots == ReportPlots::kAll || plots == ReportPlots::kProfiles) {
    for (const FamilyTable& table : report.families) {
      drawn.push_back(plot_profile(table, report.agents));
    }
  }
  if (plots != ReportPlots::kProfiles) {
    const bool all = plots == ReportPlots::kAll;
    std::vector<LogPlot> curves =
        plot_convergence(run, report, all ? ReportPlots::kEvaluations : plots, !all);
    std::ranges::move(curves, std::back_inserter(drawn));
  }
  if (drawn.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the run of suite '{}' has nothing to draw as {}: profiles need two "
                            "graphs on one cluster, and convergence an agent that searches",
                            report.suite, to_string(plots)));
  }
  return LogPlot::to_svg(drawn);
}

}  // namespace emplace::bench
