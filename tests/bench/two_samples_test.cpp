#include <emplace/base/check.hpp>
#include <emplace/base/random.hpp>
#include <emplace/bench/two_samples.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace emplace::bench::two_samples_test {
namespace {

using Numbers = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The permeability of human chorioamnion at term and at 12 to 26 weeks, in Hollander and Wolfe,
// Nonparametric Statistical Methods, 1973, p. 69: U = 35, one-sided p = 0.1272, the estimate of the
// shift 0.305.
const Numbers kAtTerm = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
const Numbers kAtWeeks = {1.15, 0.88, 0.90, 0.74, 1.21};

Numbers exponentials(const Numbers& numbers) {
  Numbers result;
  for (const double number : numbers) {
    result.push_back(std::exp(number));
  }
  return result;
}

// Twice U: pairs in which mine is greater count 2, ties 1.
int doubled_u(const Numbers& mine, const Numbers& others) {
  int doubled = 0;
  for (const double one : mine) {
    for (const double other : others) {
      doubled += one > other ? 2 : one == other ? 1 : 0;
    }
  }
  return doubled;
}

// The one-sided p by enumeration of all ways to choose which of the values are mine.
double enumerated(const Numbers& mine, const Numbers& others) {
  Numbers all = mine;
  all.insert(all.end(), others.begin(), others.end());
  const int observed = doubled_u(mine, others);
  int ways = 0;
  int as_extreme = 0;
  for (std::uint32_t choice = 0; choice < 1U << all.size(); ++choice) {
    if (static_cast<std::size_t>(std::popcount(choice)) != mine.size()) {
      continue;
    }
    Numbers chosen;
    Numbers left;
    for (std::size_t i = 0; i < all.size(); ++i) {
      ((choice >> i & 1U) != 0 ? chosen : left).push_back(all[i]);
    }
    ++ways;
    as_extreme += doubled_u(chosen, left) >= observed ? 1 : 0;
  }
  return static_cast<double>(as_extreme) / ways;
}

TEST(UTest, GivesThePOfHollanderAndWolfe) {
  EXPECT_NEAR(u_test_greater(kAtTerm, kAtWeeks), 0.1272, 5e-5);
  EXPECT_DOUBLE_EQ(u_test(kAtTerm, kAtWeeks), 2 * u_test_greater(kAtTerm, kAtWeeks));
}

// One of the 252 ways to choose 5 of 10.
TEST(UTest, OfSeparateSamplesIsOneWay) {
  EXPECT_DOUBLE_EQ(u_test_greater(Numbers{6, 7, 8, 9, 10}, Numbers{1, 2, 3, 4, 5}), 1.0 / 252);
  EXPECT_DOUBLE_EQ(u_test_greater(Numbers{1, 2, 3, 4, 5}, Numbers{6, 7, 8, 9, 10}), 1);
  EXPECT_DOUBLE_EQ(u_test(Numbers{1, 2, 3, 4, 5}, Numbers{6, 7, 8, 9, 10}), 2.0 / 252);
}

TEST(UTest, CountsAllWaysAlsoWithTies) {
  RandomStream random(5);
  for (int trial = 0; trial < 100; ++trial) {
    Numbers mine(1 + random.below(6));
    Numbers others(1 + random.below(6));
    for (Numbers* sample : {&mine, &others}) {
      for (double& value : *sample) {
        value = static_cast<double>(random.below(5));
      }
    }
    EXPECT_NEAR(u_test_greater(mine, others), enumerated(mine, others), 1e-12);
  }
}

TEST(UTest, RanksNoTimeAtAllBehindEveryTime) {
  const Numbers times = {1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(u_test_greater(Numbers(5, kInfinity), times), 1.0 / 252);
  EXPECT_DOUBLE_EQ(u_test(Numbers(5, kInfinity), Numbers(5, kInfinity)), 1);
}

// 40 and 40 values without ties: the others' ranks are 2, 4, ..., 80 and sum up to 1640, so their
// U is 1640 - 820 = 820, above the mean of 800; the variance is 1600 * 81 / 12 = 10800.
TEST(UTest, OfManyValuesIsTheNormalApproximation) {
  Numbers mine;
  Numbers others;
  for (int i = 1; i <= 80; ++i) {
    (i % 2 == 0 ? others : mine).push_back(i);
  }
  const double z = (820 + 0.5 - 800) / std::sqrt(10'800.0);
  EXPECT_NEAR(u_test_greater(mine, others), std::erfc(-z / std::sqrt(2.0)) / 2, 1e-12);
  EXPECT_EQ(u_test(Numbers(40, 3.0), Numbers(40, 3.0)), 1);
}

// Where both can be had, they agree: 64 values are exact, 65 are not.
TEST(UTest, ExactAndApproximateAreNearEachOther) {
  Numbers mine;
  Numbers others;
  for (int i = 1; i <= 32; ++i) {
    mine.push_back(i + 4.5);
    others.push_back(i);
  }
  const double exact = u_test(mine, others);
  others.push_back(16.25);
  EXPECT_NEAR(u_test(mine, others), exact, 0.1 * exact);
}

TEST(SampleRatio, GivesTheEstimateOfHollanderAndWolfe) {
  const SampleRatio ratio = ratio_of_samples(exponentials(kAtTerm), exponentials(kAtWeeks));
  EXPECT_NEAR(std::log(ratio.ratio), 0.305, 1e-12);
}

// For 5 and 5 values, P(U <= 2) = 4 / 252 = 1.6 % and P(U <= 3) = 7 / 252 = 2.8 %, so k = 3. The 25
// ratios are 2^(i - j + 1), of which 2^-3 is the least, then 2^-2 twice; 2^5 is the largest, then
// 2^4 twice.
TEST(SampleRatio, HasTheIntervalOfTheThirdOfTwentyFiveRatios) {
  const SampleRatio ratio = ratio_of_samples(Numbers{2, 4, 8, 16, 32}, Numbers{1, 2, 4, 8, 16});
  EXPECT_NEAR(ratio.ratio, 2, 1e-12);
  ASSERT_TRUE(ratio.interval.has_value());
  EXPECT_NEAR(ratio.interval->first, 0.25, 1e-12);
  EXPECT_NEAR(ratio.interval->second, 16, 1e-12);
}

TEST(SampleRatio, OfTheSameValuesIsOne) {
  EXPECT_EQ(ratio_of_samples(Numbers{3, 5, 8, 9}, Numbers{3, 5, 8, 9}).ratio, 1);
  EXPECT_EQ(ratio_of_samples(Numbers{0.1, 0.7, 0.4}, Numbers{0.1, 0.7, 0.4}).ratio, 1);
}

// 2 of C(6, 3) = 20 choices are more than 5 %; 2 of C(8, 4) = 70 are not.
TEST(SampleRatio, HasNoIntervalWithFewerThanFourValues) {
  EXPECT_FALSE(ratio_of_samples(Numbers{1, 2, 3}, Numbers{4, 5, 6}).interval.has_value());
  const auto interval = ratio_of_samples(Numbers{1, 2, 3, 4}, Numbers{4, 5, 6, 7}).interval;
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->first, 1.0 / 7, 1e-12);
  EXPECT_NEAR(interval->second, 1, 1e-12);
}

// The interval holds 1 exactly where the two-sided test does not reject at 5 %.
TEST(SampleRatio, IntervalAndTestAgree) {
  RandomStream random(9);
  int rejected = 0;
  for (int trial = 0; trial < 300; ++trial) {
    Numbers mine;
    Numbers others;
    for (int i = 0; i < 6; ++i) {
      mine.push_back(1.5 + random.uniform());
      others.push_back(1 + random.uniform());
    }
    const auto interval = ratio_of_samples(mine, others).interval;
    ASSERT_TRUE(interval.has_value());
    const bool holds_one = interval->first <= 1 && 1 <= interval->second;
    EXPECT_EQ(holds_one, u_test(mine, others) > 0.05);
    rejected += holds_one ? 0 : 1;
  }
  EXPECT_GT(rejected, 50);
  EXPECT_LT(rejected, 250);
}

// The share of intervals that hold the true ratio, 1, is that which the exact distribution says:
// for 40 and 40 values, where it is approximate, about 95 %.
TEST(SampleRatio, OfManyValuesHoldsTheTruthInNinetyFiveOfAHundred) {
  RandomStream random(11);
  int held = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    Numbers mine;
    Numbers others;
    for (int i = 0; i < 40; ++i) {
      mine.push_back(1 + random.uniform());
      others.push_back(1 + random.uniform());
    }
    const auto interval = ratio_of_samples(mine, others).interval;
    ASSERT_TRUE(interval.has_value());
    held += interval->first <= 1 && 1 <= interval->second ? 1 : 0;
  }
  EXPECT_NEAR(held, 950, 25);
}

TEST(TwoSamples, RefuseWhatIsNoSample) {
  EXPECT_THROW(u_test(Numbers{}, Numbers{1}), InternalError);
  EXPECT_THROW(ratio_of_samples(Numbers{1}, Numbers{}), InternalError);
  EXPECT_THROW(ratio_of_samples(Numbers{0}, Numbers{1}), InternalError);
  EXPECT_THROW(ratio_of_samples(Numbers{1}, Numbers{kInfinity}), InternalError);
}

}  // namespace
}  // namespace emplace::bench::two_samples_test
