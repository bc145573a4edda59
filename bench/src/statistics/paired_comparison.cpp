#include "tied_ranks.hpp"

#include <emplace/base/check.hpp>
#include <emplace/bench/paired_comparison.hpp>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace emplace::bench {
namespace {

constexpr double kConfidence = 0.95;
constexpr std::size_t kMostExact = 64;
constexpr std::size_t kFewestForInterval = 3;
constexpr double kShortestUs = 1e-6;

// The ranks of the absolute differences but 0; marked are the positive ones.
TiedRanks signed_ranks(std::span<const double> differences) {
  std::vector<std::pair<double, bool>> values;
  for (const double difference : differences) {
    EMPLACE_CHECK(!std::isnan(difference), "a difference that is no number");
    if (difference != 0) {
      values.emplace_back(std::abs(difference), difference > 0);
    }
  }
  return tied_ranks(std::move(values));
}

// The share of all sign assignments whose sum of positive ranks is at most `most`.
double share_of_signs(const std::vector<std::int64_t>& doubled_ranks, std::int64_t most) {
  std::vector<double> shares(static_cast<std::size_t>(most) + 1, 0.0);  // by sum so far
  shares[0] = 1;
  for (const std::int64_t rank : doubled_ranks) {
    for (std::int64_t sum = most; sum >= 0; --sum) {
      const auto at = static_cast<std::size_t>(sum);
      const double with = sum >= rank ? shares[static_cast<std::size_t>(sum - rank)] : 0;
      shares[at] = (shares[at] + with) / 2;
    }
  }
  double share = 0;
  for (const double part : shares) {
    share += part;
  }
  return share;
}

}  // namespace

double wilcoxon_signed_rank_positive(std::span<const double> differences) {
  const TiedRanks ranks = signed_ranks(differences);
  const std::size_t count = ranks.doubled.size();
  if (count == 0) {
    return 1;
  }
  const std::int64_t total = static_cast<std::int64_t>(count * (count + 1));  // doubled
  const std::int64_t sum_of_negative = total - ranks.doubled_sum_of_marked;
  if (count <= kMostExact) {
    return share_of_signs(ranks.doubled, sum_of_negative);
  }
  const auto n = static_cast<double>(count);
  const double mean = n * (n + 1) / 4;
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - ranks.tie_correction / 48;
  const double above = static_cast<double>(sum_of_negative) / 2 + 0.5 - mean;
  return boost::math::cdf(boost::math::normal(), above / std::sqrt(variance));
}

double wilcoxon_signed_rank(std::span<const double> differences) {
  std::vector<double> negated(differences.begin(), differences.end());
  for (double& difference : negated) {
    difference = -difference;
  }
  return std::min(1.0, 2 * std::min(wilcoxon_signed_rank_positive(differences),
                                    wilcoxon_signed_rank_positive(negated)));
}

double positive_time(double us) { return std::max(us, kShortestUs); }

double time_ratio(double mine_us, double other_us) {
  return positive_time(mine_us) / positive_time(other_us);
}

PairedComparison compare_pairs(std::span<const double> mine, std::span<const double> others) {
  EMPLACE_CHECK(!mine.empty() && mine.size() == others.size(), "{} and {} times", mine.size(),
                others.size());
  PairedComparison comparison{.pairs = static_cast<std::int64_t>(mine.size()), .interval = {}};
  std::vector<double> differences;
  double sum = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    EMPLACE_CHECK(mine[i] >= 0 && others[i] >= 0, "times {} and {}", mine[i], others[i]);
    const double one = positive_time(mine[i]);
    const double other = positive_time(others[i]);
    differences.push_back(std::log(one) - std::log(other));
    sum += differences.back();
    comparison.less += one < other ? 1 : 0;
    comparison.greater += one > other ? 1 : 0;
  }
  const auto n = static_cast<double>(differences.size());
  const double mean = sum / n;
  comparison.ratio = std::exp(mean);
  const auto [least, largest] = std::ranges::minmax(differences);
  comparison.range = {std::exp(least), std::exp(largest)};
  if (differences.size() >= kFewestForInterval) {
    double squares = 0;
    for (const double difference : differences) {
      squares += (difference - mean) * (difference - mean);
    }
    const double error = std::sqrt(squares / (n - 1) / n);
    const double t = boost::math::quantile(boost::math::students_t(n - 1), (1 + kConfidence) / 2);
    comparison.interval = {std::exp(mean - t * error), std::exp(mean + t * error)};
  }
  comparison.p = wilcoxon_signed_rank(differences);
  return comparison;
}

}  // namespace emplace::bench
