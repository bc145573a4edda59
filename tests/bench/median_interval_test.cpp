#include <emplace/base/quantiles.hpp>
#include <emplace/base/random.hpp>
#include <emplace/bench/median_interval.hpp>

#include <gtest/gtest.h>

#include <numeric>

namespace emplace::bench::median_interval_test {
namespace {

// n values 1, 2, ... n in falling order.
std::vector<double> values(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.rbegin(), values.rend(), 1.0);
  return values;
}

using Interval = std::pair<double, double>;

// P(B(n, 1/2) < k) by hand: 1/16 for n = 4 and k = 1; 1/32 for 5; 9/256 for 8 and k = 2; 56/1024
// for 10 and k = 3, which is too much, and 11/1024 for k = 2.
TEST(MedianInterval, IsFromTheTablesOfTheBinomialDistribution) {
  EXPECT_EQ(median_interval({}), std::nullopt);
  EXPECT_EQ(median_interval(values(1)), std::nullopt);
  EXPECT_EQ(median_interval(values(4)), std::nullopt);
  EXPECT_EQ(median_interval(values(5)), Interval(1, 5));
  EXPECT_EQ(median_interval(values(8)), Interval(2, 7));
  EXPECT_EQ(median_interval(values(10)), Interval(2, 9));
}

// Of 2,000 samples of seven numbers from 0 to 1, 98.4 % (1 - 2 / 2^7) should cover 0.5.
TEST(MedianInterval, CoversTheMedianAsOftenAsItSays) {
  RandomStream random(7);
  int covered = 0;
  for (int sample = 0; sample < 2000; ++sample) {
    std::vector<double> numbers(7);
    for (double& number : numbers) {
      number = random.uniform();
    }
    const Interval interval = median_interval(numbers).value();
    EXPECT_LE(interval.first, median(numbers));
    EXPECT_GE(interval.second, median(numbers));
    covered += interval.first <= 0.5 && 0.5 <= interval.second ? 1 : 0;
  }
  EXPECT_NEAR(covered / 2000.0, 1 - 2.0 / 128, 0.01);
}

}  // namespace
}  // namespace emplace::bench::median_interval_test
