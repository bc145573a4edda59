// What the recurrent agents' networks read, draw and differentiate.

#include "agents/src/rnn/items.hpp"
#include "agents/src/rnn/policy.hpp"
#include "agents/src/rnn/sequence_placer.hpp"
#include "agents/tape_differences.hpp"
#include "support/problems.hpp"

#include <emplace/agents/registry.hpp>
#include <emplace/graphs/op_kind.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace emplace::agents::rnn::rnn_policy_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr PolicyOptions kItems = {.hidden = 3, .embedding = 2, .adjacency = 5};
constexpr PolicyOptions kGroups = {.hidden = 3, .embedding = 2, .groups = 4, .grouper_hidden = 3};

// a -> b, c -> d; b is consumed twice.
OpGraph four_ops() {
  return test::make_graph({{.name = "a", .output_bytes = 7},
                           {.name = "b", .output_bytes = 30, .producers = {0}},
                           {.name = "c", .output_bytes = 20, .producers = {0}},
                           {.name = "d", .producers = {1, 2}},
                           {.name = "e", .producers = {1}}});
}

TEST(RnnItems, HaveKindsShapesAndNeighbours) {
  const std::vector<Item> items = items_of(test::make_problem(four_ops()));
  ASSERT_EQ(items.size(), 5U);
  const Item& b = items[1];
  EXPECT_EQ(b.group, 1);
  EXPECT_EQ(b.kinds.size(), op_kinds().size() + 1);
  EXPECT_EQ(b.kinds.back(), 1);  // "test" is no kind that is known
  EXPECT_THAT(b.producers, ElementsAre(0));
  EXPECT_THAT(b.consumers, ElementsAre(3, 4));
  EXPECT_EQ(b.shapes[0], 30);  // one output, read twice
  EXPECT_EQ(b.shapes[1], -1);
  EXPECT_EQ(b.shapes[kDimensions], -1);
  EXPECT_THAT(items[3].consumers, IsEmpty());
  EXPECT_EQ(items[3].shapes[0], -1);
  EXPECT_EQ(items[4].breadth_first, 4);
  EXPECT_NEAR(scaled_dimension(30, -1), std::log(31.0) / 10, 1e-15);
  EXPECT_EQ(scaled_dimension(-1, -1), -1);
  EXPECT_NEAR(scaled_dimension(1e20, -1), std::log(1e20) / 10, 1e-15);
}

// The sum of the shapes of a group may be beyond 64 bits.
TEST(RnnPolicy, ReadsTheLargestTensors) {
  OpGraph graph = test::chain_graph({10, 20}, 5);
  graph[0].outputs[0].shape = {std::numeric_limits<std::int64_t>::max()};
  const Problem problem = test::make_problem(std::move(graph));
  Evaluator evaluator(problem, {.budget = {.max_evaluations = 20}});
  const auto agent = AgentRegistry::global().make(Spec::parse("rnn-hdp:hidden=8"));
  EXPECT_EQ(agent->place(problem, evaluator).size(), 2);
  EXPECT_EQ(evaluator.budget().evaluations(), 20);
}

// a, b and c in one group, which hands the outputs of b and c to d, the larger one first.
TEST(RnnItems, HaveTheShapesThatLeaveAGroup) {
  auto graph = std::make_shared<const OpGraph>(four_ops());
  const Problem problem(graph, Grouping({0, 0, 0, 1, 1}), test::make_cluster({}));
  const std::vector<Item> items = items_of(problem);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].kinds.back(), 3);
  EXPECT_EQ(items[0].shapes[0], 30);
  EXPECT_EQ(items[0].shapes[kDimensions], 20);
  EXPECT_EQ(items[0].shapes[2 * kDimensions], -1);
  EXPECT_THAT(items[0].consumers, ElementsAre(1));
}

TEST(RnnActionSampler, SamplesByTheLogitsOrTakesTheGreedyAction) {
  RandomStream random(3);
  ActionSampler sampler(&random);
  std::array<float, 2> numbers{0, static_cast<float>(std::log(3.0))};  // one in four against three
  const nn::MatrixView<float> logits{numbers.data(), 1, 2, nn::Layout::kRows};
  int second = 0;
  for (int i = 0; i < 4000; ++i) {
    second += sampler.sample(logits, 0);
  }
  EXPECT_NEAR(second, 3000, 4 * std::sqrt(4000 * 0.25 * 0.75));
  EXPECT_EQ(ActionSampler(nullptr).sample(logits, 0), 1);
}

TEST(RnnActionSampler, SamplesTheNormalDistribution) {
  RandomStream random(3);
  ActionSampler sampler(&random);
  double sum = 0;
  double square = 0;
  int beyond_one = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double x = sampler.normal();
    sum += x;
    square += x * x;
    beyond_one += std::abs(x) > 1;
  }
  EXPECT_NEAR(sum / 10'000, 0, 0.04);
  EXPECT_NEAR(square / 10'000, 1, 0.06);
  EXPECT_NEAR(beyond_one, 3173, 190);
}

template <class Scalar>
void draw(const RecurrentPolicy<Scalar>& policy, nn::Tape<Scalar>& tape,
          const std::vector<Item>& items, double noise, GroupedDraw& drawn,
          std::uint64_t seed = 11) {
  RandomStream random(seed);
  ActionSampler sampler(&random);
  drawn.draw.placements = 3;
  policy.place(tape, items, sampler, noise, drawn);
}

// The gradients of the log probabilities of samples, through both networks.
TEST(RnnPolicy, DifferentiatesTheLogProbabilitiesOfItsSamples) {
  const std::vector<Item> items = items_of(test::make_problem(four_ops()));
  for (const PolicyOptions& options : {kItems, kGroups}) {
    RecurrentPolicy<double> policy(options, 2);
    nn::randomize(policy.parameters());
    GroupedDraw drawn;
    nn::expect_gradient_like_differences(policy.parameters(), [&](nn::DoubleTape& tape) {
      draw(policy, tape, items, 0, drawn);
      std::vector<nn::Value> parts = drawn.draw.log_probabilities;
      parts.insert(parts.end(), drawn.draw.entropies.begin(), drawn.draw.entropies.end());
      return tape.concat(parts);
    });
    if (options.groups > 0) {
      nn::expect_gradient_like_differences(policy.parameters(), [&](nn::DoubleTape& tape) {
        draw(policy, tape, items, 0, drawn);
        return *drawn.log_probabilities;
      });
    }
  }
}

TEST(RnnPolicy, TrainsEveryLayer) {
  const std::vector<Item> items = items_of(test::make_problem(four_ops()));
  for (PolicyOptions options : {kItems, kGroups}) {
    options.grouper_hidden = 8;  // so that some of its ReLUs are not 0
    RecurrentPolicy<double> policy(options, 2);
    RandomStream random(2);
    policy.parameters().initialize(random);
    nn::Tape<double> tape(policy.parameters());
    GroupedDraw drawn;
    draw(policy, tape, items, 0, drawn);
    for (const nn::Value log_probability : drawn.draw.log_probabilities) {
      tape.seed(log_probability)(0, 0) = 1;
    }
    if (drawn.log_probabilities) {
      tape.seed (*drawn.log_probabilities)(0, 0) = 1;
    }
    std::vector<double> gradient(policy.parameters().values().size());
    tape.backward(gradient);
    for (const nn::Layer& layer : policy.parameters().layers()) {
      double square = 0;
      for (std::size_t i = layer.offset; i < layer.bias_offset(); ++i) {
        square += gradient[i] * gradient[i];
      }
      EXPECT_GT(square, 1e-20) << layer.name;
    }
  }
}

// Forward states depend on no later item, and backward states on no earlier one.
TEST(RnnPolicy, EncodesItemsFromBothSides) {
  nn::Parameters<double> parameters;
  const SequencePlacer<double> placer({.hidden = 4, .groups = 1}, 2, 2, parameters);
  nn::randomize(parameters);
  const auto encoded = [&](std::size_t changed) {
    nn::Tape<double> tape(parameters);
    const nn::Value items = nn::random_input(tape, 5, 2);
    tape.value(items)(changed, 1) += 1;
    ActionSampler greedy(nullptr);
    Draw draw{.placements = 1};
    placer.place(tape, items, greedy, 0, draw);
    std::vector<std::vector<double>> rows(5);
    for (std::size_t row = 0; row < 5; ++row) {
      for (std::size_t column = 0; column < 4; ++column) {
        rows[row].push_back(tape.value(draw.encoded)(row, column));
      }
    }
    return rows;
  };
  const auto first = encoded(0);
  const auto third = encoded(2);
  for (std::size_t row = 1; row < 5; ++row) {  // both changes come before, or both after
    const bool is_same_forward = first[row][0] == third[row][0];
    const bool is_same_backward = first[row][2] == third[row][2];
    EXPECT_FALSE(is_same_forward) << row;
    EXPECT_EQ(is_same_backward, row > 2) << row;
  }
  const auto last = encoded(4);
  for (std::size_t row = 0; row < 5; ++row) {
    EXPECT_EQ(last[row][0] == third[row][0], row < 2) << row;
  }
}

TEST(RnnPolicy, PlacesAnItemWhereItsGroupIs) {
  const std::vector<Item> items = items_of(test::make_problem(four_ops()));
  RecurrentPolicy<double> policy(kGroups, 3);
  nn::randomize(policy.parameters());
  nn::Tape<double> tape(policy.parameters());
  GroupedDraw drawn;
  int together = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    tape.clear();
    draw(policy, tape, items, 0, drawn, seed);
    for (std::size_t i = 1; i < items.size(); ++i) {
      if (drawn.group_of[i] == drawn.group_of[0]) {
        ++together;
        for (std::size_t placement = 0; placement < 3; ++placement) {
          EXPECT_EQ(drawn.device(i, placement), drawn.device(0, placement));
        }
      }
    }
  }
  EXPECT_GT(together, 0);
}

// Noise of ten times the logits gives other actions; entropies are those with the noise.
TEST(RnnPolicy, DrawsWithNoise) {
  const std::vector<Item> items = items_of(test::make_problem(test::fork_join_graph(30, 5)));
  RecurrentPolicy<double> policy(kItems, 2);
  nn::randomize(policy.parameters());
  nn::Tape<double> tape(policy.parameters());
  GroupedDraw drawn;
  std::vector<double> entropies;
  for (const double noise : {0.0, 10.0}) {
    tape.clear();
    draw(policy, tape, items, noise, drawn);
    double sum = 0;
    for (const nn::Value entropy : drawn.draw.entropies) {
      sum += tape.value(entropy)(0, 0);
    }
    entropies.push_back(sum);
  }
  EXPECT_LT(entropies[1], 0.95 * entropies[0]);
}

std::int64_t weights(const std::string& spec, DeviceId devices) {
  const auto agent = AgentRegistry::global().make(Spec::parse(spec));
  std::int64_t sum = 0;
  for (const PolicyLayer& layer : dynamic_cast<TrainableAgent&>(*agent).layers(devices)) {
    sum += layer.weights();
  }
  return sum;
}

// An LSTM of h cells that reads w numbers has 4h (w + h) weights and, as its layers are two, two
// biases for each gate; the rest are affine layers.
std::int64_t lstm(std::int64_t w, std::int64_t h) { return 4 * h * (w + h + 2); }
std::int64_t affine(std::int64_t in, std::int64_t out) { return (in + 1) * out; }

TEST(RnnPolicy, HasAsManyWeightsAsItsLayersSay) {
  const auto kinds = static_cast<std::int64_t>(op_kinds().size()) + 1;
  const auto decoder = [](std::int64_t h, std::int64_t devices) {
    return affine(devices + 1, h) + lstm(h, h) + 2 * affine(h, h) + affine(h, 1) +
           affine(2 * h, devices);
  };
  EXPECT_EQ(weights("rnn-colocrl:hidden=256", 2),
            affine(kinds, 20) + lstm(20 + 24 + 256, 256) + decoder(256, 2));
  EXPECT_EQ(weights("rnn-colocrl:hidden=64,embedding=5,adjacency=9", 4),
            affine(kinds, 5) + lstm(5 + 24 + 9, 64) + decoder(64, 4));
  EXPECT_EQ(weights("rnn-hdp:hidden=256,learned-groups=256", 2),
            affine(kinds, 20) + affine(20 + 24 + 12, 64) + affine(64, 256) +
                2 * lstm(kinds + 16 + 256, 128) + decoder(256, 2));
}

}  // namespace
}  // namespace emplace::agents::rnn::rnn_policy_test
