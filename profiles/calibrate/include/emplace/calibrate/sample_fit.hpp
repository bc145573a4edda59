#pragma once

// Makes a device profile of tables of what ops took (sample_file.hpp), by the fit that a
// calibration uses (fit.hpp): each class, and the cases of it that pay, get the form and the
// numbers that predict shapes left out best.
//
// A row counts relative to the peaks of the device on which it was measured, so the rows of one
// board serve another of the same chip. Where the tables of the device have too few shapes of a
// class in some arithmetic, those of proxies are taken, and the case names them. Convolutions and
// products in TF32, of which no table tells, take the rows in float16, and their spread includes
// kProxySpread. Convolutions of a proxy reach the part of the peak that they reach on the proxy,
// times what products reach here over what they reach there. Classes without samples keep the
// roofline of the base; those bound by memory get that of elementwise ops.
//
// Fixed times come from rows without a launch floor only, else from the base; and the compute
// efficiency of classes that memory bounds is that of the base. Deterministic, and
// independent of the order of rows. Numbers are rounded to four digits.

#include <emplace/calibrate/sample_file.hpp>
#include <emplace/profiles/device_profile.hpp>

#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// What a proxy adds to the spread of a cost.
inline constexpr double kProxySpread = 0.2;

/// How well the cases of a class are predicted.
struct FitReport {
  OpClass op_class = OpClass::kOther;
  std::string which{};  ///< of the class, in words; empty: all of it
  Roofline roofline{};
  std::string proxy{};         ///< as CostCase::proxy
  PredictionError errors{};    ///< of the samples fitted to
  PredictionError held_out{};  ///< of shapes left out
};

/// A profile and what it is worth.
struct SampleFit {
  DeviceProfile profile{};
  std::vector<FitReport> reports{};
  std::vector<std::string> unused{};  ///< samples that nothing was fitted to, and why, in words
};

/// Returns `base` with what its tables, and else those of proxies, say of its classes. Devices of
/// rows are `base` or shipped profiles: throws kUnknownName for another, and kUnsupported where no
/// class has samples of enough shapes. `date` is that of the fit.
SampleFit fit_to_samples(const DeviceProfile& base, std::span<const SampleTable> tables,
                         std::span<const SampleTable> proxies, const std::string& date);

/// Names the ops that a case selects: "conv2d, 3x3, float32".
std::string describe(const CostCase& which);

}  // namespace emplace::calibrate
