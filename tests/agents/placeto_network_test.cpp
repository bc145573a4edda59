#include "agents/src/placeto/network.hpp"
#include "agents/src/placeto/options.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace emplace::agents::placeto::placeto_network_test {
namespace {

NetworkOptions network_options(const std::string& given) {
  const Spec spec = Spec::parse(given.empty() ? "placeto" : "placeto:" + given);
  return option_table()
      .read(resolve_params(option_table().parameters(), spec, "agent placeto"))
      .network;
}

std::size_t weights(const std::string& given, std::size_t devices) {
  return PolicyNetwork<float>(network_options(given), devices).parameters().values().size();
}

// Counted by hand from the released code's shapes; at two devices d = 7: 3 d (d + 1) for the
// transform, 8 d (d + 1) for messages, 12 * 2d (2d + 1) for the pools, and the head's
// (8d + 1) 16d + (16d + 1) 8d + (8d + 1) 2.
TEST(PlacetoNetwork, HasAsManyWeightsAsTheReleasedCode) {
  EXPECT_EQ(weights("", 2), 15'962U);
  EXPECT_EQ(weights("", 3), 20'827U);
  EXPECT_EQ(weights("", 4), 26'338U);
  EXPECT_EQ(weights("", 8), 54'842U);
}

// A state of an episode: what an observation points to.
struct State {
  State(std::size_t num_groups, std::size_t num_devices, GroupId group, std::uint64_t seed)
      : current(group) {
    RandomStream random(seed);
    for (std::size_t i = 0; i < num_groups; ++i) {
      devices.push_back(static_cast<std::int32_t>(random.below(num_devices)));
      start_times.push_back(static_cast<float>(2 * random.uniform() - 1));
      visits.push_back(static_cast<std::uint8_t>(random.below(2)));
    }
  }
  Observation observation() const { return {current, devices, start_times, visits}; }

  GroupId current;
  std::vector<std::int32_t> devices;
  std::vector<float> start_times;
  std::vector<std::uint8_t> visits;
};

template <class Scalar>
std::vector<std::vector<Scalar>> logits_of(const PolicyNetwork<Scalar>& network, const Graph& graph,
                                           const std::vector<Observation>& observations,
                                           std::size_t lanes) {
  nn::Tape<Scalar> tape(network.parameters());
  typename PolicyNetwork<Scalar>::Lists lists;
  const nn::MatrixView<Scalar> view =
      tape.value(network.logits(tape, lists, graph, observations, lanes));
  std::vector<std::vector<Scalar>> logits(view.rows);
  for (std::size_t row = 0; row < view.rows; ++row) {
    for (std::size_t device = 0; device < view.columns; ++device) {
      logits[row].push_back(view(row, device));
    }
  }
  return logits;
}

template <class Scalar>
PolicyNetwork<Scalar> random_network(const std::string& given, std::size_t devices) {
  PolicyNetwork<Scalar> network(network_options(given), devices);
  RandomStream random(11);
  network.parameters().initialize(random);
  return network;
}

// A layered graph of ops that differ, numbered in the order of `ops`, a topological one.
Problem problem_of(const std::vector<int>& ops, DeviceId num_devices = 2) {
  std::vector<OpId> id(8);
  std::vector<test::OpSketch> sketches;
  const std::vector<std::vector<int>> producers = {{}, {0}, {0}, {1, 2}, {2}, {}, {5, 4}, {3, 6}};
  for (const int op : ops) {
    test::OpSketch sketch{.name = "op_" + std::to_string(op),
                          .cost_us = 10.0 * (1 + op % 5),
                          .output_bytes = 100 * (1 + op % 3)};
    for (const int producer : producers[static_cast<std::size_t>(op)]) {
      sketch.producers.push_back(id[static_cast<std::size_t>(producer)]);
    }
    id[static_cast<std::size_t>(op)] = static_cast<OpId>(sketches.size());
    sketches.push_back(std::move(sketch));
  }
  return test::make_problem(test::make_graph(sketches), {.num_devices = num_devices});
}

const std::vector<std::string> kVariants = {"",
                                            "rounds=0",
                                            "pooling=all,rounds=0",
                                            "mean-pooling=true",
                                            "rounds=2",
                                            "device-encoding=features",
                                            "device-encoding=features,stay-bias=2",
                                            "stay-bias=1"};

TEST(PlacetoNetwork, GivesTheSameProbabilitiesWhateverTheNumbersOfTheGroups) {
  const std::vector<int> one = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<int> other = {5, 0, 2, 4, 6, 1, 3, 7};
  const Problem first = problem_of(one);
  const Problem second = problem_of(other);
  const auto group_of = [](const Problem& problem, int op) {
    for (OpId id = 0; id < problem.num_ops(); ++id) {
      if (problem.graph()[static_cast<std::size_t>(id)].name == "op_" + std::to_string(op)) {
        return static_cast<std::size_t>(problem.grouping().group_of(id));
      }
    }
    return std::size_t{0};
  };
  ASSERT_NE(group_of(first, 4), group_of(second, 4));
  for (const std::string& variant : kVariants) {
    SCOPED_TRACE(variant);
    const auto network = random_network<float>(variant, 2);
    for (int current = 0; current < 8; ++current) {
      State state(8, 2, 0, 5);
      State renumbered = state;
      for (int op = 0; op < 8; ++op) {
        const std::size_t from = group_of(first, op);
        const std::size_t to = group_of(second, op);
        renumbered.devices[to] = state.devices[from];
        renumbered.start_times[to] = state.start_times[from];
        renumbered.visits[to] = state.visits[from];
      }
      state.current = static_cast<GroupId>(group_of(first, current));
      renumbered.current = static_cast<GroupId>(group_of(second, current));
      const auto a = logits_of(network, Graph(first), {state.observation()}, 1);
      const auto b = logits_of(network, Graph(second), {renumbered.observation()}, 1);
      std::vector<double> p(2);
      std::vector<double> q(2);
      nn::softmax<float>(a[0].data(), 1, p);
      nn::softmax<float>(b[0].data(), 1, q);
      EXPECT_NEAR(p[0], q[0], 1e-6);
      EXPECT_NEAR(p[1], q[1], 1e-6);
    }
  }
}

TEST(PlacetoNetwork, DistinguishesStates) {
  const Graph graph(problem_of({0, 1, 2, 3, 4, 5, 6, 7}));
  const auto network = random_network<float>("", 2);
  State state(8, 2, 3, 5);
  const auto before = logits_of(network, graph, {state.observation()}, 1);
  state.devices[7] = 1 - state.devices[7];
  EXPECT_NE(logits_of(network, graph, {state.observation()}, 1), before);
  state.devices[7] = 1 - state.devices[7];
  state.start_times[0] += 0.5F;
  EXPECT_NE(logits_of(network, graph, {state.observation()}, 1), before);
}

TEST(PlacetoNetwork, GivesParallelDecisionsTheBitsOfSingleOnes) {
  const Graph graph(problem_of({0, 1, 2, 3, 4, 5, 6, 7}, 3));
  for (const std::string& variant : kVariants) {
    SCOPED_TRACE(variant);
    const auto network = random_network<float>(variant, 3);
    std::vector<State> states;
    std::vector<Observation> observations;
    for (GroupId group = 0; group < 8; ++group) {
      states.emplace_back(8, 3, group, 100 + group);
    }
    for (const State& state : states) {
      observations.push_back(state.observation());
    }
    const auto together = logits_of(network, graph, observations, 8);
    const auto in_wider =
        logits_of(network, graph, {observations[0], observations[1], observations[2]}, 16);
    for (std::size_t i = 0; i < 8; ++i) {
      const auto alone = logits_of(network, graph, {observations[i]}, 1);
      EXPECT_EQ(together[i], alone[0]);
      if (i < 3) {
        EXPECT_EQ(in_wider[i], alone[0]);
      }
    }
  }
}

std::vector<double> probabilities_of(const std::string& given, std::size_t num_devices,
                                     const Problem& problem, const State& state,
                                     std::size_t lanes) {
  const auto network = random_network<float>(given, num_devices);
  const auto logits = logits_of(network, Graph(problem), {state.observation()}, lanes);
  std::vector<double> probabilities(logits[0].size());
  nn::softmax<float>(logits[0].data(), 1, probabilities);
  return probabilities;
}

// A decision takes a lane for each of five candidates, here in one pass, three passes or five.
TEST(PlacetoNetwork, ScoresCandidatesInAnyNumberOfPasses) {
  const Problem problem = test::make_problem(test::fork_join_graph(6, 20), {.num_devices = 5});
  const State state(8, 5, 3, 5);
  const auto scores = probabilities_of("device-encoding=features", 5, problem, state, 8);
  EXPECT_EQ(scores.size(), 5U);
  EXPECT_EQ(probabilities_of("device-encoding=features", 5, problem, state, 2), scores);
  EXPECT_EQ(probabilities_of("device-encoding=features", 5, problem, state, 1), scores);
}

TEST(PlacetoNetwork, KnowsCandidatesByFeaturesNotByNumber) {
  EXPECT_EQ(weights("device-encoding=features", 2), weights("device-encoding=features", 64));
  const Problem problem = test::make_problem(test::fork_join_graph(6, 20), {.num_devices = 3});
  const State state(8, 3, 3, 5);
  State turned = state;  // 0 is called 1, 1 is called 2 and 2 is called 0
  for (std::int32_t& device : turned.devices) {
    device = (device + 1) % 3;
  }
  const auto before = probabilities_of("device-encoding=features", 3, problem, state, 4);
  const auto after = probabilities_of("device-encoding=features", 3, problem, turned, 4);
  EXPECT_EQ(after, (std::vector<double>{before[2], before[0], before[1]}));
  EXPECT_NE(before[0], before[1]);
  // The one-hot network knows numbers only.
  const auto one_hot = probabilities_of("", 3, problem, state, 1);
  EXPECT_NE(probabilities_of("", 3, problem, turned, 1),
            (std::vector<double>{one_hot[2], one_hot[0], one_hot[1]}));
}

TEST(PlacetoNetwork, DistinguishesASlowCandidateFromAFastOne) {
  const test::ClusterSketch sketch{.num_devices = 1, .with_slow_gpu = true};
  const Problem unlike = test::make_problem(test::fork_join_graph(6, 20), sketch);
  const Problem alike = test::make_problem(test::fork_join_graph(6, 20));
  const State state(8, 2, 3, 5);
  EXPECT_NE(probabilities_of("device-encoding=features", 2, unlike, state, 2),
            probabilities_of("device-encoding=features", 2, alike, state, 2));
}

// With a last layer of zeros only the stay bias is left.
TEST(PlacetoNetwork, AddsTheStayBias) {
  const Problem problem = test::make_problem(test::fork_join_graph(6, 20), {.num_devices = 3});
  for (const char* devices : {"one-hot", "features"}) {
    PolicyNetwork<float> network(
        network_options("zero-init=true,stay-bias=2,device-encoding=" + std::string(devices)), 3);
    RandomStream random(11);
    network.initialize(random);
    State state(8, 3, 3, 5);
    state.devices[3] = 1;
    const auto logits = logits_of(network, Graph(problem), {state.observation()}, 4);
    EXPECT_EQ(logits[0], (std::vector<float>{0, 2, 0}));
  }
}

// On a graph whose longest path has four groups, message passing reaches its fixed point after
// three rounds.
TEST(PlacetoNetwork, ReachesTheFixedPointOfMessagePassing) {
  const Graph graph(test::make_problem(test::chain_graph({10, 20, 30, 40}, 5)));
  const auto three = random_network<double>("rounds=3", 2);
  const auto many = random_network<double>("rounds=9", 2);
  const auto two = random_network<double>("rounds=2", 2);
  const State state(4, 2, 1, 9);
  const auto expected = logits_of(three, graph, {state.observation()}, 1);
  EXPECT_EQ(logits_of(many, graph, {state.observation()}, 1), expected);
  EXPECT_NE(logits_of(two, graph, {state.observation()}, 1), expected);
}

TEST(PlacetoNetwork, HasTheGradientOfItsDifferences) {
  const Graph graph(problem_of({0, 1, 2, 3, 4, 5, 6, 7}));
  for (const std::string& variant : kVariants) {
    SCOPED_TRACE(variant);
    auto network = random_network<double>(variant, 2);
    RandomStream random(23);
    for (double& value : network.parameters().values()) {
      value += 0.02 * random.uniform();  // biases too, so that no ReLU stands at its kink
    }
    const State one(8, 2, 2, 6);
    const State two(8, 2, 4, 7);
    const std::vector<Observation> observations = {one.observation(), two.observation()};
    const std::vector<std::int32_t> actions = {0, 1};
    nn::Tape<double> tape(network.parameters());
    PolicyNetwork<double>::Lists lists;
    const auto loss_value = [&] {
      tape.clear();
      return tape.log_probability(network.logits(tape, lists, graph, observations, 2), actions);
    };
    const auto loss = [&] {
      const nn::MatrixView<double> p = tape.value(loss_value());
      return p(0, 0) - 2 * p(1, 0);
    };
    const nn::MatrixView<double> seed = tape.seed(loss_value());
    seed(0, 0) = 1;
    seed(1, 0) = -2;
    std::vector<double> gradient(network.parameters().values().size());
    tape.backward(gradient);
    // Every 37th parameter: some of each layer.
    constexpr double kStep = 1e-6;
    for (std::size_t i = 0; i < gradient.size(); i += 37) {
      double& parameter = network.parameters().values()[i];
      const double before = parameter;
      parameter = before + kStep;
      const double above = loss();
      parameter = before - kStep;
      const double below = loss();
      parameter = before;
      const double difference = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradient[i], difference, 1e-5 * (1 + std::abs(difference))) << i;
    }
  }
}

// 0 -> 1 -> 3, 0 -> 2 -> 3 and alone 4.
TEST(PlacetoGraph, KnowsReachability) {
  const Graph graph(test::make_problem(test::make_graph({{.name = "a"},
                                                         {.name = "b", .producers = {0}},
                                                         {.name = "c", .producers = {0}},
                                                         {.name = "d", .producers = {1, 2}},
                                                         {.name = "e"}})));
  const auto reached = [&](GroupId from) {
    std::vector<Relation> relations;
    graph.find_relations(from, relations);
    std::vector<GroupId> groups;
    for (GroupId to = 0; to < 5; ++to) {
      if (relations[index_of(to)] == Relation::kDescendant) {
        groups.push_back(to);
      }
    }
    return groups;
  };
  EXPECT_THAT(reached(0), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(reached(1), testing::ElementsAre(3));
  EXPECT_THAT(reached(3), testing::IsEmpty());
  EXPECT_THAT(reached(4), testing::IsEmpty());
}

TEST(PlacetoGraph, NormalizesFeaturesByTheLargest) {
  const Graph graph(test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 20, .output_bytes = 10},
                        {.name = "b", .cost_us = 10, .output_bytes = 40, .producers = {0}},
                        {.name = "c", .cost_us = 5, .output_bytes = 80, .producers = {1}}})));
  EXPECT_THAT(graph.cost(), testing::ElementsAre(1, 0.5, 0.25));
  EXPECT_THAT(graph.bytes(), testing::ElementsAre(0.25, 1, 0));  // no op reads the last
}

// The slow device takes twice as long, so the largest mean cost of a group is (20 + 40) / 2.
TEST(PlacetoGraph, CountsTimesInUnitsOfTheLargestGroupCost) {
  const Graph graph(test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 20, .output_bytes = 60},
                        {.name = "b", .cost_us = 6, .output_bytes = 90, .producers = {0}}}),
      {.num_devices = 1, .bytes_per_us = 2, .with_slow_gpu = true}));
  EXPECT_FLOAT_EQ(graph.cost_on(0, 0), 20.0F / 30);
  EXPECT_FLOAT_EQ(graph.cost_on(0, 1), 40.0F / 30);
  EXPECT_FLOAT_EQ(graph.cost_on(1, 1), 12.0F / 30);
  EXPECT_FLOAT_EQ(graph.transfer(0, 0, 1), 30.0F / 30);
  EXPECT_FLOAT_EQ(graph.transfer(0, 1, 1), 0);
  EXPECT_FLOAT_EQ(graph.transfer(1, 0, 1), 0);  // no op reads it
}

// Against paths that are followed one edge at a time.
TEST(PlacetoNetwork, RelatesGroupsByPaths) {
  const Problem problem = problem_of({0, 1, 2, 3, 4, 5, 6, 7});
  const Graph graph(problem);
  std::vector<std::vector<bool>> reaches(8, std::vector<bool>(8, false));
  for (const GroupId group : problem.group_order()) {
    for (const GroupEdge& edge : problem.group_in_edges(group)) {
      for (std::size_t from = 0; from < 8; ++from) {
        if (reaches[from][index_of(edge.producer)] || from == index_of(edge.producer)) {
          reaches[from][index_of(group)] = true;
        }
      }
    }
  }
  std::vector<Relation> relations;
  for (GroupId current = 0; current < 8; ++current) {
    graph.find_relations(current, relations);
    for (GroupId group = 0; group < 8; ++group) {
      const Relation expected = group == current                              ? Relation::kSelf
                                : reaches[index_of(group)][index_of(current)] ? Relation::kAncestor
                                : reaches[index_of(current)][index_of(group)]
                                    ? Relation::kDescendant
                                    : Relation::kPeer;
      EXPECT_EQ(relations[index_of(group)], expected) << group << " to " << current;
    }
  }
}

}  // namespace
}  // namespace emplace::agents::placeto::placeto_network_test
