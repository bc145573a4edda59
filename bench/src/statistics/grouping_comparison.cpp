#include <emplace/bench/executor.hpp>
#include <emplace/bench/grouping_comparison.hpp>
#include <emplace/bench/problem_set.hpp>
#include <emplace/graphs/grouping_strategy.hpp>

#include <algorithm>
#include <atomic>
#include <map>

namespace emplace::bench {
namespace {

// Any user can repeat one of the searches: emplace place --grouping NAME --agent hill-climb:...
constexpr std::string_view kSearch = "hill-climb:start=heft";

}  // namespace

GroupingNumbers numbers_of(const Problem& problem) {
  double sum = 0;
  double largest = 0;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    double work = 0;
    for (const DeviceId device : problem.placeable_devices()) {
      work += problem.group_cost_us(group, device);
    }
    sum += work;
    largest = std::max(largest, work);
  }
  return {.groups = problem.num_groups(),
          .cut_bytes = cut_bytes(problem.graph(), problem.grouping()),
          .largest_share = sum > 0 ? largest / sum : 0};
}

GroupingComparison compare_groupings(std::string_view graph, std::string_view cluster,
                                     std::int64_t groups, std::int64_t max_evaluations,
                                     std::uint64_t root_seed) {
  std::vector<Cell> cells;
  for (const GroupingStrategy& strategy : grouping_strategies()) {
    cells.push_back({.graph = std::string(graph),
                     .cluster = std::string(cluster),
                     .agent = std::string(kSearch),
                     .max_evaluations = max_evaluations,
                     .groups = strategy.takes_target ? groups : 0,
                     .grouping = std::string(strategy.name),
                     .root_seed = root_seed});
  }
  const ProblemSet problems(cells);
  std::map<std::string, CellResult> results;  // by grouping
  const std::atomic<bool> never_stop{false};
  ThreadExecutor(0).run_cells(cells, problems, {}, never_stop, [&](const CellResult& result) {
    results[result.cell.grouping] = result;
  });

  GroupingComparison comparison{
      .agent = std::string(kSearch), .max_evaluations = max_evaluations, .root_seed = root_seed};
  for (const Cell& cell : cells) {
    const CellResult& result = results.at(cell.grouping);
    comparison.groupings.push_back({.name = cell.grouping,
                                    .numbers = numbers_of(problems.find(cell).problem),
                                    .status = result.status,
                                    .step_time_us = result.step_time_us});
    if (result.status == CellStatus::kOk) {
      comparison.best_step_time_us =
          std::min(result.step_time_us, comparison.best_step_time_us.value_or(result.step_time_us));
    }
  }
  for (ComparedGrouping& grouping : comparison.groupings) {
    if (grouping.status == CellStatus::kOk && *comparison.best_step_time_us > 0) {
      grouping.lost_parallelism = grouping.step_time_us / *comparison.best_step_time_us - 1;
    }
  }
  return comparison;
}

}  // namespace emplace::bench
