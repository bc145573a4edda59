#pragma once

// Makes a device profile of what was measured on a device: cost sources 1 to 3
// (profiles/device_profile.hpp), and what they are worth.
//
// A class of ops gets the roofline t = t0 + max(F / (e_c P), B / (e_m W)) with t0 >= 0 and
// efficiencies in (0, 1] that minimizes the sum over its samples of Huber's loss of the relative
// error (predicted - measured) / measured: quadratic up to kHuberBound, linear beyond, so that few
// odd samples move it little. From each of several starting points three steps alternate: each
// sample joins the branch of the maximum that is the larger; each gets the weight of its error; and
// a least-squares problem with bounds on its three unknowns is solved exactly. The best roofline
// met on the way counts. A branch that no sample takes gets the least efficiency that contradicts
// none: what the samples have shown, not what they leave open.
//
// Errors are those of a leave-one-shape-out validation: a shape leaves with all ops of its class
// that have it, the roofline is fitted to the others, and it and the estimates between the others
// (profiles/measurement_table.hpp) predict what left. The spread of a class is sqrt(pi / 2) times
// the mean error of its roofline, the standard deviation of a normal error of that mean. All of it
// depends on nothing but the samples, not even on their order.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/samples.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace emplace::calibrate {

/// Errors beyond this count linearly in a fit: five per cent.
inline constexpr double kHuberBound = 0.05;

/// The least number of distinct shapes from which a class gets a roofline of its own.
inline constexpr std::size_t kMinFitShapes = 5;

/// What a profile says of itself beside what is fitted.
struct ProfileHeader {
  std::string name{};     ///< DeviceProfile::name: "h200-measured"
  std::string summary{};  ///< one line
  std::string date{};     ///< ISO 8601, of the measurement
  std::string source{};   ///< Provenance::source: what was run
  std::string clocks{};   ///< Calibration::clocks
  double launch_us = 0;   ///< DeviceProfile::launch_us, as measured
};

/// Returns the profile of the device of which `facts` tells. Peaks are those of `facts`, or higher
/// where a sample did more than that; the notes name it. Samples without a run that was kept are
/// left out. Products of float32 were in TF32 if `facts` have a peak for it. Classes of fewer
/// shapes than kMinFitShapes have no roofline, and the notes say so; with fewer in all, the
/// fallback is a guess. Requires: positive peaks; at most one sample for each key.
DeviceProfile fit_device_profile(const DeviceFacts& facts, std::span<const OpSample> samples,
                                 const ProfileHeader& header);

}  // namespace emplace::calibrate
