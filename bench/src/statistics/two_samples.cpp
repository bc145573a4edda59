#include "tied_ranks.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/quantiles.hpp>
#include <emplace/bench/two_samples.hpp>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/binomial.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace emplace::bench {
namespace {

constexpr double kSideTail = 0.025;  // on each side of an interval
constexpr std::size_t kMostExactPairs = 64;

// The ranks of all values together; marked are the others.
TiedRanks pooled_ranks(std::span<const double> mine, std::span<const double> others) {
  std::vector<std::pair<double, bool>> values;
  for (const double value : mine) {
    values.emplace_back(value, false);
  }
  for (const double value : others) {
    values.emplace_back(value, true);
  }
  return tied_ranks(std::move(values));
}

// For each sum up to `most`, the number of ways to choose `size` of `ranks` with that sum.
std::vector<double> ways_by_sum(const std::vector<std::int64_t>& ranks, std::size_t size,
                                std::int64_t most) {
  const auto width = static_cast<std::size_t>(most) + 1;
  std::vector<std::vector<double>> ways(size + 1, std::vector<double>(width, 0.0));
  ways[0][0] = 1;
  for (const std::int64_t rank : ranks) {
    for (std::size_t chosen = size; chosen > 0; --chosen) {
      for (auto sum = static_cast<std::size_t>(rank); sum < width; ++sum) {
        ways[chosen][sum] += ways[chosen - 1][sum - static_cast<std::size_t>(rank)];
      }
    }
  }
  return ways[size];
}

double ways_to_choose(std::size_t size, std::size_t count) {
  return boost::math::binomial_coefficient<double>(static_cast<unsigned>(count),
                                                   static_cast<unsigned>(size));
}

// The mean and the deviation of U where no values are tied but as `tie_correction` says.
struct NormalOfU {
  double mean = 0;
  double deviation = 0;
};

NormalOfU normal_of_u(std::size_t mine, std::size_t others, double tie_correction = 0) {
  const auto n = static_cast<double>(mine);
  const auto m = static_cast<double>(others);
  const double count = n + m;
  const double ties = count > 1 ? tie_correction / (count * (count - 1)) : 0;
  return {.mean = n * m / 2, .deviation = std::sqrt(n * m / 12 * (count + 1 - ties))};
}

// The largest k with P(U < k) <= kSideTail where no values are tied; 0 if there is none.
std::size_t rank_of_limit(std::size_t mine, std::size_t others) {
  if (mine + others > kMostExactPairs) {
    const auto [mean, deviation] = normal_of_u(mine, others);
    const double z = boost::math::quantile(boost::math::normal(), 1 - kSideTail);
    return static_cast<std::size_t>(std::max(0.0, std::floor(mean + 0.5 - z * deviation)));
  }
  const std::size_t count = mine + others;
  std::vector<std::int64_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 1);
  const std::size_t least_sum = mine * (mine + 1) / 2;
  const std::vector<double> ways =
      ways_by_sum(ranks, mine, static_cast<std::int64_t>(least_sum + mine * others / 2));
  const double most = kSideTail * ways_to_choose(mine, count);
  double below = 0;  // ways with U < k + 1
  std::size_t k = 0;
  while (least_sum + k < ways.size() && below + ways[least_sum + k] <= most) {
    below += ways[least_sum + k];
    ++k;
  }
  return k;
}

}  // namespace

SampleRatio ratio_of_samples(std::span<const double> mine, std::span<const double> others) {
  EMPLACE_CHECK(!mine.empty() && !others.empty(), "{} and {} values", mine.size(), others.size());
  std::vector<double> differences;
  for (const double one : mine) {
    for (const double other : others) {
      EMPLACE_CHECK(one > 0 && other > 0 && std::isfinite(one) && std::isfinite(other),
                    "values {} and {}", one, other);
      differences.push_back(std::log(one) - std::log(other));
    }
  }
  std::ranges::sort(differences);
  SampleRatio result{.ratio = std::exp(median(differences))};
  if (const std::size_t k = rank_of_limit(mine.size(), others.size()); k > 0) {
    result.interval = {std::exp(differences[k - 1]), std::exp(differences[differences.size() - k])};
  }
  return result;
}

double u_test_greater(std::span<const double> mine, std::span<const double> others) {
  EMPLACE_CHECK(!mine.empty() && !others.empty(), "{} and {} values", mine.size(), others.size());
  const TiedRanks ranks = pooled_ranks(mine, others);
  const std::size_t count = ranks.doubled.size();
  if (count <= kMostExactPairs) {
    // Mine are the greater, the less the ranks of the others sum up to.
    double ways = 0;
    for (const double of_sum :
         ways_by_sum(ranks.doubled, others.size(), ranks.doubled_sum_of_marked)) {
      ways += of_sum;
    }
    return std::min(1.0, ways / ways_to_choose(others.size(), count));
  }
  const auto m = static_cast<double>(others.size());
  const double u = static_cast<double>(ranks.doubled_sum_of_marked) / 2 - m * (m + 1) / 2;
  const auto [mean, deviation] = normal_of_u(mine.size(), others.size(), ranks.tie_correction);
  return deviation > 0 ? boost::math::cdf(boost::math::normal(), (u + 0.5 - mean) / deviation) : 1;
}

double u_test(std::span<const double> mine, std::span<const double> others) {
  return std::min(1.0, 2 * std::min(u_test_greater(mine, others), u_test_greater(others, mine)));
}

}  // namespace emplace::bench
