#pragma once

// Makes a device profile from tables of op times (sample_file.hpp), by the fit that a calibration
// uses (fit.hpp): each class, and those of its cases that improve the fit, get the form and the
// numbers that best predict shapes left out.
//
// A row counts relative to the peaks of the device on which it was measured, so the rows of one
// board also serve another with the same chip. If the tables of the device have too few shapes of a
// class in some precision, those of proxies are used, and the case names them. Convolutions and
// products in TF32, for which there are no tables, use the rows in float16, and their relative
// deviation includes kProxyDeviation. Convolutions of a proxy reach the share of the peak that they
// reach on the proxy, times the ratio of what products reach here and there. Classes without
// samples keep the roofline of the base; those bound by memory get that of elementwise ops.
//
// Of classes bound by memory, rows that move less than kCaches times the cache do not count where
// there are enough others, and the memory efficiency is at most what BabelStream reaches.
//
// Fixed times come only from rows without a launch floor, or else from the base; and the compute
// efficiency of classes bound by memory is that of the base. Deterministic, and independent of the
// order of rows. Numbers are rounded to four digits.

#include <emplace/calibrate/sample_file.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// How many times the last level of cache an op must move to show the rate of the memory.
inline constexpr std::int64_t kCaches = 4;

/// What a proxy adds to the relative deviation of a cost.
inline constexpr double kProxyDeviation = 0.2;

/// How well the cases of a class are predicted.
struct FitReport {
  OpClass op_class = OpClass::kOther;
  CostCase which{};            ///< which of the class, with its roofline and proxy
  PredictionError errors{};    ///< of the samples fitted to
  PredictionError held_out{};  ///< of shapes left out
};

/// A profile and how good it is.
struct SampleFit {
  DeviceProfile profile{};
  std::vector<FitReport> reports{};
  std::vector<std::string> unused{};  ///< samples that nothing was fitted to, and why, in words
};

/// Returns `base` with its classes fitted to its tables, or else to those of proxies. Devices of
/// rows are `base` or shipped profiles: throws kUnknownName for another, and kUnsupported if no
/// class has samples of enough shapes. `date` is that of the fit.
SampleFit fit_to_samples(const DeviceProfile& base, std::span<const SampleTable> tables,
                         std::span<const SampleTable> proxies, const std::string& date);

/// Names the ops that a case selects: "conv2d, 3x3, float32".
std::string describe(const CostCase& which);

}  // namespace emplace::calibrate
