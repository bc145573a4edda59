#pragma once

// Makes a device profile from measurements of a device: cost sources 1 to 3
// (profiles/device_profile.hpp), and how good they are.
//
// A class of ops gets the roofline t = t0 + max(F / (e_c P), B / (e_m W)) with t0 >= 0 and
// efficiencies in (0, 1] that minimizes the sum over its samples of Huber's loss of
// log(predicted / measured): quadratic up to kHuberBound, linear beyond, so that a few odd samples
// have little influence. Logarithms, because of two predictions that are wrong by the same factor,
// relative errors would prefer the one that is too short. From each of several starting points
// three steps alternate: each sample joins the larger branch of the maximum; each gets the weight
// of its error; and a least-squares problem with bounds on its three unknowns is solved exactly.
// The best roofline on the way is kept. A branch that no sample takes gets the least efficiency
// that contradicts no sample.
//
// Errors are those of a leave-one-shape-out validation: a shape is left out with all ops of its
// class that have it, the roofline is fitted to the others, and it and the estimates between the
// others (profiles/measurement_table.hpp) predict the ops left out. The relative deviation of a
// class is sqrt(pi / 2) times the mean error of its roofline, the standard deviation of a normal
// error of that mean. All of it depends only on the samples, not even on their order.

#include <emplace/calibrate/compute_device.hpp>
#include <emplace/calibrate/samples.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace emplace::calibrate {

/// Errors beyond this count linearly in a fit: five per cent.
inline constexpr double kHuberBound = 0.05;

/// The least number of distinct shapes for which a class gets its own roofline.
inline constexpr std::size_t kMinFitShapes = 5;

/// Returns the profile of the device that `facts` describes, measured by `emplace calibrate` at
/// `date` (ISO 8601), when launches took `launch_us`. Peaks are those of `facts`, or higher
/// if a sample exceeded them; the notes name it. Samples without a kept run are left out. Products
/// of float32 were in TF32 if `facts` have a peak for it. Classes with fewer shapes than
/// kMinFitShapes have no roofline, and the notes say so; with fewer in all classes together, the
/// fallback is a guess. Requires: positive peaks; at most one sample for each key.
DeviceProfile fit_device_profile(const DeviceFacts& facts, std::span<const OpSample> samples,
                                 const std::string& date, double launch_us);

}  // namespace emplace::calibrate
