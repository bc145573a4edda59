#pragma once

// Advantages of policy gradients, brought to one scale, so that a learning rate or an entropy bonus
// means the same on every problem.

#include <span>
#include <vector>

namespace emplace::agents::policy_gradient {

/// Scales advantages to a root mean square of 1.
void normalize(std::span<double> advantages);

/// Returns by how many standard deviations each cost is below the mean; 0 if all are equal.
std::vector<double> standardized(std::span<const double> costs);

}  // namespace emplace::agents::policy_gradient
