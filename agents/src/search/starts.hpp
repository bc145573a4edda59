#pragma once

// Placements from which searches start: those of agents that evaluate nothing.

#include "coarsening/coarsening.hpp"

#include <emplace/agents/evaluator.hpp>
#include <emplace/base/random.hpp>
#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace emplace::agents {

/// Names the best of all heuristics that searches start from.
inline constexpr const char* kBestHeuristic = "best-heuristic";

/// Names the best of these and of HEFT on each coarser level (Coarsening). Coarse levels cut fewer
/// edges, which pays where devices share links.
inline constexpr const char* kBestOfLevels = "best-of-levels";

/// Names everything on the first placeable device, repaired if it does not fit there.
inline constexpr const char* kOneDevice = "one-device";

/// Name the placements of these heuristics.
inline constexpr const char* kEtf = "etf";
inline constexpr const char* kHeft = "heft";

/// What the parameter `start` of a search may be.
inline constexpr std::array<const char*, 5> kStarts = {kBestHeuristic, kBestOfLevels, kOneDevice,
                                                       kEtf, kHeft};

/// Returns the placement of the problem of `coarsening` that `start` names.
Placement start_of_search(std::string_view start, const Coarsening& coarsening,
                          Evaluator& evaluator);

/// Returns a placement with a uniformly random placeable device for each group.
Placement random_placement(const Problem& problem, RandomStream& random);

/// Holds a placement and its evaluation.
struct Evaluated {
  Placement placement{};
  Evaluation evaluation{};
};

/// Evaluates the placements of the heuristics and of a human expert, as far as the budget goes.
/// Returns different ones, best first; never none.
std::vector<Evaluated> evaluated_starts(const Problem& problem, Evaluator& evaluator);

/// Does the same, the cheapest first, with the order of list schedules as priorities, too: devices
/// that run groups in the order of the plan may be faster than with their own queues.
std::vector<Evaluated> evaluated_starts_and_orders(const Problem& problem, Evaluator& evaluator);

/// Does the same as evaluated_starts(), with HEFT on each coarser level, too.
std::vector<Evaluated> evaluated_starts_of_levels(const Coarsening& coarsening,
                                                  Evaluator& evaluator);

}  // namespace emplace::agents
