#pragma once

// Fits a form of a roofline (profiles/roofline.hpp) to samples: the numbers that minimize the sum
// of Huber's losses of the relative errors. The form `maximum`, of samples without launch floors,
// is fitted exactly (fit.hpp). All else starts there and goes on by
// Levenberg-Marquardt steps in the logarithms of the unknowns, clamped to their bounds, with
// Huber's weights (Madsen, Nielsen and Tingleff 2004, "Methods for non-linear least squares
// problems"). Deterministic.
//
// Some tables of measurements contain a launch floor: what the host took to launch an op stands in
// each time. Such a time is t - t0 + f, with an unknown f for each floor, which is fitted along
// and then forgotten. It is at most a third of the least of these times, for tables of which only
// rows of at least three floors are given: more would take what is the op's own. The fixed time t0
// is what samples without a floor say; with none it stays as it was given.

#include <emplace/profiles/device_profile.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace::calibrate {

/// Holds what an op did on some device, and how long it took.
struct WorkSample {
  OpWork work{};
  DeviceRates rates{};      ///< of the device on which it ran
  double us = 0;            ///< positive
  std::int32_t floor = -1;  ///< which launch floor its time contains; -1: none
};

/// Bounds what a fit may find.
struct FormBounds {
  double max_compute_efficiency = 1;
  double max_memory_efficiency = 1;
  double fixed_us = 0;  ///< Roofline::fixed_us where no sample tells it
};

/// Holds a fitted form, and the launch floors of its samples.
struct FittedForm {
  Roofline roofline{};              ///< its relative deviation not set
  std::vector<double> floors_us{};  ///< by WorkSample::floor
};

/// Fits `form` to samples. Requires: at least one.
FittedForm fit_form(CostForm form, std::span<const WorkSample> samples, const FormBounds& bounds);

/// Fits the form of `start` from there only, for samples that differ little from those to which
/// that was fitted.
FittedForm refit_form(const FittedForm& start, std::span<const WorkSample> samples,
                      const FormBounds& bounds);

/// Returns what a fit says of a sample, with its launch floor: microseconds.
double predicted_us(const FittedForm& fitted, const WorkSample& sample);

}  // namespace emplace::calibrate
