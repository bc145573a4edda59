#pragma once

// Actions from a categorical distribution, the output of a policy's softmax.

#include <emplace/base/random.hpp>

#include <cstddef>
#include <span>

namespace emplace::agents::policy_gradient {

/// Samples an action, an index of `probabilities`, with one random number. What rounding leaves of
/// their sum goes to the last. Requires: at least one probability.
std::size_t sample_action(std::span<const double> probabilities, RandomStream& random);

/// Returns the most probable action, the first among equals. Requires: at least one probability.
std::size_t greedy_action(std::span<const double> probabilities);

}  // namespace emplace::agents::policy_gradient
