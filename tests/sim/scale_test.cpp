// A graph of 100,000 ops is built, grouped and simulated.

#include "support/groupings.hpp"
#include "support/problems.hpp"

#include <emplace/base/random.hpp>
#include <emplace/graphs/grouping.hpp>
#include <emplace/profiles/cluster.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace emplace::scale_test {
namespace {

constexpr OpId kNumOps = 100'000;

class Scale : public testing::TestWithParam<std::string> {
 protected:
  static Problem make_problem(const std::string& cluster) {
    RandomStream random(5);
    auto graph = std::make_shared<const OpGraph>(
        test::training_graph_of(kNumOps, [&](std::uint64_t bound) { return random.below(bound); }));
    Grouping grouping = group_ops(*graph);
    return Problem(graph, std::move(grouping),
                   std::make_shared<const Cluster>(load_cluster(cluster)));
  }
};

// One cluster for each of the two engines.
INSTANTIATE_TEST_SUITE_P(Clusters, Scale, testing::Values("p2-8xlarge-4", "dgx-1-v100"),
                         [](const testing::TestParamInfo<std::string>& cluster) {
                           return cluster.index == 0 ? "placeto" : "physical";
                         });

TEST_P(Scale, AHundredThousandOpsOnOneDeviceTakeTheSumOfTheirTimes) {
  const Problem problem = make_problem(GetParam());
  EXPECT_EQ(problem.num_groups(), kDefaultGroups);
  const DeviceId device = problem.placeable_devices().front();
  double sum_us = 0;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    sum_us += problem.busy_us(op, device);
  }
  const double makespan_us =
      Simulator(problem).run(Placement(problem.num_groups(), device)).makespan_us;
  EXPECT_NEAR(makespan_us, sum_us, 1e-6 * sum_us);
}

TEST_P(Scale, AHundredThousandOpsOnAllDevicesKeepToTheBound) {
  const Problem problem = make_problem(GetParam());
  Placement placement(problem.num_groups());
  const std::span<const DeviceId> devices = problem.placeable_devices();
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] = devices[static_cast<std::size_t>(group) % devices.size()];
  }
  Simulator simulator(problem);
  const SimResult& step = simulator.run(placement);
  EXPECT_GE(step.makespan_us, lower_bounds(problem).best_us());
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    ASSERT_GT(step.end_us[op], 0) << op;
  }
}

}  // namespace
}  // namespace emplace::scale_test
