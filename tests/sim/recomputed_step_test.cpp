// A step that runs forward ops again keeps what its layers pass on, and takes the time of both.

#include "support/machines.hpp"

#include <emplace/graphs/recomputation.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace emplace::recomputed_step_test {
namespace {

constexpr std::int64_t kBytes = 100;
constexpr double kOpUs = 1;

// Layers of two ops, the first of which only its layer reads. The backward op of a layer reads what
// both made; a loss turns around at the end.
OpGraph step(int layers) {
  std::vector<test::OpSketch> ops;
  std::vector<Phase> phases;
  const auto add = [&](std::string name, std::vector<OpId> producers, std::string scope,
                       Phase phase) {
    ops.push_back({.name = std::move(name),
                   .cost_us = kOpUs,
                   .output_bytes = phase == Phase::kForward ? kBytes : 0,
                   .producers = std::move(producers),
                   .scope = std::move(scope)});
    phases.push_back(phase);
    return static_cast<OpId>(ops.size() - 1);
  };
  std::vector<OpId> inner;
  std::vector<OpId> outer;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string scope = fmt::format("layer_{}", layer);
    inner.push_back(add(scope + "/inner",
                        outer.empty() ? std::vector<OpId>{} : std::vector{outer.back()}, scope,
                        Phase::kForward));
    outer.push_back(add(scope + "/outer", {inner.back()}, scope, Phase::kForward));
  }
  OpId gradient = add("turn", {outer.back()}, "", Phase::kBackward);
  for (int layer = layers; layer-- > 0;) {
    const std::string scope = fmt::format("layer_{}", layer);
    const auto at = static_cast<std::size_t>(layer);
    gradient = add(scope + "/grad", {gradient, inner[at], outer[at]}, scope, Phase::kBackward);
  }
  OpGraph graph = test::make_graph(ops);
  for (std::size_t op = 0; op < phases.size(); ++op) {
    graph[op].phase = phases[op];
  }
  return graph;
}

struct Step {
  double us;
  std::int64_t peak_bytes;
};

Step run(OpGraph graph) {
  const Problem problem =
      test::make_problem(std::move(graph), test::make_machine(1, Topology(1, {})));
  Simulator simulator(problem);
  const SimResult& result = simulator.run(Placement(problem.num_groups()));
  return {result.makespan_us, result.peak_bytes.front()};
}

// Chen et al. 2016: what every layer passes on stays, and one layer at a time has all that it made.
TEST(Recomputation, KeepsOneLayerAtATime) {
  constexpr int kLayers = 5;
  const Step plain = run(step(kLayers));
  const Step recomputed = run(recompute(step(kLayers), "layer_*"));
  EXPECT_EQ(plain.peak_bytes, 2 * kLayers * kBytes);
  EXPECT_EQ(recomputed.peak_bytes, (kLayers + 1) * kBytes);
  EXPECT_DOUBLE_EQ(recomputed.us, plain.us + kLayers * kOpUs);
}

}  // namespace
}  // namespace emplace::recomputed_step_test
