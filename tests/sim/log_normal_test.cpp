#include "sim/src/log_normal.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/op_graph.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace emplace::log_normal_test {
namespace {

// The moments of n standard normal numbers are 0, 1, 0 and 3, give or take 5 standard errors:
// the variances of x, x^2, x^3 and x^4 are 1, 2, 15 and 96.
TEST(LogNormal, NormalsHaveTheMomentsOfTheStandardNormalDistribution) {
  constexpr std::size_t kCount = 100'001;  // odd: the last has no partner
  RandomStream random(1);
  std::vector<double> normals(kCount);
  draw_normals(random, normals);
  const double expected[] = {0, 1, 0, 3};
  const double variances[] = {1, 2, 15, 96};
  for (int power = 1; power <= 4; ++power) {
    double sum = 0;
    for (const double normal : normals) {
      sum += std::pow(normal, power);
    }
    const double error = std::sqrt(variances[power - 1] / kCount);
    EXPECT_NEAR(sum / kCount, expected[power - 1], 5 * error) << "power " << power;
  }
}

// The same formulas, written once more in Python with its own logarithm, give these bits.
TEST(LogNormal, DrawsAreTheseOnEveryMachine) {
  RandomStream random(2026);
  std::vector<double> normals(3);
  draw_normals(random, normals);
  EXPECT_EQ(normals[0], 0x1.244ed0b15c929p-1);
  EXPECT_EQ(normals[1], -0x1.accce762a2601p+0);
  EXPECT_EQ(normals[2], 0x1.2e9e7869e404bp-1);
  EXPECT_EQ(LogNormal(0.1).factor(normals[0]), 0x1.0da84163719bdp+0);
}

// ln F = ln(1.25) / 2 * (2 z sqrt(ln(1.25)) / ln(1.25) - 1) for a standard deviation of 1/2; the
// median is 1 / sqrt(1.25), and one standard deviation of the logarithm is a factor of
// exp(sqrt(ln(1.25))).
TEST(LogNormal, MedianAndScaleFollowFromMeanOneAndTheStandardDeviation) {
  const LogNormal half(0.5);
  EXPECT_DOUBLE_EQ(half.factor(0), 1 / std::sqrt(1.25));
  EXPECT_DOUBLE_EQ(half.factor(1) / half.factor(0), std::exp(std::sqrt(std::log(1.25))));
  EXPECT_DOUBLE_EQ(half.factor(1) * half.factor(-1), 1 / 1.25);
}

TEST(LogNormal, WithoutAStandardDeviationEveryFactorIsExactlyOne) {
  EXPECT_EQ(LogNormal(0).factor(-3), 1);
  EXPECT_EQ(LogNormal(0).factor(7), 1);
}

// Expected costs add up to 2^53 us at most, so two sums of drawn ones are less than 2^63 us.
TEST(LogNormal, FactorsOfTheLargestSpreadStayBetweenZeroAnd512) {
  EXPECT_GT(LogNormal(kMaxRelativeDeviation).factor(-7), 0);
  EXPECT_LT(LogNormal(kMaxRelativeDeviation).factor(7), 512);
}

}  // namespace
}  // namespace emplace::log_normal_test
