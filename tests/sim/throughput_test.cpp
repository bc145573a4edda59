// Steps that overlap without end, whose periods have closed forms in pipelines of equal stages.

#include "support/problems.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/graphs/micro_batches.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/simulator.hpp>
#include <emplace/sim/throughput.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <support/walks.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace::throughput_test {
namespace {

constexpr double kForwardUs = 10;
constexpr double kBackwardUs = 20;
constexpr double kStageUs = kForwardUs + kBackwardUs;
constexpr std::int64_t kWeightBytes = 1000;

// An input, and stages with a variable each, forward and, in training, backward with an update that
// takes no time. The scope of an op is the number of its stage.
OpGraph chain(int stages, bool trains) {
  std::vector<test::OpSketch> ops;
  std::vector<Op> kinds;
  const auto add = [&](std::string_view kind, Phase phase, int stage, double cost_us,
                       std::vector<OpId> producers) {
    ops.push_back(
        {.name = fmt::format("{}_{}_{}", kind, kPhases[static_cast<std::size_t>(phase)], stage),
         .cost_us = cost_us,
         .producers = std::move(producers),
         .persistent_bytes = kind == "variable" ? kWeightBytes : 0,
         .scope = fmt::format("{}", stage)});
    kinds.push_back({.kind = std::string(kind), .phase = phase});
    return static_cast<OpId>(ops.size() - 1);
  };
  std::vector<OpId> variables;
  std::vector<OpId> made;
  OpId last = add("input", Phase::kForward, 0, 0, {});
  for (int stage = 0; stage < stages; ++stage) {
    variables.push_back(add("variable", Phase::kForward, stage, 0, {}));
    last = add("matmul", Phase::kForward, stage, kForwardUs, {last, variables.back()});
    made.push_back(last);
  }
  OpId gradient = made.back();
  for (int stage = stages; trains && stage-- > 0;) {
    gradient = add("matmul", Phase::kBackward, stage, kBackwardUs,
                   {gradient, made[static_cast<std::size_t>(stage)]});
    add("optimizer_update", Phase::kUpdate, stage, 0,
        {gradient, variables[static_cast<std::size_t>(stage)]});
  }
  OpGraph graph = test::make_graph(ops);
  for (std::size_t at = 0; at < ops.size(); ++at) {
    graph[at].kind = kinds[at].kind;
    graph[at].phase = kinds[at].phase;
    graph[at].outputs[0].persistent = kinds[at].kind == "variable";
  }
  return graph;
}

Problem pipeline(OpGraph step, int stages) {
  auto graph = std::make_shared<const OpGraph>(std::move(step));
  Grouping groups = find_grouping("colocation").group(*graph, 1);
  return {std::move(graph), std::move(groups), test::make_cluster({.num_devices = stages})};
}

// Puts each stage on its device.
Placement stages_of(const Problem& problem) {
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = std::stoi(problem.op(problem.grouping().members(group).front()).scope);
  }
  return placement;
}

Throughput throughput_of(const Problem& step, std::int64_t in_flight) {
  return measure_throughput(step, stages_of(step), in_flight);
}

class OverlappingPipeline : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  int stages() const { return std::get<0>(GetParam()); }
  int in_flight() const { return std::get<1>(GetParam()); }

  // Returns the period where a stage takes so long and a step goes through all of them.
  double expected_us(double stage_us) const {
    return std::max(stage_us, stages() * stage_us / in_flight());
  }
};

TEST_P(OverlappingPipeline, OfInferenceIsAsFastAsItsStages) {
  const Throughput result = throughput_of(pipeline(chain(stages(), false), stages()), in_flight());
  EXPECT_TRUE(result.repeats);
  EXPECT_DOUBLE_EQ(result.period_us, expected_us(kForwardUs));
  EXPECT_DOUBLE_EQ(result.load_us, kForwardUs);
}

// PipeDream (Narayanan et al., SOSP 2019) keeps as many steps in flight as it has stages.
TEST_P(OverlappingPipeline, OfTrainingIsAsFastAsItsStagesOrItsWeights) {
  const Problem step = pipeline(chain(stages(), true), stages());
  const Throughput result = throughput_of(step, in_flight());
  EXPECT_TRUE(result.repeats);
  EXPECT_DOUBLE_EQ(result.period_us, expected_us(kStageUs));
  EXPECT_DOUBLE_EQ(result.load_us, kStageUs);
  // The bound takes the cheaper of staying and leaving; here both are free.
  EXPECT_NEAR(period_bound_us(step, step.placeable_devices(), in_flight()), result.period_us, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Sizes, OverlappingPipeline,
                         testing::Combine(testing::Values(1, 2, 4, 7),
                                          testing::Values(1, 2, 4, 9)));

// A flush after each step costs (K + S - 1) / K (Huang et al. 2019); PipeDream-2BW (Narayanan et
// al., ICML 2021) needs one step more in flight for no bubble where K is at least S.
TEST(Throughput, OfMicroBatchesHasABubbleOnlyWithAFlush) {
  for (const int stages : {2, 4}) {
    const OpGraph part = chain(stages, true);
    for (const int count : {4, 8}) {
      const std::vector<std::reference_wrapper<const OpGraph>> parts(
          static_cast<std::size_t>(count), part);
      OpGraph graph = micro_batches(part, parts);
      for (OpId op = 0; op < num_ops(graph); ++op) {
        if (graph[index_of(op)].measured.empty()) {  // gradients are added up in no time
          graph[index_of(op)].measured = {{.device_class = "test", .cost_us = 0}};
        }
      }
      const Problem step = pipeline(std::move(graph), stages);
      EXPECT_NEAR(throughput_of(step, 1).period_us, (count + stages - 1) * kStageUs, 1e-6);
      EXPECT_NEAR(throughput_of(step, 2).period_us, count * kStageUs, 1e-6);
    }
  }
}

TEST(Throughput, NeedsAStepInFlightForEachDeviceWithoutAMicroBatch) {
  const Problem step = pipeline(chain(8, true), 8);
  EXPECT_EQ(steps_in_flight_for(step, step.placeable_devices()), 8);
  EXPECT_EQ(steps_in_flight_for(repeated(step, 3, 1), step.placeable_devices()), 3);
  EXPECT_EQ(steps_in_flight_for(repeated(step, 8, 1), step.placeable_devices()), 2);
}

TEST(Throughput, NamesTheFullestLink) {
  OpGraph graph = chain(2, false);
  graph[2].outputs[0].bytes = 25;
  const Throughput result = throughput_of(pipeline(std::move(graph), 2), 8);
  EXPECT_DOUBLE_EQ(result.period_us, 25);
  EXPECT_DOUBLE_EQ(result.load_us, 25);
  EXPECT_EQ(result.fullest, "channel of gpu:0");
}

TEST(Throughput, CountsVersionsOfWeightsAgainstTheMemory) {
  auto graph = std::make_shared<const OpGraph>(chain(1, true));
  const Problem step(graph, ungrouped(*graph),
                     test::make_cluster({.num_devices = 1, .memory_bytes = 2 * kWeightBytes}));
  const Placement placement(step.num_groups());
  EXPECT_EQ(measure_throughput(step, placement, 2).status, StepStatus::kOk);
  EXPECT_EQ(measure_throughput(step, placement, 3).status, StepStatus::kOutOfMemory);
}

// Checked against 48 further steps, in all models; these need not be whole rounds.
class Throughputs : public testing::TestWithParam<const char*> {};

TEST_P(Throughputs, AreWhatLongRunsShowAndNotAboveTheLoad) {
  const auto graph = std::make_shared<const OpGraph>(load_graph("llama-block"));
  const auto cluster = std::make_shared<const Cluster>(load_cluster(GetParam()));
  const Problem step(graph, find_grouping("colocation").group(*graph, 1), cluster);
  RandomStream random(1);
  for (int i = 0; i < 10; ++i) {
    const Placement placement = test::random_placement(step, random);
    for (const std::int64_t in_flight : {1, 2, 4}) {
      const Throughput result = measure_throughput(step, placement, in_flight);
      const auto makespan_us = [&](std::int64_t count) {
        const Problem steps = repeated(step, count, in_flight);
        return Simulator(steps).run(placement).makespan_us;
      };
      const double long_run_us = (makespan_us(96) - makespan_us(48)) / 48;
      EXPECT_NEAR(result.period_us, long_run_us, (result.repeats ? 0.01 : 0.05) * long_run_us);
      EXPECT_GE(result.period_us, result.load_us * (1 - 1e-9));
      EXPECT_GE(result.load_us,
                period_bound_us(step, step.placeable_devices(), kMaxStepsInFlight) * (1 - 1e-9));
      EXPECT_GE(result.period_us, period_bound_us(step, step.placeable_devices(), in_flight));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Throughputs,
                         testing::Values("p2-8xlarge-4", "p2-8xlarge-4-grappler",
                                         "mixed-v100-p100"));

}  // namespace
}  // namespace emplace::throughput_test
