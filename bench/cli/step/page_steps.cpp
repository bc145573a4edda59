#include "page_steps.hpp"

#include "placed_step.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/result_tables.hpp>
#include <emplace/bench/suite_index.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace emplace::cli {
namespace {

using bench::CellResult;
using bench::PageStep;

PageStep step_of(const bench::StoredRun& run, const bench::SuiteIndex& index,
                 const CellResult& result, const std::string& folder) {
  PageStep step{.graph = result.cell.graph,
                .cluster = result.cell.cluster,
                .agent = index.label_of(result.cell),
                .cell = result.cell.id()};
  try {
    const PlacedStep placed = place_from_run(run, result, folder);
    const OpId ops = placed.problem().num_ops();
    if (ops > bench::kMostPageOps) {
      step.missing = bench::left_out("it has " + counted(ops, "op"), step.cell);
    } else {
      step.data = bench::describe_step(placed.problem(), placed.record);
    }
  } catch (const Error& error) {
    step.missing = error.what();
  }
  return step;
}

// For each graph and cluster the fastest cell of each agent, the fastest agents first.
std::vector<std::vector<const CellResult*>> ranked_cells(const bench::StoredRun& run,
                                                         const bench::SuiteIndex& index) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, const CellResult*>> fastest;
  for (const CellResult& result : run.results) {
    auto& agents = fastest[{result.cell.graph, result.cell.cluster}];
    if (result.status == bench::CellStatus::kOk) {
      const CellResult*& least = agents.emplace(index.label_of(result.cell), &result).first->second;
      if (result.step_time_us < least->step_time_us) {
        least = &result;
      }
    }
  }
  std::vector<std::vector<const CellResult*>> ranked;
  ranked.reserve(fastest.size());
  for (const auto& [problem, agents] : fastest) {
    std::vector<const CellResult*> cells;
    cells.reserve(agents.size());
    for (const auto& [agent, cell] : agents) {
      cells.push_back(cell);
    }
    std::ranges::stable_sort(cells, {}, &CellResult::step_time_us);
    ranked.push_back(std::move(cells));
  }
  return ranked;
}

}  // namespace

std::vector<PageStep> page_steps(const bench::StoredRun& run, const std::string& folder) {
  const bench::SuiteIndex index(run.manifest.suite, run.manifest.root_seed);
  std::vector<PageStep> steps;
  const auto ranked = ranked_cells(run, index);
  std::size_t most_agents = 0;
  for (const auto& cells : ranked) {
    most_agents = std::max(most_agents, cells.size());
    if (!cells.empty()) {
      steps.push_back(step_of(run, index, *cells.front(), folder));
    }
  }
  for (const CellResult& result : run.results) {
    const bool has_step = std::ranges::any_of(steps, [&](const PageStep& step) {
      return step.graph == result.cell.graph && step.cluster == result.cell.cluster;
    });
    if (!has_step) {
      steps.push_back({.graph = result.cell.graph,
                       .cluster = result.cell.cluster,
                       .missing = "no placement of any agent fits the memories"});
    }
  }
  std::size_t bytes = 0;
  for (std::size_t rank = 1; rank < most_agents; ++rank) {
    for (const auto& cells : ranked) {
      if (rank < cells.size()) {
        PageStep step = step_of(run, index, *cells[rank], folder);
        bytes += step.data.size();
        if (bytes > bench::kMostOtherStepBytes) {
          return steps;
        }
        steps.push_back(std::move(step));
      }
    }
  }
  return steps;
}

}  // namespace emplace::cli
