#include <emplace/bench/median_interval.hpp>

#include <boost/math/distributions/binomial.hpp>

#include <algorithm>

namespace emplace::bench {

std::optional<std::pair<double, double>> median_interval(std::vector<double> values) {
  const auto n = static_cast<double>(values.size());
  const boost::math::binomial below_median(n, 0.5);
  std::size_t k = 0;
  while (k < values.size() / 2 &&
         boost::math::cdf(below_median, static_cast<double>(k)) <= (1 - kMedianCoverage) / 2) {
    ++k;
  }
  if (k == 0) {
    return std::nullopt;
  }
  std::ranges::sort(values);
  return std::pair(values[k - 1], values[values.size() - k]);
}

}  // namespace emplace::bench
