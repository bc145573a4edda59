// The agents that place pipelines.

#include "agents/placing.hpp"
#include "support/problems.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/graphs/micro_batches.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace emplace::agents::pipeline_test {
namespace {

using testing::ElementsAre;

// Returns `part` in `count` micro-batches, grouped by colocation.
Problem in_micro_batches(const OpGraph& part, std::size_t count,
                         const test::ClusterSketch& cluster) {
  const std::vector<std::reference_wrapper<const OpGraph>> parts(count, part);
  auto graph = std::make_shared<const OpGraph>(micro_batches(part, parts));
  Grouping groups = find_grouping("colocation").group(*graph, 1);
  return Problem(std::move(graph), std::move(groups), test::make_cluster(cluster));
}

double step_us(std::string_view spec, const Problem& problem) {
  Evaluator evaluator(problem, {.budget = {.max_evaluations = 100}});
  return Simulator(problem).run(make(spec)->place(problem, evaluator)).makespan_us;
}

// Huang et al. 2019: K micro-batches on S equal stages take K + S - 1 times one stage.
TEST(Pipeline, IsFoundByBothAgents) {
  const OpGraph part = test::chain_graph({5, 5, 10, 2, 3, 5, 10}, 0);
  const Problem problem = in_micro_batches(part, 16, {.num_devices = 4});
  EXPECT_DOUBLE_EQ(step_us("pipeline-expert", problem), (16 + 4 - 1) * 10);
  EXPECT_DOUBLE_EQ(step_us("pipeline-dp", problem), (16 + 4 - 1) * 10);
}

TEST(PipelineDp, TakesOneDeviceForOneBatch) {
  const Problem problem = test::make_problem(test::chain_graph({10, 10, 10}, 5));
  EXPECT_THAT(place("pipeline-dp", problem), ElementsAre(0, 0, 0));
}

TEST(PipelineDp, CutsWhereTransfersAreShort) {
  const OpGraph part =
      test::make_graph({{.name = "a", .cost_us = 9, .output_bytes = 40},
                        {.name = "b", .cost_us = 2, .output_bytes = 1, .producers = {0}},
                        {.name = "c", .cost_us = 8, .producers = {1}}});
  const Problem problem = in_micro_batches(part, 20, {});
  EXPECT_THAT(place("pipeline-dp", problem), ElementsAre(0, 0, 1));
  EXPECT_THAT(place("pipeline-expert", problem), ElementsAre(0, 1, 1));  // 9 and 10, not 11 and 8
}

TEST(PipelineExpert, CutsBetweenLayers) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 10, .scope = "one"},
                        {.name = "b", .cost_us = 30, .producers = {0}, .scope = "two"},
                        {.name = "c", .cost_us = 5, .producers = {1}, .scope = "two"},
                        {.name = "d", .cost_us = 15, .producers = {2}, .scope = "three"}}));
  EXPECT_THAT(place("pipeline-expert", problem), ElementsAre(0, 0, 0, 1));  // 45, not 40 and 20
}

TEST(PipelineExpert, BalancesWeightsIfAsked) {
  const Problem problem = test::make_problem(test::make_graph(
      {{.name = "a", .cost_us = 10, .persistent_bytes = 60, .scope = "one"},
       {.name = "b", .cost_us = 10, .producers = {0}, .persistent_bytes = 20, .scope = "two"},
       {.name = "c", .cost_us = 10, .producers = {1}, .persistent_bytes = 20, .scope = "three"},
       {.name = "d", .cost_us = 90, .producers = {2}, .persistent_bytes = 10, .scope = "four"}}));
  EXPECT_THAT(place("pipeline-expert:balance=weights", problem), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(place("pipeline-expert", problem), ElementsAre(0, 0, 0, 1));
}

TEST(PipelineExpert, CutsALayerThatDoesNotFit) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .persistent_bytes = 60, .scope = "one"},
                        {.name = "b", .producers = {0}, .persistent_bytes = 60, .scope = "one"}}),
      {.memory_bytes = 100});
  EXPECT_THAT(place("pipeline-expert", problem), ElementsAre(0, 1));
}

TEST(PipelineExpert, UsesAcceleratorsIfThereAreAny) {
  auto cluster = std::make_shared<Cluster>(*test::make_cluster({.with_cpu = true}));
  cluster->devices.back().placeable = true;
  auto graph = std::make_shared<const OpGraph>(test::chain_graph({10, 10, 10, 10}, 0));
  const Problem problem(graph, ungrouped(*graph), cluster);
  EXPECT_THAT(place("pipeline-expert", problem), ElementsAre(0, 0, 1, 1));

  auto only_cpu = std::make_shared<Cluster>(*cluster);
  only_cpu->devices[0].placeable = false;
  only_cpu->devices[1].placeable = false;
  EXPECT_THAT(place("pipeline-expert", Problem(graph, ungrouped(*graph), only_cpu)),
              ElementsAre(2, 2, 2, 2));
}

// Weights leave too little memory for the values of the first stage, so that it has to get less.
TEST(Pipeline, FitsIntoMemory) {
  std::vector<test::OpSketch> ops;
  for (int op = 0; op < 8; ++op) {
    ops.push_back({.name = "op_" + std::to_string(op),
                   .cost_us = 10,
                   .output_bytes = op < 4 ? 150 : 5,
                   .persistent_bytes = 100});
    if (op > 0) {
      ops.back().producers = {op - 1};
    }
  }
  const auto status = [&](std::string_view spec, std::int64_t evaluations) {
    const Problem problem =
        test::make_problem(test::make_graph(ops), {.num_devices = 3, .memory_bytes = 500});
    Evaluator evaluator(problem, {.budget = {.max_evaluations = evaluations}});
    return Simulator(problem).run(make(spec)->place(problem, evaluator)).status;
  };
  for (const std::string spec : {"pipeline-expert", "pipeline-dp"}) {
    SCOPED_TRACE(spec);
    EXPECT_EQ(status(spec, 0), StepStatus::kOutOfMemory);
    EXPECT_EQ(status(spec, 500), StepStatus::kOk);
  }
}

class PipelineOfNetworks : public testing::TestWithParam<const char*> {};

// Layers are on one device each, with their gradients and updates, and devices have the layers in
// their order.
TEST_P(PipelineOfNetworks, HasBackwardOpsWithTheirForwardOps) {
  auto graph =
      std::make_shared<const OpGraph>(GraphCatalog::global().build(Spec::parse(GetParam())));
  Grouping groups = find_grouping("colocation").group(*graph, 1);
  const Problem problem(graph, std::move(groups), test::make_cluster({.num_devices = 4}));
  const std::vector<DeviceId> devices = place("pipeline-expert", problem);
  std::map<std::string, OpId> forward;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    if (problem.op(op).phase == Phase::kForward) {
      forward[problem.op(op).name] = op;
    }
  }
  const auto device_of = [&](OpId op) {
    return devices[index_of(problem.grouping().group_of(op))];
  };
  int gradients = 0;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    const std::string& name = problem.op(op).name;
    if (problem.op(op).phase == Phase::kForward) {
      continue;
    }
    const auto found = forward.find(name.substr(0, name.rfind('/')));
    if (found != forward.end()) {
      ++gradients;
      EXPECT_EQ(device_of(op), device_of(found->second)) << name;
    }
  }
  EXPECT_GT(gradients, 100);
  EXPECT_EQ(std::set<DeviceId>(devices.begin(), devices.end()).size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(Networks, PipelineOfNetworks,
                         testing::Values("bert-base:micro-batches=2", "vgg-16", "resnet-50"));

}  // namespace
}  // namespace emplace::agents::pipeline_test
