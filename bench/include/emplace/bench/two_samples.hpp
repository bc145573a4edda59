#pragma once

// Compares two independent samples of times, such as the repetitions of an agent in two runs. No
// distribution is assumed, and there may be as few values as five.
//
//     ratio    = median of all ratios mine[i] / others[j] (Hodges and Lehmann 1963, on logarithms)
//     interval = its 95 % confidence interval, from the k-th least to the k-th largest of these
//                ratios, k the largest with P(U < k) <= 2.5 % (Moses; Hollander and Wolfe 1973).
//                None where there is no such k: four values on each side are the least.
//     p        = of the U test (Wilcoxon 1945, Mann and Whitney 1947)
//
// The test assumes that values are independent; its null hypothesis is that both samples come from
// one distribution. Ratio and interval also assume that the two distributions are the same except
// for a factor. Up to 64 values in all, p is exact, with mean ranks for ties: the share of all ways
// to choose which of the values are mine that are at least as extreme. Beyond, it comes from the
// normal approximation with corrections for ties and continuity. Values of the test may be
// infinite, which means no time at all. Thread-safe. O(n m) for the ratio, O(n m (n + m)^2) for an
// exact p.

#include <optional>
#include <span>
#include <utility>

namespace emplace::bench {

/// How much greater the values of one sample are than those of another.
struct SampleRatio {
  double ratio = 1;                                     ///< see the head of this file
  std::optional<std::pair<double, double>> interval{};  ///< see the head of this file
};

/// Compares positive, finite values. Requires: at least one of each.
SampleRatio ratio_of_samples(std::span<const double> mine, std::span<const double> others);

/// Returns the p of the U test against the alternative that mine are greater. Requires: at least
/// one of each.
double u_test_greater(std::span<const double> mine, std::span<const double> others);

/// Returns the two-sided p of the U test. Requires: at least one of each.
double u_test(std::span<const double> mine, std::span<const double> others);

}  // namespace emplace::bench
