#include "advantage.hpp"

#include <cmath>

namespace emplace::agents::policy_gradient {

void normalize(std::span<double> advantages) {
  double square = 0;
  for (const double advantage : advantages) {
    square += advantage * advantage;
  }
  if (square == 0) {
    return;
  }
  const double scale = std::sqrt(static_cast<double>(advantages.size()) / square);
  for (double& advantage : advantages) {
    advantage *= scale;
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
