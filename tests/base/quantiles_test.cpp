#include <emplace/base/quantiles.hpp>

#include <gtest/gtest.h>

namespace emplace::quantiles_test {
namespace {

TEST(Quantiles, MedianOfAnEvenCountIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median({5}), 5);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({9, 1, 6, 5}), 5.5);
  EXPECT_EQ(median({1.5e308, 1.7e308}), 1.6e308) << "no overflow";
}

TEST(Quantiles, UpperMedianIsAValueThatOccurs) {
  EXPECT_EQ(upper_median({9, 1, 5}), 5);
  EXPECT_EQ(upper_median({9, 1, 6, 5}), 6);
}

TEST(Quantiles, NearestRankCountsFromTheLeast) {
  const std::vector<double> twenty{1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                   11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  EXPECT_EQ(nearest_rank(twenty, 5), 1);
  EXPECT_EQ(nearest_rank(twenty, 6), 2);
  EXPECT_EQ(nearest_rank(twenty, 50), 10);
  EXPECT_EQ(nearest_rank(twenty, 100), 20);
  EXPECT_EQ(nearest_rank(std::vector<double>{7}, 1), 7);
}

}  // namespace
}  // namespace emplace::quantiles_test
