#include <emplace/base/check.hpp>
#include <emplace/bench/holm.hpp>
#include <emplace/bench/paired_comparison.hpp>
#include <emplace/bench/significance.hpp>
#include <emplace/bench/two_samples.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace emplace::bench {
namespace {

std::vector<double> scaled(std::span<const double> times, double factor) {
  std::vector<double> result(times.begin(), times.end());
  for (double& time : result) {
    time *= factor;
  }
  return result;
}

// By how much log(longer / shorter) is above log(1 + threshold), for each pair.
std::vector<double> excesses(std::span<const double> longer, std::span<const double> shorter,
                             double threshold) {
  std::vector<double> result;
  for (std::size_t i = 0; i < longer.size(); ++i) {
    result.push_back(std::log(longer[i]) - std::log(shorter[i]) - std::log1p(threshold));
  }
  return result;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kUnsure:
      return "";
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
  }
  EMPLACE_CHECK(false, "verdict {}", static_cast<int>(verdict));
}

Verdict Significance::verdict() const {
  return p_slower <= kSignificant   ? Verdict::kSlower
         : p_faster <= kSignificant ? Verdict::kFaster
                                    : Verdict::kUnsure;
}

Significance test_samples(std::span<const double> a, std::span<const double> b, double threshold) {
  return {.p = u_test(b, a),
          .p_slower = u_test_greater(b, scaled(a, 1 + threshold)),
          .p_faster = u_test_greater(a, scaled(b, 1 + threshold))};
}

Significance test_pairs(std::span<const double> a, std::span<const double> b, double threshold) {
  EMPLACE_CHECK(a.size() == b.size(), "{} and {} times", a.size(), b.size());
  return {.p = wilcoxon_signed_rank(excesses(b, a, 0)),
          .p_slower = wilcoxon_signed_rank_positive(excesses(b, a, threshold)),
          .p_faster = wilcoxon_signed_rank_positive(excesses(a, b, threshold))};
}

void correct(std::span<Significance* const> comparisons) {
  for (double Significance::*const p :
       {&Significance::p, &Significance::p_slower, &Significance::p_faster}) {
    std::vector<double> values;
    for (const Significance* comparison : comparisons) {
      values.push_back(comparison->*p);
    }
    const std::vector<double> adjusted = holm(values);
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
      comparisons[i]->*p = adjusted[i];
    }
  }
}

Verdict verdict_of_ratio(double ratio, double threshold) {
  return ratio > 1 + threshold         ? Verdict::kSlower
         : ratio * (1 + threshold) < 1 ? Verdict::kFaster
                                       : Verdict::kUnsure;
}

}  // namespace emplace::bench
