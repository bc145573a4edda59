#pragma once

// The parts of an explanation. Each reads a step and the parts before it.

#include "step_facts.hpp"

#include <emplace/sim/explanation.hpp>

#include <vector>

namespace emplace {

/// Fills in what devices and links did, except for their time on the path, and the exposed
/// communication.
void add_loads(const StepFacts& facts, Explanation& explanation);

/// Returns the critical path, as the public function of the same name does.
std::vector<PathSegment> critical_path(const StepFacts& facts);

/// Returns what could be saved at most if a device, a link, the launches or the gaps took no time,
/// largest first. Requires: the path, its shares and the loads of `explanation` are filled in.
std::vector<Gain> gains_of(const StepFacts& facts, const Explanation& explanation);

}  // namespace emplace
