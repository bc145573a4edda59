#pragma once

// Which parameters of a cluster did nothing in a step: what a user needs to know who changes one,
// and sees no change.

#include "step_facts.hpp"

#include <emplace/sim/explanation.hpp>

#include <string>
#include <vector>

namespace emplace {

/// Returns sentences about parameters that did nothing. Requires: the loads of `explanation` are
/// filled in.
std::vector<std::string> parameters_without_effect(const StepFacts& facts,
                                                   const Explanation& explanation);

}  // namespace emplace
