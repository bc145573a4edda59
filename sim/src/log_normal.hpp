#pragma once

// Log-normal random factors of mean 1, the same bits on every machine.

#include <emplace/base/random.hpp>

#include <span>

namespace emplace {

/// Fills `normals` with independent numbers of the standard normal distribution, cut off at 7
/// standard deviations, so that drawn costs add up to times that 64-bit integers hold.
void draw_normals(RandomStream& random, std::span<double> normals);

/// Turns standard normal numbers into log-normal factors of mean 1 and one standard deviation.
class LogNormal {
 public:
  /// Takes the standard deviation, at least 0.
  explicit LogNormal(double standard_deviation);

  /// Returns the factor of a standard normal number.
  double factor(double normal) const;

 private:
  double scale_;  // the standard deviation of the factor's logarithm
  double shift_;  // and its mean
};

}  // namespace emplace
