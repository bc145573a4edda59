#pragma once

// What no placement of a problem can beat: the yardstick next to every result.

#include <emplace/sim/problem.hpp>

namespace emplace {

/// Holds lower bounds on the makespan of any placement, in microseconds.
struct LowerBounds {
  /// Longest path with each op on its fastest device, and between two ops the lesser of what it
  /// costs to stay on one device (the gap) and to leave it (the transfer).
  double critical_path_us = 0;
  /// Total work shared by all devices without loss. For weights w >= 0 of the devices with sum 1,
  /// every placement takes at least sum over ops of min over devices of w * (cost + gap), the dual
  /// of the fractional assignment; the weights are improved by a fixed number of subgradient steps.
  double total_work_us = 0;

  /// Returns the larger of the two.
  double best_us() const {
    return critical_path_us > total_work_us ? critical_path_us : total_work_us;
  }
};

/// Computes the bounds. O(steps * (ops * devices + edges)).
LowerBounds lower_bounds(const Problem& problem);

/// Returns how far a makespan is above a bound, as a fraction of the bound: 0.25 for 25 % above.
double gap_to_bound(double makespan_us, double bound_us);

}  // namespace emplace
