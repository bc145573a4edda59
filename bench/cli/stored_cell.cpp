#include "stored_cell.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/escape.hpp>

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

namespace emplace::cli {
namespace {

using bench::CellResult;
using bench::CellStatus;
using ProblemName = std::pair<std::string, std::string>;

ProblemName problem_of(const CellResult& result) {
  return {result.cell.graph, result.cell.cluster};
}

std::string how_to_list(const CellChoice& choice) {
  return fmt::format("(see emplace result {} --list)", escape_shell(choice.folder));
}

const CellResult& find_by_id(const bench::StoredRun& run, const CellChoice& choice) {
  std::vector<const CellResult*> found;
  for (const CellResult& result : run.results) {
    if (result.cell.id().starts_with(choice.id)) {
      found.push_back(&result);
    }
  }
  if (found.size() != 1) {
    throw Error(ErrorCode::kUnknownName,
                fmt::format("{}: {} cell has an id that begins with '{}' {}", choice.folder,
                            found.empty() ? "no" : "more than one", excerpt(choice.id),
                            how_to_list(choice)));
  }
  return *found.front();
}

const CellResult& find_fastest(const bench::StoredRun& run, const CellChoice& choice) {
  std::set<ProblemName> problems;
  for (const CellResult& result : run.results) {
    if ((choice.graph.empty() || result.cell.graph == choice.graph) &&
        (choice.cluster.empty() || result.cell.cluster == choice.cluster)) {
      problems.insert(problem_of(result));
    }
  }
  if (problems.size() > 1) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("{} has cells of {} problems: choose one by --graph and --cluster, or a "
                    "cell by --cell {}",
                    choice.folder, problems.size(), how_to_list(choice)));
  }
  for (const CellResult* result : fastest_cells(run)) {
    if (problems.contains(problem_of(*result))) {
      return *result;
    }
  }
  throw Error(ErrorCode::kUnknownName,
              fmt::format("{}: no cell {} {}", choice.folder,
                          problems.empty() ? "of this problem" : "has a placement that fits",
                          how_to_list(choice)));
}

}  // namespace

std::set<const CellResult*> fastest_cells(const bench::StoredRun& run) {
  std::map<ProblemName, const CellResult*> fastest;
  for (const CellResult& result : run.results) {
    if (result.status != CellStatus::kOk) {
      continue;
    }
    const CellResult*& least = fastest.emplace(problem_of(result), &result).first->second;
    if (result.step_time_us < least->step_time_us) {
      least = &result;
    }
  }
  std::set<const CellResult*> cells;
  for (const auto& [problem, result] : fastest) {
    cells.insert(result);
  }
  return cells;
}

const CellResult& find_cell(const bench::StoredRun& run, const CellChoice& choice) {
  const CellResult& result =
      choice.id.empty() ? find_fastest(run, choice) : find_by_id(run, choice);
  if (result.status == CellStatus::kFailed) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: cell {} has no placement: it failed: {}", choice.folder,
                            result.cell.id(), result.message));
  }
  return result;
}

}  // namespace emplace::cli
