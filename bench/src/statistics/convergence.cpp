#include <emplace/base/check.hpp>
#include <emplace/base/quantiles.hpp>
#include <emplace/bench/convergence.hpp>
#include <emplace/bench/suite_index.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace emplace::bench {
namespace {

// A repetition has a placement of this step time from `at` on.
struct Step {
  double at = 0;
  std::size_t repetition = 0;
  double step_time_us = 0;
};

using Results = std::vector<const CellResult*>;

bool has_fit(const Improvement& improvement) {
  return improvement.evaluation.status == agents::EvaluationStatus::kOk;
}

// Returns the curve of steps in any order; `end` is that of the longest repetition.
std::vector<ConvergencePoint> curve_of(std::vector<Step> steps, std::size_t repetitions,
                                       double end) {
  std::ranges::sort(steps, {}, [](const Step& step) {
    return std::tuple(step.at, step.repetition, step.step_time_us);
  });
  std::vector<double> best_us(repetitions, std::numeric_limits<double>::infinity());
  std::vector<ConvergencePoint> points;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    double& best = best_us[steps[at].repetition];
    best = std::min(best, steps[at].step_time_us);
    if (at + 1 < steps.size() && steps[at + 1].at == steps[at].at) {
      continue;
    }
    const auto [least, largest] = std::ranges::minmax(best_us);
    ConvergencePoint point{
        .at = steps[at].at, .median_us = median(best_us), .least_us = least, .largest_us = largest};
    if (!points.empty()) {
      const ConvergencePoint& last = points.back();
      if (std::tie(point.median_us, point.least_us, point.largest_us) ==
          std::tie(last.median_us, last.least_us, last.largest_us)) {
        continue;
      }
    }
    points.push_back(point);
  }
  if (!points.empty() && points.back().at < end) {
    points.push_back(points.back());
    points.back().at = end;
  }
  return points;
}

ConvergenceCurve curve_of(const std::string& agent, const Results& results) {
  std::vector<Step> by_evaluations;
  std::vector<Step> by_seconds;
  double evaluations = 0;
  double seconds = 0;
  for (std::size_t at = 0; at < results.size(); ++at) {
    const CellResult& result = *results[at];
    const auto add = [&](std::int64_t after, double after_s, double step_time_us) {
      by_evaluations.push_back({static_cast<double>(after), at, step_time_us});
      by_seconds.push_back({after_s, at, step_time_us});
    };
    for (const Improvement& improvement : result.history) {
      if (has_fit(improvement)) {
        add(improvement.evaluations, improvement.seconds, improvement.evaluation.step_time_us);
      }
    }
    // What it ends with may have needed no evaluation.
    add(result.evaluations, result.wall_s, result.step_time_us);
    evaluations = std::max(evaluations, static_cast<double>(result.evaluations));
    seconds = std::max(seconds, result.wall_s);
  }
  return {.agent = agent,
          .repetitions = static_cast<std::int64_t>(results.size()),
          .by_evaluations = curve_of(std::move(by_evaluations), results.size(), evaluations),
          .by_seconds = curve_of(std::move(by_seconds), results.size(), seconds)};
}

}  // namespace

std::vector<Convergence> convergence_of(const StoredRun& run) {
  const Suite& suite = run.manifest.suite;
  const SuiteIndex index(suite, run.manifest.root_seed);
  std::map<std::pair<std::size_t, std::size_t>, std::map<std::size_t, Results>> problems;
  for (const CellResult& result : run.results) {
    const std::optional<CellPosition> position = index.find(result.cell);
    EMPLACE_CHECK(position.has_value(), "a cell of {} is not of the suite",
                  result.cell.agent.text());
    auto& agents = problems[{position->graph, position->cluster}];
    if (result.status == CellStatus::kOk) {
      agents[position->agent].push_back(&result);
    }
  }
  std::vector<Convergence> all;
  for (const auto& [problem, agents] : problems) {
    Convergence convergence{.graph = suite.graphs[problem.first].graph,
                            .cluster = suite.clusters[problem.second]};
    for (const auto& [agent, results] : agents) {
      convergence.curves.push_back(curve_of(suite.agents[agent].label(), results));
    }
    all.push_back(std::move(convergence));
  }
  return all;
}

}  // namespace emplace::bench
