#include "agents/placing.hpp"
#include "agents/src/post/policy.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <cmath>
#include <vector>

namespace emplace::agents::post_test {
namespace {

using post::CategoricalPolicy;
using post::Choices;
using testing::DoubleNear;
using testing::ElementsAre;

TEST(PostPolicy, StartsWithEqualProbabilitiesAndDrawsByThem) {
  CategoricalPolicy policy(2, 3);
  EXPECT_THAT(policy.probabilities(1), ElementsAre(1.0 / 3, 1.0 / 3, 1.0 / 3));
  policy.minimize_cross_entropy(std::vector<Choices>{{0, 2}, {0, 1}, {0, 2}, {0, 2}}, 0);
  RandomStream random(1);
  int on_last = 0;
  for (int i = 0; i < 4000; ++i) {
    const Choices choices = policy.sample(random);
    EXPECT_EQ(choices[0], 0);
    EXPECT_NE(choices[1], 0);
    on_last += choices[1] == 2 ? 1 : 0;
  }
  EXPECT_NEAR(on_last, 3000, 110);  // four standard deviations
}

// Group 0 is on device 1 in three of four, group 1 in one of four; a tenth of it all is uniform.
TEST(PostPolicy, MinimizesCrossEntropyByTheSharesOfTheElite) {
  CategoricalPolicy policy(2, 2);
  policy.minimize_cross_entropy(std::vector<Choices>{{1, 0}, {1, 0}, {0, 0}, {1, 1}}, 0.1);
  EXPECT_THAT(policy.probabilities(0),
              ElementsAre(DoubleNear(0.9 / 4 + 0.05, 1e-15), DoubleNear(2.7 / 4 + 0.05, 1e-15)));
  EXPECT_THAT(policy.probabilities(1),
              ElementsAre(DoubleNear(2.7 / 4 + 0.05, 1e-15), DoubleNear(0.9 / 4 + 0.05, 1e-15)));
}

// Of two samples the one on device 0 was better by 2, so S = (1, -1). From p = (1/2, 1/2) the first
// step moves the logits by rate * p (S - 0) = (1/2, -1/2), where p_0 = 1 / (1 + e^-1) = 0.73106.
// The mean of S is then 2 p_0 - 1 = 0.46212, and the second step, held back by the penalty 1/2,
// moves the first logit by 0.73106 (1 - 0.46212) + (0.5 - 0.73106) / 2 = 0.27770, the second by the
// opposite: p_0 = 1 / (1 + e^-1.55539).
TEST(PostPolicy, MakesTheStepsOfProximalOptimizationThatAreMadeByHand) {
  const std::vector<Choices> samples = {{0}, {1}};
  const std::vector<double> advantages = {1, -1};
  CategoricalPolicy once(1, 2);
  once.optimize_proximally(samples, advantages,
                           {.steps = 1, .learning_rate = 1, .kl_penalty = 0.5});
  EXPECT_NEAR(once.probabilities(0)[0], 1 / (1 + std::exp(-1.0)), 1e-12);
  CategoricalPolicy twice(1, 2);
  twice.optimize_proximally(samples, advantages,
                            {.steps = 2, .learning_rate = 1, .kl_penalty = 0.5});
  EXPECT_NEAR(twice.probabilities(0)[0], 1 / (1 + std::exp(-1.55539)), 1e-5);
}

// A step is the derivative of the objective that the header tells, by differences.
TEST(PostPolicy, ClimbsTheProximalObjective) {
  const std::vector<Choices> samples = {{0, 2}, {1, 1}, {0, 0}, {2, 1}, {0, 2}};
  const std::vector<double> advantages = {0.5, -1.2, 2, 0.3, -0.7};
  constexpr double kPenalty = 0.8;
  const std::vector<std::vector<double>> q = {{0.5, 0.25, 0.25}, {0.25, 0.25, 0.5}};
  const std::vector<Choices> elite = {{0, 0}, {0, 1}, {1, 2}, {2, 2}};
  const auto softmax = [](const std::vector<double>& u) {
    std::vector<double> p;
    for (const double logit : u) {
      p.push_back(std::exp(logit) / (std::exp(u[0]) + std::exp(u[1]) + std::exp(u[2])));
    }
    return p;
  };
  const auto objective = [&](std::size_t group, const std::vector<double>& u) {
    const std::vector<double> p = softmax(u);
    double sum = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const auto device = static_cast<std::size_t>(samples[i][group]);
      sum += advantages[i] * p[device] / q[group][device] / 5;
    }
    for (std::size_t device = 0; device < 3; ++device) {
      sum -= kPenalty * q[group][device] * std::log(q[group][device] / p[device]);
    }
    return sum;
  };
  // One step away from q, so that the penalty pulls; its second step is compared.
  CategoricalPolicy one(2, 3);
  CategoricalPolicy two(2, 3);
  one.minimize_cross_entropy(elite, 0);
  two.minimize_cross_entropy(elite, 0);
  constexpr double kRate = 0.5;
  one.optimize_proximally(samples, advantages,
                          {.steps = 1, .learning_rate = kRate, .kl_penalty = kPenalty});
  two.optimize_proximally(samples, advantages,
                          {.steps = 2, .learning_rate = kRate, .kl_penalty = kPenalty});
  for (const std::size_t group : {0U, 1U}) {
    std::vector<double> u;
    for (const double p : one.probabilities(group)) {
      u.push_back(std::log(p));
    }
    std::vector<double> moved = u;
    for (std::size_t device = 0; device < 3; ++device) {
      std::vector<double> above = u;
      std::vector<double> below = u;
      above[device] += 1e-6;
      below[device] -= 1e-6;
      moved[device] += kRate * (objective(group, above) - objective(group, below)) / 2e-6;
    }
    const std::vector<double> expected = softmax(moved);
    for (std::size_t device = 0; device < 3; ++device) {
      EXPECT_NEAR(two.probabilities(group)[device], expected[device], 1e-8);
    }
  }
}

TEST(Post, FindsTheOptimumOfSmallProblems) {
  for (const std::int64_t bytes : {0, 30, 90, 2000}) {
    for (const DeviceId devices : {2, 3}) {
      const Problem problem =
          test::make_problem(test::fork_join_graph(6, bytes), {.num_devices = devices});
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        SCOPED_TRACE(testing::Message() << bytes << " bytes, seed " << seed);
        Evaluator evaluator(problem, {.seed = seed, .budget = {.max_evaluations = 2000}});
        AgentRegistry::global().make({"post", {}})->place(problem, evaluator);
        EXPECT_DOUBLE_EQ(evaluator.incumbent().evaluation().step_time_us,
                         test::optimum_us(problem));
      }
    }
  }
}

// What it learns, beyond what it meets: with either rule alone, of 30 independent branches far more
// are spread evenly than the best of as many random placements spreads.
TEST(Post, LearnsWithEitherRuleMoreThanRandomPlacementsFind) {
  const Problem problem = test::make_problem(test::fork_join_graph(30, 1000));
  const auto best_us = [&](const char* agent) {
    Evaluator evaluator(problem, {.seed = 4, .budget = {.max_evaluations = 3000}});
    AgentRegistry::global().make(Spec::parse(agent))->place(problem, evaluator);
    EXPECT_EQ(evaluator.budget().evaluations(), 3000);
    return evaluator.incumbent().evaluation().step_time_us;
  };
  const double random_us = best_us("random");
  EXPECT_LT(best_us("post"), 0.8 * random_us);
  EXPECT_LT(best_us("post:ppo-steps=0"), 0.8 * random_us);
  EXPECT_LT(best_us("post:cross-entropy-every=10000"), 0.8 * random_us);
}

TEST(Post, DrawsTheSamePlacementsOnOneAndTwoThreads) {
  const Problem problem = test::make_problem(test::fork_join_graph(40, 20), {.num_devices = 3});
  const auto end = [&](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    Evaluator evaluator(problem, {.seed = 4, .budget = {.max_evaluations = 1500}});
    AgentRegistry::global().make({"post", {}})->place(problem, evaluator);
    return evaluator.state();
  };
  const Evaluator::State alone = end(1);
  const Evaluator::State both = end(2);
  EXPECT_EQ(both.random, alone.random);
  EXPECT_EQ(both.best_placement, alone.best_placement);
  EXPECT_EQ(both.evaluations_to_best, alone.evaluations_to_best);
}

TEST(Post, FindsAPlacementThatFits) {
  const Problem problem = ten_weights();
  const Placement placement(
      place("post", problem, {.seed = 3, .budget = {.max_evaluations = 1000}}));
  EXPECT_EQ(Simulator(problem).run(placement).status, StepStatus::kOk);
}

}  // namespace
}  // namespace emplace::agents::post_test
