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
#include <functional>
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

/// Holds the errors |ln(predicted / measured)| of some samples.
class Errors {
 public:
  /// Adds one.
  void add(double predicted_us, double measured_us);
  /// Adds all of `other`.
  void add(const Errors& other);
  /// Adds the one of `other` that was added to it at this place, counted from 0.
  void add_one(const Errors& other, std::size_t at);
  double sum() const;
  PredictionError summary() const;

 private:
  std::vector<double> errors_;
};

/// Holds a roofline and what it is worth.
struct FittedRoofline {
  FittedForm fitted{};  ///< its relative deviation is that of `held_out`
  std::string proxy{};  ///< of its samples, as CostCase::proxy
  Errors errors{};      ///< of the samples that it was fitted to, in their order
  Errors held_out{};    ///< of each sample, predicted from other shapes, in the same order
};

/// Holds a case of a class.
struct FittedCase {
  CostCase which{};  ///< with its roofline
  FittedRoofline fit{};
};

/// Holds the fit of a class.
struct FittedClass {
  FittedRoofline whole{};  ///< of the class
  std::vector<FittedCase> cases{};
  Errors errors{};  ///< with the cases where they are
  Errors held_out{};
};

/// Returns what may be fitted to a class on its own, of some precision or of any; ops that several
/// select belong to the first. Empty where a class has no cases.
std::vector<CostCase> possible_cases(OpClass op_class, std::optional<Precision> precision);

/// Is told of each fold what the fit to the others says of it, sample by sample.
using HeldOut =
    std::function<void(std::span<const ClassSample> others, std::span<const ClassSample> left_out,
                       std::span<const double> predicted_us)>;

/// Fits one roofline to samples of some class, in the best of its forms; nothing if they are of
/// fewer shapes than kMinFitShapes.
std::optional<FittedRoofline> fit_samples(OpClass op_class, std::span<const ClassSample> samples,
                                          const FormBounds& bounds, const HeldOut& tell = {});

/// Fits a class and its cases; nothing if there are fewer shapes than kMinFitShapes.
std::optional<FittedClass> fit_class(OpClass op_class, std::span<const ClassSample> samples,
                                     const FormBounds& bounds, const HeldOut& tell = {});

}  // namespace emplace::calibrate
