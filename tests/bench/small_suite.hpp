#pragma once

// A suite that takes a second, and what its runs leave.

#include <emplace/bench/result_store.hpp>
#include <emplace/bench/suite.hpp>

#include <map>
#include <string>

namespace emplace::bench {

/// Returns a suite of four cells without a policy, and two for each of the two repetitions of a
/// policy. A function, because specs ask the registry of agents.
inline Suite small_suite() {
  return {.name = "small",
          .graphs = {{.graph = "cifar10:split=test,member=0", .groups = 10, .family = "cells"},
                     {.graph = "cifar10:split=test,member=1", .groups = 10, .family = "cells"}},
          .families = {{.name = "cells", .train = {"cifar10:member=0"}, .groups = 10}},
          .clusters = {"p2-8xlarge-2"},
          .policies = {{.name = "net", .agent = "placeto:preset=released,rounds=1", .episodes = 2}},
          .agents = {{"random"}, {.agent = "placeto:preset=released,rounds=1", .policy = "net"}},
          .repetitions = 2,
          .max_evaluations = 22};
}

/// Returns the line of a result in a store, without measured times.
inline std::string line_without_times(CellResult result) {
  result.wall_s = 0;
  for (Improvement& improvement : result.history) {
    improvement.seconds = 0;
  }
  return write_cell_result(result);
}

/// Returns such lines of a store by the ids of their cells.
inline std::map<std::string, std::string> lines_of(const std::string& folder) {
  std::map<std::string, std::string> lines;
  for (const CellResult& result : read_store(folder).results) {
    lines.emplace(result.cell.id(), line_without_times(result));
  }
  return lines;
}

}  // namespace emplace::bench
