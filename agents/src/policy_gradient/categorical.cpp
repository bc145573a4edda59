#include "categorical.hpp"

#include <algorithm>

namespace emplace::agents::policy_gradient {

std::size_t sample_action(std::span<const double> probabilities, RandomStream& random) {
  double left = random.uniform() - probabilities[0];
  std::size_t action = 0;
  while (left >= 0 && action + 1 < probabilities.size()) {
    left -= probabilities[++action];
  }
  return action;
}

std::size_t greedy_action(std::span<const double> probabilities) {
  return static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

}  // namespace emplace::agents::policy_gradient
