#include "agents/src/placeto/grouper.hpp"
#include "support/problems.hpp"

#include <emplace/graphs/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace emplace::agents::placeto {
namespace {

using testing::ElementsAre;

// a(20) -> b(10), c(40) -> d(30), and 30 bytes on each edge at one byte in a microsecond.
Problem diamond() {
  return test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 20, .output_bytes = 30},
                        {.name = "b", .cost_us = 10, .output_bytes = 30, .producers = {0}},
                        {.name = "c", .cost_us = 40, .output_bytes = 30, .producers = {0}},
                        {.name = "d", .cost_us = 30, .producers = {1, 2}}}));
}

TEST(PlacetoGrouper, ReadsTheFeaturesOfEdges) {
  const Problem problem = diamond();
  EdgeFeatures edges(problem);
  EXPECT_EQ(edges.producers.rows(), 4U);
  EXPECT_EQ(edges.producers.of_row(3)[0].row, 2);
  EXPECT_EQ(edges.consumers.of_row(3)[0].row, 3);
  // a -> b: a transfer of 30 us beside 20 us and 10 us; a has another consumer, b no other
  // producer.
  EXPECT_THAT(std::vector<float>(edges.values.begin(), edges.values.begin() + 5),
              ElementsAre(0.5F, 0, 1, 1, 0));
  // c -> d: beside 40 us and 30 us; d has another producer.
  EXPECT_THAT(std::vector<float>(edges.values.end() - 5, edges.values.end()),
              ElementsAre(0.3F, 1, 0, 1, 0));
  edges.set_start(problem, Placement(std::vector<DeviceId>{0, 0, 1, 0}));
  EXPECT_EQ(edges.values[4], 1);
  EXPECT_EQ(edges.values[9], 0);
}

TEST(PlacetoGrouper, HasTheGradientOfItsDifferences) {
  const Problem problem = diamond();
  const Graph graph(problem);
  const EdgeFeatures edges(problem);
  Grouper<double> grouper;
  RandomStream random(3);
  grouper.parameters().initialize(random);
  for (double& value : grouper.parameters().values()) {
    value += 0.02 * random.uniform();  // biases too, so that no ReLU stands at its kink
  }
  nn::Tape<double> tape(grouper.parameters());
  const std::vector<double> weights = {1, -2, 0.5, 3};
  const auto loss = [&] {
    tape.clear();
    const nn::MatrixView<double> scores = tape.value(grouper.scores(tape, graph, edges));
    double sum = 0;
    for (std::size_t edge = 0; edge < 4; ++edge) {
      sum += weights[edge] * scores(edge, 0);
    }
    return sum;
  };
  const nn::MatrixView<double> seed = tape.seed(grouper.scores(tape, graph, edges));
  for (std::size_t edge = 0; edge < 4; ++edge) {
    seed(edge, 0) = weights[edge];
  }
  std::vector<double> gradient(grouper.parameters().values().size());
  tape.backward(gradient);
  constexpr double kStep = 1e-6;
  for (std::size_t i = 0; i < gradient.size(); i += 7) {
    double& parameter = grouper.parameters().values()[i];
    const double before = parameter;
    parameter = before + kStep;
    const double above = loss();
    parameter = before - kStep;
    const double below = loss();
    parameter = before;
    const double difference = (above - below) / (2 * kStep);
    EXPECT_NEAR(gradient[i], difference, 1e-6 * (1 + std::abs(difference))) << i;
  }
}

// A positive advantage makes a sampled grouping more probable, a negative one less.
TEST(PlacetoGrouper, FollowsTheAdvantage) {
  const Problem problem = diamond();
  const Graph graph(problem);
  const EdgeFeatures edges(problem);
  const std::vector<double> log_probability_gradient = {0.7, -0.2, -0.2, -0.3};
  const auto change = [&](double advantage) {
    Grouper<float> grouper;
    RandomStream random(3);
    grouper.parameters().initialize(random);
    GrouperLearner learner(1e-3, 10, grouper);
    const auto log_probability = [&] {
      nn::Tape<float> tape(grouper.parameters());
      const nn::MatrixView<float> scores = tape.value(grouper.scores(tape, graph, edges));
      double sum = 0;
      for (std::size_t edge = 0; edge < 4; ++edge) {
        sum += log_probability_gradient[edge] * scores(edge, 0);
      }
      return sum;
    };
    const double before = log_probability();
    EXPECT_GT(learner.update(std::vector<GrouperLearner::Sample>{
                  {.graph = &graph,
                   .edges = &edges,
                   .log_probability_gradient = log_probability_gradient,
                   .advantage = advantage}}),
              0);
    return log_probability() - before;
  };
  EXPECT_GT(change(2), 1e-4);
  EXPECT_LT(change(-2), -1e-4);
}

}  // namespace
}  // namespace emplace::agents::placeto
