#include "agents/src/placeto/edge_contraction.hpp"

#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace emplace::agents::placeto {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

constexpr double kAnyBalance = 1e6;

// 12 ops; each reads one or two of the three before it.
OpGraph braid() {
  std::vector<test::OpSketch> ops;
  for (OpId op = 0; op < 12; ++op) {
    test::OpSketch sketch{.name = "op_" + std::to_string(op), .cost_us = 10.0 + op % 4};
    if (op > 0) {
      sketch.producers.push_back(op - 1 - op % 2 * (op > 1 ? 1 : 0));
    }
    if (op > 2) {
      sketch.producers.push_back(op - 3);
    }
    ops.push_back(std::move(sketch));
  }
  return test::make_graph(ops);
}

std::vector<float> random_scores(const Problem& problem, RandomStream& random) {
  std::vector<float> scores;
  for (std::size_t edge = 0; edge < problem.group_edges().size(); ++edge) {
    scores.push_back(static_cast<float>(4 * random.uniform() - 2));
  }
  return scores;
}

TEST(EdgeContraction, LeavesTheTargetOfGroupsInTopologicalOrder) {
  const Problem problem = test::make_problem(braid());
  RandomStream random(1);
  for (int i = 0; i < 200; ++i) {
    const auto target = static_cast<GroupId>(1 + random.below(12));
    const double balance = 1 + 3 * random.uniform();
    const auto drawn = EdgeContraction(problem, target, balance)
                           .draw(random_scores(problem, random), i % 4 == 0 ? nullptr : &random);
    std::vector<GroupId> sorted = drawn.coarse_of;
    std::ranges::sort(sorted);
    EXPECT_EQ(sorted.front(), 0);
    EXPECT_EQ(sorted.back(), target - 1);
    EXPECT_EQ(std::unique(sorted.begin(), sorted.end()) - sorted.begin(), target);
    for (const GroupEdge& edge : problem.group_edges()) {  // so there is no cycle
      EXPECT_LE(drawn.coarse_of[edge.producer], drawn.coarse_of[edge.consumer]);
    }
  }
}

TEST(EdgeContraction, KeepsConnectedComponentsApart) {
  const Problem problem = test::make_problem(test::make_graph(
      {{.name = "a"}, {.name = "b", .producers = {0}}, {.name = "c"}, {.name = "d"}}));
  EXPECT_EQ(groups_after_contraction(problem, 1), 3);
  EXPECT_EQ(groups_after_contraction(problem, 3), 3);
  EXPECT_EQ(groups_after_contraction(problem, 4), 4);
  EXPECT_EQ(groups_after_contraction(problem, 100), 4);
  const std::vector<float> scores = {0};
  const auto drawn = EdgeContraction(problem, 1, kAnyBalance).draw(scores, nullptr);
  EXPECT_EQ(drawn.coarse_of[0], drawn.coarse_of[1]);
  EXPECT_EQ(*std::ranges::max_element(drawn.coarse_of), 2);
}

// a -> b -> c -> d with e^s of 1, 2 and 5: one contraction takes the last with 5/8.
TEST(EdgeContraction, SamplesInProportionToTheExponentials) {
  const Problem problem = test::make_problem(test::chain_graph({10, 10, 10, 10}, 5));
  const EdgeContraction contraction(problem, 3, kAnyBalance);
  const std::vector<float> scores = {0, std::log(2.0F), std::log(5.0F)};
  RandomStream random(1);
  int last = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto drawn = contraction.draw(scores, &random);
    const bool is_last = drawn.coarse_of[2] == drawn.coarse_of[3];
    last += is_last ? 1 : 0;
    EXPECT_THAT(drawn.log_probability_gradient[2], DoubleNear((is_last ? 1 : 0) - 5.0 / 8, 1e-7));
  }
  EXPECT_NEAR(last, 2500, 123);  // four standard deviations
  EXPECT_THAT(contraction.draw(scores, nullptr).coarse_of, ElementsAre(0, 1, 2, 2));
}

// Two contractions of the same chain: the first edge with 1/8 and then the second of the other two
// with 2/7 have the derivatives 1 - 1/8, 1 - 2/8 - 2/7 and -5/8 - 5/7; in the other order, with 2/8
// and then 1/6, they are 1 - 1/8 - 1/6, 1 - 2/8 and -5/8 - 5/6.
TEST(EdgeContraction, GivesTheGradientOfTheLogProbability) {
  const Problem problem = test::make_problem(test::chain_graph({10, 10, 10, 10}, 5));
  const EdgeContraction contraction(problem, 2, kAnyBalance);
  const std::vector<float> scores = {0, std::log(2.0F), std::log(5.0F)};
  RandomStream random(1);
  int first = 0;
  int other = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto drawn = contraction.draw(scores, &random);
    if (drawn.coarse_of[0] != drawn.coarse_of[2]) {
      continue;
    }
    if (drawn.log_probability_gradient[0] > 0.8) {
      ++first;
      EXPECT_THAT(drawn.log_probability_gradient,
                  ElementsAre(DoubleNear(7.0 / 8, 1e-6), DoubleNear(26.0 / 56, 1e-6),
                              DoubleNear(-75.0 / 56, 1e-6)));
    } else {
      ++other;
      EXPECT_THAT(drawn.log_probability_gradient,
                  ElementsAre(DoubleNear(17.0 / 24, 1e-6), DoubleNear(3.0 / 4, 1e-6),
                              DoubleNear(-35.0 / 24, 1e-6)));
    }
  }
  EXPECT_NEAR(first, 4000 / 28.0, 47);
  EXPECT_NEAR(other, 4000 / 24.0, 51);
}

// REINFORCE estimates the derivative of an expected reward: over samples on a graph on which
// contractions exclude one another, the mean of derivative times reward against differences of mean
// rewards.
TEST(EdgeContraction, EstimatesGradientsOfExpectations) {
  const Problem problem = test::make_problem(braid());
  const EdgeContraction contraction(problem, 8, 2);
  RandomStream random(5);
  std::vector<float> scores = random_scores(problem, random);
  const auto reward = [](const EdgeContraction::Draw& drawn) {
    return drawn.coarse_of[5] == drawn.coarse_of[6] ? 1.0 : 0.0;
  };
  constexpr int kDraws = 20'000;
  // The edge between the two, on which the reward depends.
  const auto edge = static_cast<std::size_t>(
      std::ranges::find_if(problem.group_edges(),
                           [](const GroupEdge& e) { return e.producer == 5 && e.consumer == 6; }) -
      problem.group_edges().begin());
  const auto mean = [&](float shift, bool is_gradient) {
    scores[edge] += shift;
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      const auto drawn = contraction.draw(scores, &random);
      sum += reward(drawn) * (is_gradient ? drawn.log_probability_gradient[edge] : 1);
    }
    scores[edge] -= shift;
    return sum / kDraws;
  };
  const double derivative = mean(0, true);
  const double difference = mean(0.5F, false) - mean(-0.5F, false);
  EXPECT_GT(derivative, 0.1);
  EXPECT_NEAR(derivative, difference, 0.03);
}

// The first op takes nearly all the time, so that it alone is heavier than an even share.
TEST(EdgeContraction, KeepsGroupsInBalanceWherePossible) {
  const Problem problem = test::make_problem(test::chain_graph({100, 1, 1, 1}, 5));
  RandomStream random(1);
  const std::vector<float> scores = {20, 0, 0};
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(EdgeContraction(problem, 3, 1).draw(scores, &random).coarse_of[1], 0);
    EXPECT_THAT(EdgeContraction(problem, 2, 1).draw(scores, &random).coarse_of,
                ElementsAre(0, 1, 1, 1));
    EXPECT_THAT(EdgeContraction(problem, 1, 1).draw(scores, &random).coarse_of,
                ElementsAre(0, 0, 0, 0));
  }
  EXPECT_EQ(EdgeContraction(problem, 3, kAnyBalance).draw(scores, nullptr).coarse_of[1], 0);
}

}  // namespace
}  // namespace emplace::agents::placeto
