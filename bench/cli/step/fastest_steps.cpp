#include "fastest_steps.hpp"

#include "placed_step.hpp"

#include <emplace/base/counted.hpp>
#include <emplace/base/error.hpp>
#include <emplace/bench/result_tables.hpp>
#include <emplace/bench/suite_index.hpp>

#include <algorithm>
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

}  // namespace

std::vector<PageStep> fastest_steps(const bench::StoredRun& run, const std::string& folder) {
  const auto fastest = bench::fastest_cells(run);
  const bench::SuiteIndex index(run.manifest.suite, run.manifest.root_seed);
  std::vector<PageStep> steps;
  const auto has = [&](const bench::Cell& cell) {
    return std::ranges::any_of(steps, [&](const PageStep& step) {
      return step.graph == cell.graph && step.cluster == cell.cluster;
    });
  };
  for (const CellResult& result : run.results) {
    if (fastest.contains(&result)) {
      steps.push_back(step_of(run, index, result, folder));
    }
  }
  for (const CellResult& result : run.results) {
    if (!has(result.cell)) {
      steps.push_back({.graph = result.cell.graph,
                       .cluster = result.cell.cluster,
                       .missing = "no placement of any agent fits the memories"});
    }
  }
  return steps;
}

}  // namespace emplace::cli
