#pragma once

// The arithmetic that fits of rooflines, copies and steps share: least squares with up to three
// unknowns that have lower bounds, and Huber's weights. Errors are of what was predicted over what
// was measured, so each equation reads: coefficients . unknowns = 1.

#include <array>
#include <span>

namespace emplace::calibrate {

/// Holds the coefficients of one equation, or the unknowns; what is not used is 0.
using Triple = std::array<double, 3>;

/// Returns the scalar product.
double dot(const Triple& a, const Triple& b);

/// Returns Huber's loss of an error: quadratic up to kHuberBound, linear beyond.
double huber_loss(double error);

/// Returns the weight with which an error counts in the next round of least squares.
double huber_weight(double error);

/// The error of one equation as a logarithm.
class LogError {
 public:
  /// Takes predicted over measured.
  explicit LogError(double ratio);
  double loss() const { return huber_loss(error_); }
  /// Returns the weight of the relative error, ratio - 1, in the next round of least squares: with
  /// it, squares have the derivative of the loss.
  double weight() const { return weight_; }

 private:
  double error_ = 0;
  double weight_ = 1;
};

/// Returns the x >= lower that minimizes the sum of weight * (equation . x - 1)^2, exactly: the
/// best of all choices of which unknowns are at their bounds. An unknown without coefficients is at
/// its bound.
Triple solve_bounded(std::span<const Triple> equations, std::span<const double> weights,
                     const Triple& lower);

}  // namespace emplace::calibrate
