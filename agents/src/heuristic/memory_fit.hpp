#pragma once

// How heuristics end with what fits into memory. A published algorithm that knows nothing of memory,
// or less than the simulator, keeps its placement wherever that fits. Only where the simulator finds
// it out of memory is it repaired (repair.hpp), and schedulers that can look at memory are asked for
// other placements, which are repaired as well. Of those that fit, the fastest is taken. So a
// heuristic runs the simulator, one step where all fits and at most some hundred where it does not; it
// never uses step times to choose between placements that fit at once.

#include <emplace/sim/placement.hpp>
#include <emplace/sim/problem.hpp>

namespace emplace::agents {

/// Returns `published` if it fits, else it repaired; if nothing is found that fits, the placement
/// with the fewest bytes over. Requires: a valid device for each group.
Placement fit_into_memory(const Problem& problem, Placement published);

}  // namespace emplace::agents
