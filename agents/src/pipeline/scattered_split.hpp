#pragma once

// Splits whose stages need not be contiguous: a device may have blocks before and behind those of
// another. Their largest load can be smaller (Tarnawski et al., NeurIPS 2020, who search as here).

#include "stage_split.hpp"

#include <emplace/base/random.hpp>

namespace emplace::agents {

/// Returns a split with a largest load of at most that of `start`. A local search moves a block
/// wherever that makes the larger load of its two devices smaller; then it moves some blocks at
/// random and descends again, `rounds` times. O(rounds * moves * nets of a block * stages).
/// Requires: the stages of `start` are not more than the devices of their kinds.
StageSplit scattered(const StageGraph& graph, const StageSplit& start, int rounds,
                     RandomStream& random);

}  // namespace emplace::agents
