#pragma once

// Fits one roofline to samples (fit.hpp has the method).

#include <emplace/profiles/device_profile.hpp>

#include <optional>
#include <span>

namespace emplace::calibrate {

/// Holds what an op did, and how long it took.
struct WorkSample {
  double flops = 0;
  double bytes = 0;
  double us = 0;  ///< positive
};

/// Holds what a device does at most.
struct PeakRates {
  double flops_per_us = 0;
  double bytes_per_us = 0;
};

/// Returns the best roofline found from several starting points, its spread not set. No sample may
/// be faster than the peaks allow. Requires: at least one sample.
Roofline fit_roofline(std::span<const WorkSample> samples, const PeakRates& peaks);

/// Returns the best roofline found from `start` only, for samples that differ little from those to
/// which that was fitted.
Roofline refit_roofline(std::span<const WorkSample> samples, const PeakRates& peaks,
                        const Roofline& start);

/// Returns what a roofline says of a sample: microseconds.
double predicted_us(const Roofline& roofline, const PeakRates& peaks, const WorkSample& sample);

}  // namespace emplace::calibrate
