#include <emplace/bench/rank_correlation.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace emplace::bench::rank_correlation_test {
namespace {

TEST(KendallTau, CountsPairsThatAreOrderedAlike) {
  const std::vector<double> x = {1, 2, 3, 4};
  EXPECT_EQ(kendall_tau(x, x), 1.0);
  EXPECT_EQ(kendall_tau(x, std::vector<double>{8, 6, 4, 2}), -1.0);
  // Of six pairs only (2, 3) is ordered otherwise: (5 - 1) / 6.
  EXPECT_DOUBLE_EQ(kendall_tau(x, std::vector<double>{1, 3, 2, 4}).value(), 4.0 / 6);
}

// Agresti, Analysis of Ordinal Categorical Data: tau-b = (C - D) / sqrt((C + D + Tx) (C + D + Ty)).
TEST(KendallTau, LeavesTiesOutOfTheScale) {
  // Pairs: (1, 2) tied in x only; (1, 3), (2, 3) alike.
  EXPECT_DOUBLE_EQ(kendall_tau(std::vector<double>{1, 1, 2}, std::vector<double>{1, 2, 3}).value(),
                   2 / std::sqrt(3.0 * 2.0));
}

TEST(KendallTau, SaysNothingOfTiesAlone) {
  EXPECT_FALSE(kendall_tau(std::vector<double>{1, 1}, std::vector<double>{1, 2}).has_value());
  EXPECT_FALSE(kendall_tau({}, {}).has_value());
}

}  // namespace
}  // namespace emplace::bench::rank_correlation_test
