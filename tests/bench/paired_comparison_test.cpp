#include <emplace/base/check.hpp>
#include <emplace/bench/paired_comparison.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace emplace::bench::paired_comparison_test {
namespace {

using Numbers = std::vector<double>;

Numbers exponentials(const Numbers& numbers) {
  Numbers result;
  for (const double number : numbers) {
    result.push_back(std::exp(number));
  }
  return result;
}

// Darwin's heights of crossed and self-fertilized maize, in eighths of an inch: the sum of the
// ranks of the two negative differences is 24, and p is 0.0413 in every textbook.
TEST(Wilcoxon, GivesThePOfDarwinsMaize) {
  const Numbers differences = {6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75};
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(differences), 0.041259765625);
}

// Hamilton's depression scale at two visits, in Hollander and Wolfe, Nonparametric Statistical
// Methods, 1973: V = 40, one-sided p = 0.01953.
TEST(Wilcoxon, GivesThePOfHollanderAndWolfe) {
  const Numbers first = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const Numbers second = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  Numbers differences;
  for (std::size_t i = 0; i < first.size(); ++i) {
    differences.push_back(first[i] - second[i]);
  }
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(differences), 2 * 10.0 / 512);
}

// Six of one sign: 2 of 2^6 choices of signs are as far out.
TEST(Wilcoxon, OfDifferencesOfOneSignIsTwoOverTwoToTheN) {
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(Numbers{1, 2, 3, 4, 5, 6}), 2.0 / 64);
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(Numbers{-1, -2, -3, -4, -5, -6}), 2.0 / 64);
}

// Ranks are 1.5, 1.5 and 3. The negative one has 1.5; of 8 choices of signs, with sums 0, 1.5, 1.5,
// 3, 3, 4.5, 4.5 and 6, three are at most that.
TEST(Wilcoxon, GivesTiesTheirMeanRank) {
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(Numbers{1, -1, 2}), 2 * 3.0 / 8);
}

TEST(Wilcoxon, DropsWhatDoesNotDiffer) {
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(Numbers{0, 1, -1, 0, 2}), 2 * 3.0 / 8);
  EXPECT_EQ(wilcoxon_signed_rank(Numbers{0, 0}), 1);
  EXPECT_EQ(wilcoxon_signed_rank(Numbers{}), 1);
}

// Of 100 differences 1 to 100 every fourth is negative: W = 4 (1 + ... + 25) = 1300, the mean 2525
// and the variance 84587.5, so z = -(2525 - 1300 - 0.5) / 290.84 = -4.2103.
TEST(Wilcoxon, OfManyPairsIsTheNormalApproximation) {
  Numbers differences;
  for (int i = 1; i <= 100; ++i) {
    differences.push_back(i % 4 == 0 ? -i : i);
  }
  const double z = (1300 + 0.5 - 2525) / std::sqrt(84587.5);
  EXPECT_NEAR(wilcoxon_signed_rank(differences), std::erfc(-z / std::sqrt(2.0)), 1e-12);
}

// 10 of 512 choices of signs have negative ranks of at most 5, and 502 + 3 have at least that:
// three have exactly 5 (5, 1 + 4 and 2 + 3).
TEST(Wilcoxon, OneSidedCountsOneTail) {
  const Numbers differences = {0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01};
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank_positive(differences), 10.0 / 512);
  Numbers negated = differences;
  for (double& difference : negated) {
    difference = -difference;
  }
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank_positive(negated), 505.0 / 512);
  EXPECT_EQ(wilcoxon_signed_rank_positive(Numbers{0, 0}), 1);
}

// Where both can be had, they agree: 64 differences are exact, 65 are not.
TEST(Wilcoxon, ExactAndApproximateAreNearEachOther) {
  Numbers differences;
  for (int i = 1; i <= 65; ++i) {
    differences.push_back(i % 3 == 0 ? -i : i);
  }
  const double approximate = wilcoxon_signed_rank(differences);
  differences.erase(differences.begin());
  EXPECT_NEAR(wilcoxon_signed_rank(differences), approximate, 0.1 * approximate);
}

// Student's sleep data (1908): the additional hours of sleep by two drugs, as in R's help of
// t.test: mean difference -1.58, 95 % interval -2.4598858 to -0.7001142.
TEST(PairedComparison, GivesTheIntervalOfStudentsSleepData) {
  const Numbers first = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const Numbers second = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  const PairedComparison sleep = compare_pairs(exponentials(first), exponentials(second));
  EXPECT_EQ(sleep.pairs, 10);
  EXPECT_EQ(sleep.less, 9);
  EXPECT_EQ(sleep.greater, 0);
  EXPECT_NEAR(std::log(sleep.ratio), -1.58, 1e-12);
  ASSERT_TRUE(sleep.interval.has_value());
  EXPECT_NEAR(std::log(sleep.interval->first), -2.4598858, 5e-8);
  EXPECT_NEAR(std::log(sleep.interval->second), -0.7001142, 5e-8);
}

// Ops may cost nothing.
TEST(PairedComparison, TakesTimesOfZeroAsVeryShort) {
  const PairedComparison nothing = compare_pairs(Numbers{0, 0}, Numbers{0, 5e-324});
  EXPECT_EQ(nothing.ratio, 1);
  EXPECT_EQ(nothing.less + nothing.greater, 0);
  const PairedComparison faster = compare_pairs(Numbers{0}, Numbers{100});
  EXPECT_NEAR(faster.ratio, 1e-8, 1e-16);
  EXPECT_EQ(faster.less, 1);
  EXPECT_EQ(time_ratio(0, 0), 1);
  EXPECT_EQ(time_ratio(3, 2), 1.5);
}

TEST(PairedComparison, OfTheSameTimesFindsNothing) {
  const PairedComparison same = compare_pairs(Numbers{3, 5}, Numbers{3, 5});
  EXPECT_EQ(same.ratio, 1);
  EXPECT_EQ(same.p, 1);
  EXPECT_EQ(same.less + same.greater, 0);
}

TEST(PairedComparison, OfOnePairHasNoInterval) {
  const PairedComparison one = compare_pairs(Numbers{2}, Numbers{1});
  EXPECT_DOUBLE_EQ(one.ratio, 2);
  EXPECT_FALSE(one.interval.has_value());
  EXPECT_EQ(one.p, 1);
}

TEST(PairedComparison, OfTwoPairsHasBothRatiosAndNoInterval) {
  const PairedComparison two = compare_pairs(Numbers{6, 2}, Numbers{2, 4});
  EXPECT_FALSE(two.interval.has_value());
  EXPECT_DOUBLE_EQ(two.range.first, 0.5);
  EXPECT_DOUBLE_EQ(two.range.second, 3);
  EXPECT_TRUE(compare_pairs(Numbers{6, 2, 3}, Numbers{2, 4, 3}).interval.has_value());
}

TEST(PairedComparison, RefusesWhatIsNoPair) {
  EXPECT_THROW(compare_pairs(Numbers{1, 2}, Numbers{1}), InternalError);
  EXPECT_THROW(compare_pairs(Numbers{-1}, Numbers{1}), InternalError);
}

}  // namespace
}  // namespace emplace::bench::paired_comparison_test
