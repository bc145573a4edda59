#pragma once

// The bottleneck of a step as JSON, for `emplace simulate --explain --json` and Python's explain().

#include <emplace/sim/explanation.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/step_record.hpp>

#include <string>

namespace emplace::bench {

/// Returns a JSON object in one line. Requires: `explanation` is that of `record`, a step of
/// `problem`.
std::string explanation_json(const Problem& problem, const StepRecord& record,
                             const Explanation& explanation);

}  // namespace emplace::bench
