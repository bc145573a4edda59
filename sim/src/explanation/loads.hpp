#pragma once

// How busy devices and links were, and how much communication no computation hid.

#include "step_facts.hpp"

#include <emplace/sim/explanation.hpp>

namespace emplace {

/// Fills in what devices and links did, except for their time on the path, and the exposed
/// communication.
void add_loads(const StepFacts& facts, Explanation& explanation);

}  // namespace emplace
