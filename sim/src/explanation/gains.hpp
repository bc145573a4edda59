#pragma once

// By how much a step could be shorter if a device, a link, the launches or the gaps took no time.

#include "step_facts.hpp"

#include <emplace/sim/explanation.hpp>

#include <vector>

namespace emplace {

/// Returns what could be saved at most, largest first. Requires: the path, its shares and the loads
/// of `explanation` are filled in.
std::vector<Gain> gains_of(const StepFacts& facts, const Explanation& explanation);

}  // namespace emplace
