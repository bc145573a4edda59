// The order of a list scheduler's plan, as priorities of its placement.

#include "support/problems.hpp"
#include "support/test_names.hpp"

#include <emplace/agents/agent_spec.hpp>
#include <emplace/base/random.hpp>
#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace emplace::agents::plan_order_test {
namespace {

Placement placed(const std::string& agent, const Problem& problem) {
  Evaluator evaluator(problem, {.budget = {.max_evaluations = 2}});
  Placement placement = AgentSpec(agent).make()->place(problem, evaluator);
  EXPECT_EQ(evaluator.budget().evaluations(), agent.ends_with(":order=faster") ? 2 : 0) << agent;
  return placement;
}

double step_us(const Problem& problem, const Placement& placement) {
  return Simulator(problem).run(placement).makespan_us;
}

class PlanOrders : public ::testing::TestWithParam<const char*> {};

TEST_P(PlanOrders, HandsItsOrderOverWhereItIsAsked) {
  const std::string agent = GetParam();
  RandomStream random(3);
  int shorter = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<test::OpSketch> ops;
    for (int op = 0; op < 40; ++op) {
      test::OpSketch sketch{.name = "op" + std::to_string(op),
                            .cost_us = static_cast<double>(1 + random.below(100)),
                            .output_bytes = static_cast<std::int64_t>(random.below(30))};
      for (std::uint64_t left = op == 0 ? 0 : random.below(3); left > 0; --left) {
        sketch.producers.push_back(static_cast<OpId>(random.below(static_cast<std::uint64_t>(op))));
      }
      ops.push_back(sketch);
    }
    const Problem problem = test::make_problem(test::make_graph(ops), {.num_devices = 3});
    const Placement by_queue = placed(agent, problem);
    const Placement by_plan = placed(agent + ":order=plan", problem);
    const Placement faster = placed(agent + ":order=faster", problem);
    EXPECT_FALSE(by_queue.has_priorities());
    ASSERT_TRUE(by_plan.has_priorities());
    EXPECT_THAT(by_plan.devices(), testing::ElementsAreArray(by_queue.devices()));
    const double queue_us = step_us(problem, by_queue);
    const double plan_us = step_us(problem, by_plan);
    EXPECT_EQ(step_us(problem, faster), std::min(queue_us, plan_us));
    EXPECT_EQ(faster.has_priorities(), plan_us < queue_us);
    shorter += plan_us < queue_us;
  }
  EXPECT_GT(shorter, 0);
}

INSTANTIATE_TEST_SUITE_P(All, PlanOrders,
                         ::testing::Values("heft", "cpop", "peft", "etf", "dls", "min-min",
                                           "max-min", "m-etf"),
                         test::kNamedByParameter);

}  // namespace
}  // namespace emplace::agents::plan_order_test
