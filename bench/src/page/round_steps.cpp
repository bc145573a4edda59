#include "round_steps.hpp"

#include <cmath>

namespace emplace::bench {
namespace {

constexpr double kSlack = 1e-9;  // what rounding may add to a number that is round

// Returns the least of 1, 2, 5, 10, 20, ... and their tenths, hundredths, ... that is at least
// `least`.
double round_up(double least) {
  const double unit = std::pow(10.0, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * unit >= least * (1 - kSlack)) {
      return digit * unit;
    }
  }
  return 10 * unit;
}

}  // namespace

std::vector<double> round_steps(double least, double most, int most_steps) {
  const double step = round_up((most - least) / most_steps);
  std::vector<double> steps;
  for (double multiple = std::floor(least / step + kSlack);; ++multiple) {
    steps.push_back(multiple * step);
    if (multiple >= most / step - kSlack) {
      return steps;
    }
  }
}

}  // namespace emplace::bench
