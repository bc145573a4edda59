#pragma once

// Fits a class of ops to what was measured: which form it has, which cases have a roofline of their
// own, and what that is worth for shapes that it has not seen.
//
// More numbers must pay. Errors are those of shapes left out: the shapes are dealt to at most
// kMaxFolds folds, each fold is left out in turn with all its samples, and predicted by what is
// fitted to the others. A form with more to it, and the cases of a class, are taken if they make
// the mean of these errors less than kGain of what it was.

#include "form_fit.hpp"

#include <emplace/graphs/op_kind.hpp>
#include <emplace/profiles/device_profile.hpp>
#include <emplace/profiles/op_key.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace emplace::calibrate {

/// The least part of the mean error that must be left for something simpler to be kept.
inline constexpr double kGain = 0.95;

/// The most folds of shapes.
inline constexpr std::size_t kMaxFolds = 40;

/// Holds what an op took on some device.
struct ClassSample {
  OpKey key{};
  Precision precision = Precision::kFloat32;
  WorkSample sample{};
  std::string proxy{};     ///< CostCase::proxy of what is fitted to it
  bool is_cached = false;  ///< part of what it moves may stay in the cache
};

/// Returns the sample of an op that took `us` on a device of `profile`.
ClassSample class_sample(const DeviceProfile& profile, const OpKey& key, std::int64_t flops,
                         std::int64_t bytes, double us, MathMode math);

/// Returns |ln(predicted / measured)|.
double error_of(double predicted_us, double measured_us);

/// Summarizes errors, whatever their order.
PredictionError summary_of(std::vector<double> errors);

/// Returns the number of distinct shapes.
std::size_t num_shapes(std::span<const ClassSample> samples);

/// Returns the fold of each sample: that of its shape.
std::vector<std::size_t> folds_of(std::span<const ClassSample> samples);

/// Holds a roofline and what it is worth.
struct FittedRoofline {
  FittedForm form{};                  ///< its relative deviation is that of `held_out`
  std::string proxy{};                ///< of its samples, as CostCase::proxy
  std::vector<double> errors{};       ///< of the samples that it was fitted to, in their order
  std::vector<double> held_out_us{};  ///< what is predicted for each from other shapes
  std::vector<double> held_out{};     ///< the errors of that
};

/// Holds a roofline of a class: a case's, or what its cases leave.
struct FittedPart {
  CostCase which{};  ///< with its roofline and proxy
  FittedRoofline fit{};
  std::vector<ClassSample> samples{};  ///< to which it was fitted
  std::vector<std::size_t> own{};      ///< of these, the ones for which the class takes it
};

/// Holds the fit of a class: its own roofline, and its cases. Each sample is some part's own.
struct FittedClass {
  FittedPart whole{};
  std::vector<FittedPart> cases{};

  /// Returns the errors of all samples, each by the part whose own it is: of
  /// FittedRoofline::errors, or of FittedRoofline::held_out.
  std::vector<double> all(std::vector<double> FittedRoofline::*errors) const;
};

/// Returns what may be fitted to a class on its own, of some precision or of any; ops that several
/// select belong to the first. Empty where a class has no cases.
std::vector<CostCase> possible_cases(OpClass op_class, std::optional<Precision> precision);

/// Fits one roofline to samples of some class, in the best of its forms; nothing if they are of
/// fewer shapes than kMinFitShapes.
std::optional<FittedRoofline> fit_samples(OpClass op_class, std::span<const ClassSample> samples,
                                          const FormBounds& bounds);

/// Fits a class and its cases; nothing if there are fewer shapes than kMinFitShapes.
std::optional<FittedClass> fit_class(OpClass op_class, std::span<const ClassSample> samples,
                                     const FormBounds& bounds);

}  // namespace emplace::calibrate
