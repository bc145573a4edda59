#pragma once

// A confidence interval of a median from few values, such as an agent's repetitions. No
// distribution is assumed: the median of the population is below the k-th least of n values with
// probability P(B(n, 1/2) < k), so
//
//     interval = k-th least .. k-th largest value, k the largest with P(B(n, 1/2) < k) <= 5 %
//
// covers it with at least 90 % (Hollander and Wolfe 1973). Five values are the least that have one:
// from their least to their largest, which covers 93.8 %. Thread-safe.

#include <optional>
#include <utility>
#include <vector>

namespace emplace::bench {

/// The least probability with which the interval covers the median.
inline constexpr double kMedianCoverage = 0.9;

/// Returns the interval, or nothing for fewer than five values. O(n log n).
std::optional<std::pair<double, double>> median_interval(std::vector<double> values);

}  // namespace emplace::bench
