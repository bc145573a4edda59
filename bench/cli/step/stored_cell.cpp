#include "stored_cell.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/escape.hpp>
#include <emplace/bench/result_tables.hpp>

#include <fmt/format.h>

#include <set>
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
  return fmt::format("(see emplace report {} --table cells)", escape_shell(choice.folder));
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
  const bench::Cell& cell = found.front()->cell;
  if ((!choice.graph.empty() && choice.graph != cell.graph) ||
      (!choice.cluster.empty() && choice.cluster != cell.cluster)) {
    throw Error(ErrorCode::kUsage, fmt::format("{}: cell {} is of {} on {}", choice.folder,
                                               cell.id(), cell.graph, cell.cluster));
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
    throw Error(ErrorCode::kUsage,
                fmt::format("{} has cells of {} problems: choose one by GRAPH and --cluster, or a "
                            "cell as DIR:CELL {}",
                            choice.folder, problems.size(), how_to_list(choice)));
  }
  for (const CellResult* result : bench::fastest_cells(run)) {
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
