#include "robust_fit.hpp"

#include <emplace/calibrate/step_fit.hpp>

#include <vector>

namespace emplace::calibrate {

StepFactors fit_step_factors(std::span<const StepSample> samples) {
  std::vector<Triple> equations;
  for (const StepSample& sample : samples) {
    Triple& equation = equations.emplace_back(sample.alone_us);
    for (double& part : equation) {
      part /= sample.us;
    }
  }
  return fit_robustly<LogError>(equations, {1, 1, 1}).x;
}

}  // namespace emplace::calibrate
