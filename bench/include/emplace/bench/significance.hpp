#pragma once

// Tests whether times became longer or shorter by more than a threshold t, such as 0.02. Three
// hypotheses are tested for each comparison:
//
//     p         "nothing changed", two-sided
//     p_slower  "at most 1 + t times as long", against "longer"
//     p_faster  "at least 1 / (1 + t) times as long", against "shorter"
//
// With many comparisons, each of the three is corrected separately (holm.hpp). So if nothing is
// slower by more than the threshold, the chance that any comparison says so is at most 5 %. Samples
// that are independent are compared by the U test (two_samples.hpp), pairs by the signed-rank test
// (paired_comparison.hpp). Deterministic results need no test: the ratio decides.

#include <cstdint>
#include <span>
#include <string_view>

namespace emplace::bench {

/// The level at which p-values are significant.
inline constexpr double kSignificant = 0.05;

/// The significant result of a comparison, beyond its threshold.
enum class Verdict : std::uint8_t { kUnsure, kFaster, kSlower };

/// Returns "", "faster" or "slower".
std::string_view to_string(Verdict verdict);

/// The p-values of one comparison; see the head of this file.
struct Significance {
  double p = 1;
  double p_slower = 1;
  double p_faster = 1;

  /// Returns the verdict of the p-values.
  Verdict verdict() const;
};

/// Tests whether times `b` are longer or shorter than the independent times `a`. Infinite times, of
/// repetitions without a time, are longer than all. Requires: at least one of each.
Significance test_samples(std::span<const double> a, std::span<const double> b, double threshold);

/// Tests positive times; a[i] and b[i] are a pair. Requires: as many of each.
Significance test_pairs(std::span<const double> a, std::span<const double> b, double threshold);

/// Corrects the p-values of comparisons that are made together.
void correct(std::span<Significance* const> comparisons);

/// Returns the verdict on an exact ratio b / a.
Verdict verdict_of_ratio(double ratio, double threshold);

}  // namespace emplace::bench
