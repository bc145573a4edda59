#include "robust_fit.hpp"

#include <emplace/calibrate/step_fit.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace emplace::calibrate {
namespace {

constexpr int kMaxStepRounds = 200;
constexpr double kStepsConverged = 1e-12;  // of the loss
constexpr Triple kLeastFactors = {1, 1, 1};

}  // namespace

StepFactors fit_step_factors(std::span<const StepSample> samples) {
  std::vector<Triple> equations;
  for (const StepSample& sample : samples) {
    Triple equation = sample.alone_us;
    for (double& part : equation) {
      part /= sample.us;
    }
    equations.push_back(equation);
  }
  std::vector<double> weights(equations.size(), 1.0);
  Triple best = kLeastFactors;
  double least = std::numeric_limits<double>::infinity();
  double last = least;
  for (int round = 0; round < kMaxStepRounds; ++round) {
    const Triple factors = solve_bounded(equations, weights, kLeastFactors);
    double loss = 0;
    for (std::size_t at = 0; at < equations.size(); ++at) {
      const LogError error(dot(equations[at], factors));
      loss += error.loss();
      weights[at] = error.weight();
    }
    if (loss < least) {
      least = loss;
      best = factors;
    }
    if (std::abs(last - loss) <= kStepsConverged * loss) {
      break;
    }
    last = loss;
  }
  return best;
}

}  // namespace emplace::calibrate
