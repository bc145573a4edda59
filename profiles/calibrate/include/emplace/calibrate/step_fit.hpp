#pragma once

// What ops take in the steps of frameworks over what they take alone. Alone they run for
// milliseconds, on a cool device, one kernel over and over; in a step a framework adds gaps and
// copies, and clocks sink. The factors (DeviceProfile::step_factors) are common to devices,
// networks and frameworks: one for each precision in which ops multiply,
//
//     step = sum over precisions p of factor_p * time alone of the ops in p
//
// and they minimize the sum over steps of Huber's loss of log(predicted / measured), as fit.hpp has
// it, by reweighted least squares. None is below 1.

#include <emplace/profiles/roofline.hpp>

#include <array>
#include <span>

namespace emplace::calibrate {

/// What the ops of a step take alone, by Precision, and what the step took: microseconds.
struct StepSample {
  std::array<double, kPrecisions.size()> alone_us{};  ///< 0 where the step has no such op
  double us = 0;                                      ///< positive
};

/// Returns the factors, by Precision; 1 for one that no sample has. Deterministic.
StepFactors fit_step_factors(std::span<const StepSample> samples);

}  // namespace emplace::calibrate
