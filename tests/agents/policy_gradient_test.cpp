// What learned agents share: baselines, advantages, losses and schedules.

#include "agents/src/policy_gradient/advantage.hpp"
#include "agents/src/policy_gradient/baseline.hpp"
#include "agents/src/policy_gradient/categorical.hpp"
#include "agents/src/policy_gradient/policy_optimizer.hpp"
#include "agents/src/policy_gradient/schedule.hpp"
#include "support/problems.hpp"

#include <emplace/base/error.hpp>
#include <emplace/base/json_cursor.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace emplace::agents::policy_gradient::policy_gradient_test {
namespace {

TEST(MovingBaseline, AveragesCostsFromTheFirstOn) {
  MovingBaseline baseline;
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

TEST(Advantages, AreScaledToARootMeanSquareOfOne) {
  std::vector<double> advantages = {4, 0, 0, 0};
  normalize(advantages);
  EXPECT_THAT(advantages, testing::ElementsAre(2, 0, 0, 0));
  std::vector<double> zeros = {0, 0};
  normalize(zeros);
  EXPECT_THAT(zeros, testing::ElementsAre(0, 0));
}

TEST(Advantages, AreStandardDeviationsBelowTheMean) {
  EXPECT_THAT(standardized(std::vector<double>{1, 3, 1, 3}), testing::ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(standardized(std::vector<double>{2, 2}), testing::ElementsAre(0, 0));
}

TEST(Schedule, FallsLinearlyOrNotAtAll) {
  const Schedule linear = {.begin = 5, .end = 1, .share = 0.5};
  EXPECT_DOUBLE_EQ(linear.at(0), 5);
  EXPECT_DOUBLE_EQ(linear.at(0.25), 3);
  EXPECT_DOUBLE_EQ(linear.at(0.5), 1);
  EXPECT_DOUBLE_EQ(linear.at(1), 1);
  const Schedule constant = {.begin = 5, .end = 1, .decay = Decay::kNone};
  EXPECT_DOUBLE_EQ(constant.at(1), 5);
}

TEST(BudgetProgress, IsTheShareOfWhatWasLeftAtTheBeginning) {
  const Problem problem = test::make_problem(test::diamond_graph(30));
  Evaluator one(problem, {.budget = {.max_evaluations = 3}});
  Evaluator other(problem, {.budget = {.max_evaluations = 2}});
  const Placement placement(problem.num_groups(), 0);
  one.evaluate(placement);
  Evaluator* const evaluators[] = {&one, &other};
  const BudgetProgress progress(evaluators);
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

TEST(BudgetProgress, FollowsTimeWhereThatIsTheBudget) {
  const Problem problem = test::make_problem(test::diamond_graph(0));
  Evaluator evaluator(problem, {.budget = {.max_evaluations = Budget::kUnlimited,
                                           .max_time = std::chrono::milliseconds(20)}});
  Evaluator* const evaluators[] = {&evaluator};
  const BudgetProgress progress(evaluators);
  while (!evaluator.budget().exhausted()) {
    evaluator.evaluate(Placement(problem.num_groups()));
    EXPECT_GE(progress.share(), 0);
    EXPECT_LE(progress.share(), 1);
  }
  EXPECT_EQ(progress.share(), 1);
}

// The shares of 10,000 samples lie within four standard deviations of the probabilities. What
// rounding leaves goes to the last action.
TEST(Categorical, SamplesByTheProbabilitiesOrTakesTheLargest) {
  const std::vector<double> probabilities = {0.2, 0.5, 0, 0.3};
  RandomStream random(1);
  std::vector<int> counts(4, 0);
  for (int i = 0; i < 10'000; ++i) {
    ++counts[sample_action(probabilities, random)];
  }
  EXPECT_NEAR(counts[0], 2000, 4 * 40);
  EXPECT_NEAR(counts[1], 5000, 4 * 50);
  EXPECT_EQ(counts[2], 0);
  EXPECT_NEAR(counts[3], 3000, 4 * 46);
  EXPECT_EQ(greedy_action(probabilities), 1U);
  EXPECT_EQ(greedy_action(std::vector<double>{0.4, 0.4, 0.2}), 0U);
  EXPECT_EQ(sample_action(std::vector<double>{0, 0}, random), 1U);
}

// A budget of two evaluations: the learning rate falls from 0.5 to 0.1, the entropy weight from 2
// to 1 within half of the budget. While the gradient is the same, a step of Adam is the learning
// rate.
TEST(PolicyOptimizer, FollowsTheSchedulesAndClipsGradients) {
  const Problem problem = test::make_problem(test::diamond_graph(30));
  Evaluator evaluator(problem, {.budget = {.max_evaluations = 2}});
  Evaluator* const evaluators[] = {&evaluator};
  nn::Parameters<float> parameters;
  parameters.add("layer", 1, 1);  // a weight and a bias
  const LearningOptions options = {.learning_rate = 0.5,
                                   .learning_rate_end = 0.1,
                                   .max_grad_norm = 5,
                                   .entropy_weight = 2,
                                   .entropy_weight_end = 1,
                                   .entropy_decay_share = 0.5};
  PolicyOptimizer optimizer(options, parameters, evaluators);
  std::vector<float> gradient = {3, 4};
  optimizer.begin_update();
  EXPECT_EQ(optimizer.entropy_weight(), 2);
  EXPECT_EQ(optimizer.step(gradient), 5);
  optimizer.end_update();
  EXPECT_THAT(parameters.values(), testing::Each(testing::FloatNear(-0.5F, 1e-6F)));
  EXPECT_EQ(optimizer.updates(), 1);

  evaluator.evaluate(Placement(problem.num_groups()));
  optimizer.begin_update();
  EXPECT_EQ(optimizer.entropy_weight(), 1);
  gradient = {30, 40};
  EXPECT_EQ(optimizer.step(gradient), 50);
  EXPECT_THAT(parameters.values(), testing::Each(testing::FloatNear(-0.8F, 1e-6F)));

  PolicyOptimizer resumed(options, parameters,
                          evaluators);  // as if nothing of the budget were spent
  resumed.begin_update();
  EXPECT_EQ(resumed.entropy_weight(), 2);
  resumed.load(JsonDocument::parse(optimizer.to_json(), "optimizer").root());
  resumed.begin_update();
  EXPECT_EQ(resumed.entropy_weight(), 1);
  EXPECT_EQ(resumed.updates(), 1);
  EXPECT_EQ(resumed.to_json(), optimizer.to_json());
}

}  // namespace
}  // namespace emplace::agents::policy_gradient::policy_gradient_test
