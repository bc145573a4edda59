#pragma once

// Compares the step times of two agents over many graphs. The two times on one graph are a pair,
// and pairs are compared by their ratio, because graphs differ in size.
//
//     ratio    = geometric mean of (mine / other), that is exp of the mean difference of logarithms
//     interval = exp(mean -+ t(0.975, n - 1) s / sqrt(n)), s the deviation of these differences:
//                the ratio's 95 % confidence interval by Student's paired t; two pairs have none,
//                because from one degree of freedom it says less than the two ratios themselves
//     p        = of Wilcoxon's signed-rank test (1945), two-sided, on these differences
//
// Both assume that graphs are drawn independently, as members of a family are. The interval also
// assumes that the differences are about normal. The test assumes only that they are symmetric
// about their median; its null hypothesis is that this median is 0. The test drops differences of
// 0, as Wilcoxon did. Up to 64 pairs, p is exact, with mean ranks for ties: 2^-n times the number
// of sign assignments that are at least as extreme. Beyond 64 it comes from the normal
// approximation, with corrections for ties and continuity.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace emplace::bench {

/// Compares two agents over the same graphs.
struct PairedComparison {
  std::int64_t pairs = 0;
  std::int64_t less = 0;                              ///< pairs in which mine is less
  std::int64_t greater = 0;                           ///< pairs in which mine is greater
  double ratio = 1;                                   ///< see the head of this file
  std::optional<std::pair<double, double>> interval;  ///< of the ratio, from three pairs on
  std::pair<double, double> range{1, 1};              ///< the least and largest ratio of a pair
  double p = 1;                                       ///< see the head of this file
};

/// Returns the time, or a picosecond if it is less: ops may cost nothing, and ratios need positive
/// times.
double positive_time(double us);

/// Returns the ratio of positive_time() of both.
double time_ratio(double mine_us, double other_us);

/// Compares positive_time() of times; mine[i] and others[i] are a pair. Requires: as many of each,
/// at least one.
PairedComparison compare_pairs(std::span<const double> mine, std::span<const double> others);

/// Returns the two-sided p of Wilcoxon's signed-rank test; 1 where all differences are 0.
double wilcoxon_signed_rank(std::span<const double> differences);

/// Returns the p of that test against the alternative that differences are positive; 1 where all
/// are 0.
double wilcoxon_signed_rank_positive(std::span<const double> differences);

}  // namespace emplace::bench
