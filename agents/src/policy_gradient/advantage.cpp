#include "advantage.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace emplace::agents::policy_gradient {

void normalize(std::span<double> advantages, std::span<float> action_values) {
  double square = 0;
  double count = 0;
  const auto add = [&](double number) {
    square += number * number;
    count += 1;
  };
  if (action_values.empty()) {
    std::ranges::for_each(advantages, add);
  }
  const std::size_t num_actions = action_values.size() / advantages.size();
  for (std::size_t first = 0; first < action_values.size(); first += num_actions) {
    const auto of_decision = action_values.subspan(first, num_actions);
    const double mean =
        std::reduce(of_decision.begin(), of_decision.end(), 0.0) / static_cast<double>(num_actions);
    for (const float value : of_decision) {
      add(static_cast<double>(value) - mean);
    }
  }
  if (square == 0) {
    return;
  }
  const double scale = std::sqrt(count / square);
  for (double& advantage : advantages) {
    advantage *= scale;
  }
  for (float& value : action_values) {
    value = static_cast<float>(static_cast<double>(value) * scale);
  }
}

std::vector<double> standardized(std::span<const double> costs) {
  const auto count = static_cast<double>(costs.size());
  double mean = 0;
  for (const double cost : costs) {
    mean += cost / count;
  }
  double variance = 0;
  std::vector<double> advantages;
  for (const double cost : costs) {
    advantages.push_back(mean - cost);
    variance += advantages.back() * advantages.back() / count;
  }
  const double deviation = std::sqrt(variance);
  for (double& advantage : advantages) {
    advantage = deviation > 0 ? advantage / deviation : 0;
  }
  return advantages;
}

}  // namespace emplace::agents::policy_gradient
