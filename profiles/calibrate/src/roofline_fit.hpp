#pragma once

// Fits one roofline of the form `maximum` to samples (fit.hpp has the method).

#include <emplace/profiles/device_profile.hpp>

#include <cstdint>
#include <span>

namespace emplace::calibrate {

/// Holds what an op did on some device, and how long it took.
struct WorkSample {
  OpWork work{};
  DeviceRates rates{};      ///< of the device on which it ran
  double us = 0;            ///< positive
  std::int32_t floor = -1;  ///< which launch floor its time contains (form_fit.hpp); -1: none
};

/// Returns the best roofline of the form `maximum` found from several starting points, its relative
/// deviation not set. No efficiency exceeds 1. Requires: at least one sample, none with a launch
/// floor.
Roofline fit_roofline(std::span<const WorkSample> samples);

/// Returns the best roofline found from `start` only, for samples that differ little from those to
/// which that was fitted.
Roofline refit_roofline(std::span<const WorkSample> samples, const Roofline& start);

}  // namespace emplace::calibrate
