#include "repair/repair.hpp"

#include "support/problems.hpp"
#include "support/tight_steps.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents::repair_test {
namespace {

using Devices = std::vector<DeviceId>;

TEST(Repair, KeepsWhatFits) {
  const Problem problem = test::make_problem(test::diamond_graph(10), {.memory_bytes = 30});
  Simulator simulator(problem);
  const Placement placement(Devices{0, 0, 0, 0});
  const Repair repaired = repair(problem, simulator, placement);
  EXPECT_EQ(repaired.status, RepairStatus::kFits);
  EXPECT_EQ(repaired.placement, placement);
  EXPECT_EQ(repaired.step_time_us, 550);
  EXPECT_EQ(repaired.simulations, 1);
}

// Weights of 60, 10 and 40 bytes in a row that sends 30 bytes from a to b and 1 from b to c: 141
// bytes at once. Both a and c free enough; c makes transfers longer by 1 us for 40 bytes, a by 30
// us for 90.
TEST(Repair, MovesWhatLosesLeastForItsBytes) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 30, .persistent_bytes = 60},
                        {.name = "b",
                         .cost_us = 10,
                         .output_bytes = 1,
                         .producers = {0},
                         .persistent_bytes = 10},
                        {.name = "c", .cost_us = 10, .producers = {1}, .persistent_bytes = 40}}),
      {.memory_bytes = 105});
  Simulator simulator(problem);
  const Repair repaired = repair(problem, simulator, Placement(Devices{0, 0, 0}));
  EXPECT_EQ(repaired.status, RepairStatus::kFits);
  EXPECT_EQ(repaired.placement, Placement(Devices{0, 0, 1}));
  EXPECT_EQ(repaired.step_time_us, 31);
  EXPECT_EQ(repaired.simulations, 2);
}

// Weights of 10, 20, 30 and 40 bytes and room for 59: only {10, 40} and {20, 30} fit, two exchanges
// away.
TEST(Repair, ExchangesGroupsWhereNoneFitsInAddition) {
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .persistent_bytes = 10},
                        {.name = "b", .producers = {0}, .persistent_bytes = 20},
                        {.name = "c", .producers = {1}, .persistent_bytes = 30},
                        {.name = "d", .producers = {2}, .persistent_bytes = 40}}),
      {.memory_bytes = 59});
  Simulator simulator(problem);
  EXPECT_EQ(repair(problem, simulator, Placement(Devices{0, 0, 1, 0})).status, RepairStatus::kFits);
}

TEST(Repair, SaysThatNothingFits) {
  const Problem problem =
      test::make_problem(test::fork_join_graph(6, 2000), {.num_devices = 2, .memory_bytes = 1000});
  Simulator simulator(problem);
  const Placement placement(problem.num_groups());
  const Repair repaired = repair(problem, simulator, placement);
  EXPECT_EQ(repaired.status, RepairStatus::kInfeasible);
  EXPECT_EQ(repaired.placement, placement);
  EXPECT_GT(repaired.bytes_over, 0);
}

TEST(Repair, UsesPlaceableDevicesOnly) {
  std::vector<test::OpSketch> ops;
  for (const char* name : {"a", "b", "c", "d"}) {
    ops.push_back({.name = name, .persistent_bytes = 50});
  }
  const Problem problem = test::make_problem(
      test::make_graph(ops), {.num_devices = 2, .memory_bytes = 100, .with_cpu = true});
  Simulator simulator(problem);
  const Repair repaired = repair(problem, simulator, Placement(Devices{0, 0, 0, 0}));
  EXPECT_EQ(repaired.status, RepairStatus::kFits);
  for (const DeviceId device : repaired.placement.devices()) {
    EXPECT_LT(device, 2);
  }
}

TEST(Repair, LeavesWhatFitsOnDevicesThatAreNotPlaceable) {
  // The large one fits on the CPU alone.
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "large", .persistent_bytes = 150},
                                           {.name = "a", .persistent_bytes = 60},
                                           {.name = "b", .persistent_bytes = 60}}),
                         {.num_devices = 2, .memory_bytes = 100, .with_cpu = true});
  Simulator simulator(problem);
  const Repair repaired = repair(problem, simulator, Placement(Devices{2, 0, 0}));
  EXPECT_EQ(repaired.status, RepairStatus::kFits);
  EXPECT_EQ(repaired.placement[0], 2);
  EXPECT_EQ(repair(problem, simulator, Placement(Devices{0, 0, 0})).status,
            RepairStatus::kInfeasible);
}

TEST(Repair, KeepsToItsBudgetAndReturnsTheBestOfIt) {
  RandomStream random(3);
  for (int trial = 0; trial < 100; ++trial) {
    const test::RandomStep step = test::draw_small_step(random);
    const Problem problem = test::with_memory(step, TransferModel::kPhysical, 500);
    Simulator simulator(problem);
    for (const std::int64_t budget : {1, 2, 3}) {
      const Repair repaired = repair(problem, simulator, step.placement, budget);
      ASSERT_LE(repaired.simulations, budget);
      const SimResult& result = simulator.run(repaired.placement);
      ASSERT_EQ(result.bytes_over, repaired.bytes_over);
      ASSERT_EQ(result.makespan_us, repaired.step_time_us);
      ASSERT_EQ(repaired.status == RepairStatus::kFits, repaired.bytes_over == 0);
    }
  }
}

// Brute force knows the least memory with which a placement fits. With exactly that, one placement
// of thousands may fit; with a quarter more there are some.
TEST(Repair, FindsMostOfWhatFits) {
  RandomStream random(2);
  for (const TransferModel model :
       {TransferModel::kPlaceto, TransferModel::kPhysical, TransferModel::kGrappler}) {
    int tight = 0;
    int with_some_room = 0;
    constexpr int kTrials = 300;
    for (int trial = 0; trial < kTrials; ++trial) {
      const test::RandomStep step = test::draw_small_step(random);
      const std::int64_t least =
          test::least_memory_bytes(test::with_memory(step, model, test::kGigabyte));
      const auto fits = [&](std::int64_t memory_bytes) {
        const Problem problem = test::with_memory(step, model, memory_bytes);
        Simulator simulator(problem);
        const Repair repaired = repair(problem, simulator, step.placement);
        EXPECT_NE(repaired.status, RepairStatus::kInfeasible);
        return repaired.status == RepairStatus::kFits;
      };
      tight += fits(least);
      with_some_room += fits(least + least / 4);
    }
    EXPECT_GT(tight, kTrials * 85 / 100) << static_cast<int>(model);
    EXPECT_GT(with_some_room, kTrials * 97 / 100) << static_cast<int>(model);
  }
}

}  // namespace
}  // namespace emplace::agents::repair_test
