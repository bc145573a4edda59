// Pipelines of equal stages, whose step times have closed forms.

#include "support/problems.hpp"

#include <emplace/graphs/grouping_strategy.hpp>
#include <emplace/graphs/micro_batches.hpp>
#include <emplace/sim/problem.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace emplace::pipeline_test {
namespace {

using enum MicroBatchSchedule::Order;

constexpr double kForwardUs = 10;
constexpr double kBackwardUs = 20;

// Stages forward, and backward again if told so, where each reads what its stage has made. The
// scope of an op is the number of its stage.
OpGraph chain(int stages, bool backward, std::int64_t bytes) {
  std::vector<test::OpSketch> ops;
  for (int at = 0; at < (backward ? 2 : 1) * stages; ++at) {
    const bool is_forward = at < stages;
    const int stage = is_forward ? at : 2 * stages - 1 - at;
    test::OpSketch op{.name = fmt::format("op_{}", at),
                      .cost_us = is_forward ? kForwardUs : kBackwardUs,
                      .output_bytes = is_forward ? bytes : 0,
                      .scope = fmt::format("{}", stage)};
    if (at > 0) {
      op.producers.emplace_back(at - 1);
    }
    if (at > stages) {
      op.producers.emplace_back(stage);
    }
    ops.push_back(std::move(op));
  }
  OpGraph graph = test::make_graph(ops);
  for (std::size_t at = 0; at < ops.size(); ++at) {
    graph[at].phase = std::cmp_less(at, stages) ? Phase::kForward : Phase::kBackward;
  }
  return graph;
}

struct Step {
  double us;
  std::int64_t first_peak_bytes;  // on the device of the first stage
};

// Runs `count` such micro-batches with a device for each stage.
Step run(const OpGraph& part, int stages, int count, const MicroBatchSchedule& schedule) {
  const std::vector<std::reference_wrapper<const OpGraph>> parts(static_cast<std::size_t>(count),
                                                                 part);
  auto graph = std::make_shared<const OpGraph>(micro_batches(part, parts, schedule));
  Grouping groups = find_grouping("colocation").group(*graph, 1);
  const Problem problem(graph, std::move(groups), test::make_cluster({.num_devices = stages}));
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    const OpId first = problem.grouping().members(group).front();
    placement[group] = std::stoi(problem.op(first).scope);
  }
  Simulator simulator(problem);
  const SimResult& step = simulator.run(placement);
  return {step.makespan_us, step.peak_bytes.front()};
}

double step_us(int stages, int count, bool backward, const MicroBatchSchedule& schedule = {}) {
  return run(chain(stages, backward, 0), stages, count, schedule).us;
}

class Pipeline : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  int stages() const { return std::get<0>(GetParam()); }
  int count() const { return std::get<1>(GetParam()); }
};

// Huang et al. 2019, section 2.3: K micro-batches on S stages take K + S - 1 times one stage.
TEST_P(Pipeline, OfInferenceFillsOnce) {
  EXPECT_DOUBLE_EQ(step_us(stages(), count(), false), (count() + stages() - 1) * kForwardUs);
}

// Also with what Narayanan et al. 2021, section 2.2, keep in flight: one for each stage.
TEST_P(Pipeline, OfTrainingFillsAndDrainsOnce) {
  const double expected_us = (count() + stages() - 1) * (kForwardUs + kBackwardUs);
  for (const auto order : {kOneForwardOneBackward, kZeroBubble, kGPipe, kAsReady}) {
    EXPECT_DOUBLE_EQ(step_us(stages(), count(), true, {.order = order}), expected_us);
  }
  EXPECT_DOUBLE_EQ(step_us(stages(), count(), true, {.in_flight = stages()}), expected_us);
}

TEST_P(Pipeline, OfOneInFlightIsNoPipeline) {
  EXPECT_DOUBLE_EQ(step_us(stages(), count(), true, {.in_flight = 1}),
                   count() * stages() * (kForwardUs + kBackwardUs));
}

// Narayanan et al. 2021, section 2.2: by GPipe's schedule the first stage keeps what all
// micro-batches have made there, and one for each stage if only so many are in flight.
TEST_P(Pipeline, KeepsWhatIsInFlight) {
  const OpGraph part = chain(stages(), true, 100);
  const auto peak_bytes = [&](const MicroBatchSchedule& schedule) {
    return run(part, stages(), count(), schedule).first_peak_bytes;
  };
  EXPECT_EQ(peak_bytes({.order = kGPipe}), 100 * count());
  EXPECT_EQ(peak_bytes({.in_flight = stages()}), 100 * std::min(count(), stages()));
}

// Stages forward and backward, of which each has a gradient of data, with which the stage before
// goes on, and one of weights. All take as long.
OpGraph chain_with_weights(int stages) {
  std::vector<test::OpSketch> ops;
  const auto add = [&](std::string_view name, int stage, std::vector<OpId> producers) {
    ops.push_back({.name = fmt::format("{}_{}", name, stage),
                   .cost_us = kForwardUs,
                   .producers = std::move(producers),
                   .scope = fmt::format("{}", stage)});
    return static_cast<OpId>(ops.size() - 1);
  };
  std::vector<OpId> made;
  for (int stage = 0; stage < stages; ++stage) {
    made.push_back(
        add("forward", stage, stage == 0 ? std::vector<OpId>() : std::vector<OpId>{made.back()}));
  }
  OpId gradient = made.back();
  for (int stage = stages; stage-- > 0;) {
    const std::vector<OpId> reads = {gradient, made[static_cast<std::size_t>(stage)]};
    add("weights", stage, reads);
    gradient = add("data", stage, reads);
  }
  OpGraph graph = test::make_graph(ops);
  for (std::size_t at = made.size(); at < ops.size(); ++at) {
    graph[at].phase = Phase::kBackward;
  }
  return graph;
}

// Qi et al., ICLR 2024, table 1: the bubble is S - 1 times F + B + W by 1F1B, and F + B - W if
// gradients of weights wait (ZB-H1).
TEST_P(Pipeline, HasASmallerBubbleIfGradientsOfWeightsWait) {
  const int parts = std::max(count(), stages());
  const auto us = [&](MicroBatchSchedule::Order order) {
    return run(chain_with_weights(stages()), stages(), parts, {.order = order}).us;
  };
  const double work_us = parts * 3 * kForwardUs;
  EXPECT_DOUBLE_EQ(us(kOneForwardOneBackward), work_us + (stages() - 1) * 3 * kForwardUs);
  EXPECT_DOUBLE_EQ(us(kZeroBubble), work_us + (stages() - 1) * kForwardUs);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Pipeline,
                         testing::Combine(testing::Values(1, 2, 4, 8),
                                          testing::Values(1, 3, 8, 16)));

}  // namespace
}  // namespace emplace::pipeline_test
