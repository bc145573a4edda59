// What learned agents share: baselines, advantages, losses and schedules.

#include "agents/src/policy_gradient/advantage.hpp"
#include "agents/src/policy_gradient/baseline.hpp"
#include "agents/src/policy_gradient/loss.hpp"
#include "agents/src/policy_gradient/schedule.hpp"
#include "support/problems.hpp"

#include <emplace/graphs/error.hpp>
#include <emplace/graphs/json_cursor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace emplace::agents::policy_gradient {
namespace {

TEST(MovingBaseline, AveragesCostsFromTheFirstOn) {
  MovingBaseline baseline(0.9);
  EXPECT_EQ(baseline.to_json(), "[]");
  EXPECT_DOUBLE_EQ(baseline.before(4), 4);
  EXPECT_DOUBLE_EQ(baseline.before(2), 4);
  EXPECT_DOUBLE_EQ(baseline.before(1), 3.8);
  EXPECT_DOUBLE_EQ(baseline.before(0), 3.52);
}

// Two workers, two steps, a mean over two episodes.
TEST(StepBaseline, IsTheMeanOfTheLastEpisodesStepByStep) {
  StepBaseline baseline(2);
  std::vector<double> first = {1, 3, 10, 20};
  baseline.subtract_from(first, 2);
  EXPECT_THAT(first, testing::ElementsAre(-1, 1, -5, 5));
  std::vector<double> second = {6, 6, 35, 35};
  baseline.subtract_from(second, 2);
  EXPECT_THAT(second, testing::ElementsAre(2, 2, 10, 10));  // off (2 + 6) / 2 and (15 + 35) / 2
  std::vector<double> third = {0, 0, 0, 0};
  baseline.subtract_from(third, 2);
  EXPECT_THAT(third, testing::ElementsAre(-3, -3, -17.5, -17.5));  // the first is forgotten
  StepBaseline none(0);
  none.subtract_from(second, 2);
  EXPECT_THAT(second, testing::ElementsAre(2, 2, 10, 10));
}

// Below the mean of those before, in standard deviations that include this one: (5 - 3) / sqrt(4 /
// 2), then (4 - 7) / sqrt((1 + 1 + 9) / 3).
TEST(StandardizingBaseline, ComparesACostWithTheLastOnes) {
  StandardizingBaseline baseline;
  EXPECT_EQ(baseline.advantage(5), 0);
  EXPECT_DOUBLE_EQ(baseline.advantage(3), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(baseline.advantage(7), -3 / std::sqrt(11.0 / 3));
  StandardizingBaseline same;
  same.load(JsonDocument::parse(baseline.to_json(), "baseline").root());
  EXPECT_EQ(same.advantage(1), baseline.advantage(1));
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(baseline.advantage(2) > 0, i < 19) << i;  // by then 5, 3 and 7 are forgotten
  }
  EXPECT_THROW(same.load(JsonDocument::parse("[1, \"2\"]", "baseline").root()), Error);
}

// Root mean squares before are 2, and 2 around the means 1 and 5.
TEST(Advantages, AreScaledToARootMeanSquareOfOne) {
  std::vector<double> advantages = {4, 0, 0, 0};
  normalize(advantages, {});
  EXPECT_THAT(advantages, testing::ElementsAre(2, 0, 0, 0));
  std::vector<double> later = {4, 8};
  std::vector<float> action_values = {3, -1, 3, 7};
  normalize(later, action_values);
  EXPECT_THAT(later, testing::ElementsAre(2, 4));
  EXPECT_THAT(action_values, testing::ElementsAre(1.5F, -0.5F, 1.5F, 3.5F));
  std::vector<double> zeros = {0, 0};
  normalize(zeros, {});
  EXPECT_THAT(zeros, testing::ElementsAre(0, 0));
}

TEST(Advantages, AreStandardDeviationsBelowTheMean) {
  EXPECT_THAT(standardized(std::vector<double>{1, 3, 1, 3}), testing::ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(standardized(std::vector<double>{2, 2}), testing::ElementsAre(0, 0));
}

// Against differences of the loss itself, as Schulman et al. write it.
TEST(Loss, HasTheDerivativeOfTheClippedSurrogate) {
  constexpr double kStep = 1e-6;
  constexpr double kClip = 0.2;
  for (const double advantage : {2.0, -3.0}) {
    const auto loss = [&](double log_ratio) {
      const double ratio = std::exp(log_ratio);
      return -std::min(ratio * advantage, std::clamp(ratio, 1 - kClip, 1 + kClip) * advantage);
    };
    for (const double log_ratio : {-0.5, -0.1, 0.0, 0.1, 0.5}) {
      EXPECT_NEAR(ppo_derivative(advantage, log_ratio, kClip),
                  (loss(log_ratio + kStep) - loss(log_ratio - kStep)) / (2 * kStep), 1e-6);
    }
    EXPECT_EQ(ppo_derivative(advantage, 0, kClip), reinforce_derivative(advantage));
  }
}

TEST(Schedule, FallsLinearlyExponentiallyOrNotAtAll) {
  const Schedule linear = {.begin = 5, .end = 1, .share = 0.5};
  EXPECT_DOUBLE_EQ(linear.at(0, 0), 5);
  EXPECT_DOUBLE_EQ(linear.at(0.25, 0), 3);
  EXPECT_DOUBLE_EQ(linear.at(0.5, 0), 1);
  EXPECT_DOUBLE_EQ(linear.at(1, 0), 1);
  const Schedule exponential = {.begin = 5, .end = 4.6, .decay = Decay::kExponential};
  EXPECT_DOUBLE_EQ(exponential.at(0.9, 99), 5);
  EXPECT_DOUBLE_EQ(exponential.at(0.9, 100), 4.75);
  EXPECT_DOUBLE_EQ(exponential.at(0.9, 200), 4.6);
  const Schedule constant = {.begin = 5, .end = 1, .decay = Decay::kNone};
  EXPECT_DOUBLE_EQ(constant.at(1, 1000), 5);
}

TEST(BudgetProgress, IsTheShareOfWhatWasLeftAtTheBeginning) {
  const Problem problem = test::make_problem(test::diamond_graph(30));
  Session one(problem, {.max_evaluations = 3});
  Session other(problem, {.max_evaluations = 2});
  const Placement placement(problem.num_groups(), 0);
  one.evaluate(placement);
  Session* const sessions[] = {&one, &other};
  const BudgetProgress progress(sessions);
  EXPECT_EQ(progress.evaluations_before(), 1);
  EXPECT_EQ(progress.share(), 0);
  other.evaluate(placement);
  EXPECT_DOUBLE_EQ(progress.share(), 0.25);
  for (int i = 0; i < 2; ++i) {
    one.evaluate(placement);
  }
  other.evaluate(placement);
  EXPECT_EQ(progress.share(), 1);
}

}  // namespace
}  // namespace emplace::agents::policy_gradient
