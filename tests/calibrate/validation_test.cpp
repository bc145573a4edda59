#include <emplace/calibrate/validation.hpp>

#include <calibrate/hashing_device.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <support/problems.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

namespace emplace::calibrate::validation_test {
namespace {

using test::chain_graph;
using test::make_problem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<DeviceId> devices_of(const std::vector<NamedPlacement>& placements,
                                 const std::string& name) {
  const auto found = std::ranges::find(placements, name, &NamedPlacement::name);
  EXPECT_NE(found, placements.end()) << name;
  const std::span<const DeviceId> devices = found->placement.devices();
  return {devices.begin(), devices.end()};
}

TEST(ValidationPlacements, CutTheStepWhereTheTwoPartsHaveTheRatioWanted) {
  // Six ops of 100 us on two like devices.
  const Problem problem = make_problem(chain_graph({100, 100, 100, 100, 100, 100}, 8));
  const auto placements = validation_placements(problem, 3, 1);
  EXPECT_THAT(placements, SizeIs(2 + 2 * 3 + 3));
  EXPECT_THAT(devices_of(placements, "gpu:0"), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(devices_of(placements, "gpu:1"), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(devices_of(placements, "gpu:0 then gpu:1, 1:2"), ElementsAre(0, 0, 1, 1, 1, 1));
  EXPECT_THAT(devices_of(placements, "gpu:0 then gpu:1, 1:1"), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(devices_of(placements, "gpu:1 then gpu:0, 2:1"), ElementsAre(1, 1, 1, 1, 0, 0));
}

TEST(ValidationPlacements, GiveTheSlowDeviceLess) {
  // On the CPU each op takes ten times as long: one of eleven for it is as long as the other ten.
  const Problem problem = make_problem(chain_graph(std::vector<double>(11, 100), 8),
                                       {.num_devices = 1, .with_cpu = true});
  const auto placements = validation_placements(problem, 3, 1);
  EXPECT_THAT(devices_of(placements, "cpu:0 then gpu:0, 1:1"),
              ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  // Random placements would leave the CPU alone, so there is none on one GPU.
  EXPECT_THAT(placements, SizeIs(2 + 2 * 3));
}

TEST(Validation, ComparesEveryPlacementAndEveryOp) {
  // Two distinct ops: the profile says 100 us of both; the device measures 80.
  OpGraph graph = chain_graph({100, 100, 100}, 8);
  graph[2].shape = {7};
  const Problem problem = make_problem(std::move(graph));
  HashingDevice devices[] = {HashingDevice("gpu:0"), HashingDevice("gpu:1")};
  devices[0].next_run = [] { return TimedRun{.us = 80}; };
  ComputeDevice* const used[] = {&devices[0], &devices[1]};
  const auto placements = validation_placements(problem, 2, 1);
  const ValidationOptions options{.max_steps = 3};
  Validation result = validate_steps("chain", problem, placements, used, options, kSilent);
  validate_ops(problem, used, options, kSilent, result);
  ASSERT_THAT(result.steps, SizeIs(placements.size()));
  EXPECT_EQ(result.steps[0].predicted_us, 300);
  for (const ValidatedStep& step : result.steps) {
    EXPECT_GT(step.measured_us, 0);
  }
  // Devices of one profile are measured once.
  ASSERT_THAT(result.ops, SizeIs(1));
  EXPECT_EQ(result.ops[0].device, "gpu:0");
  EXPECT_EQ(result.ops[0].source, CostSource::kMeasured);
  EXPECT_EQ(result.ops[0].ops, 2);
  EXPECT_DOUBLE_EQ(result.ops[0].mean_error, 100.0 / 80 - 1);
  EXPECT_THAT(result.left_out, IsEmpty());
}

TEST(Validation, LeavesOutWhatDoesNotFitAndSaysWhere) {
  const Problem problem =
      make_problem(chain_graph({1, 1}, 1000), {.num_devices = 1, .memory_bytes = 10});
  HashingDevice device("gpu:0");
  ComputeDevice* const used[] = {&device};
  const auto placements = validation_placements(problem, 2, 1);
  const Validation result = validate_steps("chain", problem, placements, used, {}, kSilent);
  EXPECT_THAT(result.steps, IsEmpty());
  EXPECT_THAT(result.left_out, ElementsAre(HasSubstr("gpu:0: gpu:0 has too little memory")));
  EXPECT_FALSE(result.mean_step_error.has_value());
}

TEST(Validation, LeavesOutAStepThatTakesNoTime) {
  const Problem problem = make_problem(chain_graph({0, 0}, 0), {.num_devices = 1});
  HashingDevice device("gpu:0");
  ComputeDevice* const used[] = {&device};
  const auto placements = validation_placements(problem, 0, 1);
  const ValidationOptions options{.seconds_per_placement = 0};
  const Validation result = validate_steps("chain", problem, placements, used, options, kSilent);
  EXPECT_THAT(result.steps, IsEmpty());
  EXPECT_FALSE(result.mean_step_error.has_value());
  EXPECT_THAT(result.left_out, ElementsAre(HasSubstr("gpu:0: the simulated step takes no time")));
}

// What a cluster says of copies holds for pinned memory.
TEST(Validation, TensorsOfACpuBesideGpusAreInPinnedMemory) {
  const Problem problem =
      make_problem(chain_graph({100, 100}, 8), {.num_devices = 1, .with_cpu = true});
  const ValidationOptions options{.warm_up_steps = 0, .max_steps = 1, .min_steps = 1};
  const auto pinned_bytes = [&](DeviceKind kind, DeviceId placed_on) {
    HashingDevice gpu("gpu:0", kind);
    HashingDevice cpu("cpu:0");
    ComputeDevice* const used[] = {&gpu, &cpu};
    const NamedPlacement placement{.name = "all",
                                   .placement = Placement(problem.num_groups(), placed_on)};
    const Validation result =
        validate_steps("chain", problem, std::span(&placement, 1), used, options, kSilent);
    EXPECT_THAT(result.steps, SizeIs(1));
    EXPECT_EQ(cpu.pinned_bytes, 0);
    return gpu.pinned_bytes;
  };
  EXPECT_GE(pinned_bytes(DeviceKind::kGpu, 1), 8);
  EXPECT_EQ(pinned_bytes(DeviceKind::kGpu, 0), 0);
  EXPECT_EQ(pinned_bytes(DeviceKind::kCpu, 1), 0);
}

TEST(Validation, LeavesOutThePlacementDuringWhichItIsStopped) {
  const Problem problem = make_problem(chain_graph({100, 100, 100}, 8));
  std::atomic<bool> stop{false};
  HashingDevice devices[] = {HashingDevice("gpu:0"), HashingDevice("gpu:1")};
  // The second placement has all ops on this device.
  devices[1].before_run = [&] { stop = true; };
  ComputeDevice* const used[] = {&devices[0], &devices[1]};
  const auto placements = validation_placements(problem, 2, 1);
  const ValidationOptions options{.max_steps = 3, .sampling = {.stop = &stop}};
  Validation result = validate_steps("chain", problem, placements, used, options, kSilent);
  validate_ops(problem, used, options, kSilent, result);
  ASSERT_THAT(result.steps, SizeIs(1));
  EXPECT_EQ(result.steps[0].placement, "gpu:0");
  EXPECT_THAT(result.ops, IsEmpty());
  EXPECT_THAT(result.left_out, ElementsAre("9 of 10 placements: validation was stopped before them",
                                           HasSubstr("1 ops: validation was stopped before them")));

  result = validate_steps("chain", problem, placements, used, options, kSilent);
  EXPECT_FALSE(result.mean_step_error.has_value());
  EXPECT_THAT(result.left_out,
              ElementsAre("10 of 10 placements: validation was stopped before them"));
}

TEST(ValidatedStep, TellsBySignWhetherThePredictionIsTooHigh) {
  const ValidatedStep step{.placement = "", .predicted_us = 110, .measured_us = 100};
  EXPECT_NEAR(step.error(), 0.1, 1e-12);
}

}  // namespace
}  // namespace emplace::calibrate::validation_test
