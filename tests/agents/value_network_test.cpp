#include "agents/src/learned_search/value_network.hpp"

#include "support/problems.hpp"
#include "tape_differences.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace emplace::agents::learned_search::value_network_test {
namespace {

using Devices = std::vector<DeviceId>;

// A step of a placement, and moves of single groups and of pairs in it.
struct Scene {
  Scene(const Problem& problem, const Placement& placement)
      : neighbours(problem), step(problem), features(step, 100) {
    Evaluator evaluator(problem, {});
    StepOutline outline;
    const Evaluation evaluation = evaluator.evaluate({&placement, 1}, {&outline, 1}).front();
    step.observe(placement, outline, evaluation.step_time_us);
    attributes = group_attributes(step, 100);
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      for (const GroupId group : step.on_device(device).groups()) {
        on_device.add(0, group);
      }
      on_device.end_row();
    }
  }

  void add(const std::vector<Move>& moves, const Placement& placement) {
    std::vector<float> of_move(MoveBatch::kFeatures);
    features.compute(moves, std::span(of_move).first(MoveFeatures::kCount));
    batch.add(moves, placement[moves.front().group], of_move);
  }

  template <class Scalar>
  nn::Value values(nn::Tape<Scalar>& tape, const ValueNetwork<Scalar>& network) const {
    const nn::Value embeddings = network.embeddings(tape, neighbours, attributes);
    const nn::Value pools = network.pools(tape, embeddings, on_device);
    return network.values(tape, network.descriptions(tape, embeddings, pools, batch));
  }

  GroupNeighbours neighbours;
  ObservedStep step;
  MoveFeatures features;
  std::vector<float> attributes;
  nn::SegmentSum on_device;
  MoveBatch batch;
};

template <class Scalar>
void draw_parameters(ValueNetwork<Scalar>& network) {
  RandomStream random(3);
  network.initialize(random);
  for (Scalar& value : network.parameters().values()) {
    value += static_cast<Scalar>(0.2 * random.uniform() - 0.1);  // the last layer is not 0
  }
}

TEST(ValueNetwork, HasTheGradientOfDifferences) {
  const Problem problem = test::make_problem(test::crossing_graph(), {.num_devices = 3});
  const Placement placement(Devices{0, 1, 2, 0, 1, 2, 0});
  Scene scene(problem, placement);
  scene.add({{0, 1}}, placement);
  scene.add({{1, 0}, {2, 0}}, placement);
  scene.add({{6, 2}, {3, 2}, {4, 2}}, placement);
  ValueNetwork<double> network({.rounds = 2});
  draw_parameters(network);
  nn::expect_gradient_like_differences(
      network.parameters(), [&](nn::DoubleTape& tape) { return scene.values(tape, network); });
}

TEST(ValueNetwork, ValuesNothingBeforeItLearns) {
  const Problem problem = test::make_problem(test::diamond_graph(10));
  const Placement placement(Devices{0, 0, 1, 0});
  Scene scene(problem, placement);
  scene.add({{1, 1}}, placement);
  ValueNetwork<float> network({.rounds = 1});
  RandomStream random(1);
  network.initialize(random);
  nn::Tape<float> tape(network.parameters());
  EXPECT_EQ(tape.value(scene.values(tape, network))(0, 0), 0);
}

// Equal devices with other numbers, in the placement and in the moves, are the same to it.
TEST(ValueNetwork, KnowsNoNumbersOfDevices) {
  const Problem problem = test::make_problem(test::crossing_graph(), {.num_devices = 3});
  const std::vector<DeviceId> renumbered = {2, 0, 1};
  const Placement placement(Devices{0, 1, 2, 0, 1, 1, 0});
  Placement other = placement;
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    other[group] = renumbered[static_cast<std::size_t>(placement[group])];
  }
  Scene scene(problem, placement);
  Scene other_scene(problem, other);
  scene.add({{0, 1}, {3, 1}}, placement);
  other_scene.add({{0, renumbered[1]}, {3, renumbered[1]}}, other);
  ValueNetwork<float> network({.rounds = 2});
  draw_parameters(network);
  nn::Tape<float> tape(network.parameters());
  nn::Tape<float> other_tape(network.parameters());
  EXPECT_EQ(tape.value(scene.values(tape, network))(0, 0),
            other_tape.value(other_scene.values(other_tape, network))(0, 0));
}

// Without messages an embedding does not depend on the neighbours; with two rounds it does, at a
// distance of two edges and not of three.
TEST(ValueNetwork, PassesAMessageOneEdgeFurtherInEachRound) {
  const Problem problem = test::make_problem(test::chain_graph({10, 10, 10, 10, 10}, 1));
  const GroupNeighbours neighbours(problem);
  std::vector<float> attributes(5 * kGroupAttributes, 0.5F);
  for (const int rounds : {0, 1, 2}) {
    ValueNetwork<float> network({.rounds = rounds});
    draw_parameters(network);
    const auto embedding = [&](std::size_t group) {
      nn::Tape<float> tape(network.parameters());
      const nn::MatrixView<float> h = tape.value(network.embeddings(tape, neighbours, attributes));
      std::vector<float> row;
      for (std::size_t column = 0; column < h.columns; ++column) {
        row.push_back(h(group, column));
      }
      return row;
    };
    std::vector<std::vector<float>> before;
    for (std::size_t group = 0; group < 5; ++group) {
      before.push_back(embedding(group));
    }
    attributes[0] = 3;
    for (std::size_t group = 1; group < 5; ++group) {
      EXPECT_EQ(embedding(group) != before[group], group <= static_cast<std::size_t>(rounds))
          << group << " after " << rounds;
    }
    attributes[0] = 0.5F;
  }
}

}  // namespace
}  // namespace emplace::agents::learned_search::value_network_test
