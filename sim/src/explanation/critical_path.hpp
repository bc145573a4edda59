#pragma once

// The critical path of a step, from its end to its beginning.

#include "step_facts.hpp"

#include <emplace/sim/explanation.hpp>

#include <vector>

namespace emplace {

/// Returns the critical path, as the public function of the same name does.
std::vector<PathSegment> critical_path(const StepFacts& facts);

}  // namespace emplace
