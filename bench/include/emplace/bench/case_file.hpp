#pragma once

// Case files: small simulation problems as JSON lines, for comparing simulators. One line is one
// case, a graph with costs in place and some placements:
//     {"name": "tiny", "devices": 2,
//      "nodes": [{"id": 0, "cost_us": 10, "outputs": [7600], "name": "a"}, ...],
//      "edges": [[producer, output index or -1 for control, consumer], ...],
//      "placements": [[device of each node], ...]}
// Such a case uses the `placeto` model. A case for the `physical` model also has links and, for
// each ordered pair of devices, a route over them, by their indices:
//      "links": [{"bandwidth_bytes_per_us": 12000, "latency_us": 1.5, "sharing": "fair"}, ...],
//      "routes": [{"src": 0, "dst": 1, "links": [0, 2]}, ...]
// A node without a name is called "n" and its id, zero-padded to the width of the largest. An
// integer cost of 0 means an op that launches nothing; a cost written 0.0 launches.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emplace::bench {

/// One case, ready to simulate; each op is a group of its own.
struct SimulationCase {
  std::string name{};
  Problem problem;
  std::vector<Placement> placements{};
};

/// Reads one line of a case file; `source` ("cases.jsonl:12") names it in errors. Throws kFormat.
SimulationCase read_case(std::string_view line, const std::string& source);

/// Returns the line of results for one placement of a case, with its newline.
std::string write_case_result(const SimulationCase& simulation_case, std::size_t placement,
                              const StepRecord& record);

}  // namespace emplace::bench
