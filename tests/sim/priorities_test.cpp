// Worked examples of "Priorities" in docs/concepts/simulation.md; the rule books of rules_test.cpp
// and physical_rules_test.cpp know them, too.

#include "support/machines.hpp"
#include "support/problems.hpp"

#include <emplace/sim/simulator.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace emplace::priorities_test {
namespace {

// a(100) and b(10) on device 0, c(100) on device 1 after b.
OpGraph queue_graph() {
  return test::make_graph({{.name = "a", .cost_us = 100},
                           {.name = "b", .cost_us = 10},
                           {.name = "c", .cost_us = 100, .producers = {1}}});
}

Placement ordered(std::vector<DeviceId> devices, std::vector<Priority> priorities) {
  Placement placement(std::move(devices));
  placement.set_priorities(std::move(priorities));
  return placement;
}

TEST(Priorities, DecideWhichReadyOpRunsNext) {
  const Problem problem = test::make_problem(queue_graph());
  Simulator simulator(problem);
  const std::vector<DeviceId> devices{0, 0, 1};
  EXPECT_DOUBLE_EQ(simulator.run(Placement(devices)).makespan_us, 210);
  EXPECT_DOUBLE_EQ(simulator.run(ordered(devices, {0, 1, 0})).makespan_us, 110);
  EXPECT_DOUBLE_EQ(simulator.run(Placement(devices)).makespan_us, 210);  // none are left over
  EXPECT_DOUBLE_EQ(simulator.run(ordered(devices, {7, 7, 7})).makespan_us, 210);
  EXPECT_DOUBLE_EQ(simulator.run(ordered(devices, {0, -1, 0})).makespan_us, 210);
}

// Those of the graph count first.
TEST(Priorities, OfTheGraphAreASchedule) {
  OpGraph graph = queue_graph();
  graph[1].priority = 1;
  const Problem problem = test::make_problem(std::move(graph));
  Simulator simulator(problem);
  const std::vector<DeviceId> devices{0, 0, 1};
  EXPECT_DOUBLE_EQ(simulator.run(Placement(devices)).makespan_us, 110);
  EXPECT_DOUBLE_EQ(simulator.run(ordered(devices, {1, 0, 0})).makespan_us, 110);
}

// x(10) comes before y(5) on device 0; z(20) is ready at once and has the lowest priority.
TEST(Priorities, ADeviceNeverWaitsForAnOpThatIsNotReady) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "x", .cost_us = 10},
                                           {.name = "y", .cost_us = 5, .producers = {0}},
                                           {.name = "z", .cost_us = 20}}));
  const StepRecord record = Simulator(problem).record(ordered({1, 0, 0}, {0, 9, -9}));
  EXPECT_THAT(record.start_us, testing::ElementsAre(0, 20, 0));
  EXPECT_TRUE(record.placement.has_priorities());
}

// Moves by one group, as a search makes them, with priorities and without, in turn.
TEST(Priorities, RunsOfBothKindsDoNotDisturbEachOther) {
  const Problem problem = test::make_problem(test::crossing_graph(), {.num_devices = 3});
  Simulator one(problem);
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    for (DeviceId device = 0; device < 3; ++device) {
      Placement placement(problem.num_groups());
      placement[group] = device;
      EXPECT_EQ(one.run(placement).makespan_us, Simulator(problem).run(placement).makespan_us);
      IdVector<GroupId, Priority> priorities;
      for (GroupId other = 0; other < problem.num_groups(); ++other) {
        priorities.push_back((other * 5) % 7);
      }
      placement.set_priorities(priorities);
      EXPECT_EQ(one.run(placement).makespan_us, Simulator(problem).run(placement).makespan_us);
    }
  }
}

}  // namespace
}  // namespace emplace::priorities_test
