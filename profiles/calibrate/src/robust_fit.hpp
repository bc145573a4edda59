#pragma once

// The arithmetic that fits of rooflines, copies and steps share: least squares with up to three
// unknowns that have lower bounds, and Huber's weights. Errors are of what was predicted over
// what was measured, so each equation reads: coefficients . unknowns = 1.

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace emplace::calibrate {

/// Holds the coefficients of one equation, or the unknowns; what is not used is 0.
using Triple = std::array<double, 3>;

/// Returns the scalar product.
double dot(const Triple& a, const Triple& b);

/// Returns Huber's loss of an error: quadratic up to kHuberBound, linear beyond.
double huber_loss(double error);

/// Returns the weight with which an error counts in the next round of least squares.
double huber_weight(double error);

/// How the error of one equation counts, as a logarithm.
struct LogError {
  /// Takes predicted over measured.
  explicit LogError(double ratio);

  double loss = 0;
  /// Of the relative error, ratio - 1, in the next round of least squares: with it, squares have
  /// the derivative of the loss.
  double weight = 1;
};

/// The same as a relative error.
struct RelativeError {
  explicit RelativeError(double ratio)
      : loss(huber_loss(ratio - 1)), weight(huber_weight(ratio - 1)) {}

  double loss;
  double weight;
};

/// Returns the x >= lower that minimizes the sum of weight * (equation . x - 1)^2, exactly: the
/// best of all choices of which unknowns are at their bounds. An unknown without coefficients is at
/// its bound.
Triple solve_bounded(std::span<const Triple> equations, std::span<const double> weights,
                     const Triple& lower);

/// Holds unknowns, and what they lose.
struct RobustFit {
  Triple x{};
  double loss = std::numeric_limits<double>::infinity();
};

/// Returns the unknowns of the least loss in rounds of least squares, each with the weights of the
/// round before, until the loss stays.
template <class Error>
RobustFit fit_robustly(std::span<const Triple> equations, const Triple& lower) {
  constexpr int kMaxRounds = 200;
  constexpr double kConverged = 1e-12;
  std::vector<double> weights(equations.size(), 1.0);
  RobustFit best{.x = lower};
  double last_loss = best.loss;
  for (int round = 0; round < kMaxRounds; ++round) {
    RobustFit found{.x = solve_bounded(equations, weights, lower), .loss = 0};
    for (std::size_t at = 0; at < equations.size(); ++at) {
      const Error error(dot(equations[at], found.x));
      found.loss += error.loss;
      weights[at] = error.weight;
    }
    if (found.loss < best.loss) {
      best = found;
    }
    if (std::abs(last_loss - found.loss) <= kConverged * found.loss) {
      break;
    }
    last_loss = found.loss;
  }
  return best;
}

}  // namespace emplace::calibrate
