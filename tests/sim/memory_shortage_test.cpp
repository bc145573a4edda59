#include "support/problems.hpp"
#include "support/reused_memory.hpp"
#include "support/tight_steps.hpp"

#include <emplace/graphs/grouping.hpp>
#include <emplace/sim/memory_shortage.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::memory_shortage_test {
namespace {

using Kind = MemoryShortage::Kind;

// Three layers forward and back: each forward op's 100 bytes are read by the next one and by its
// gradient, so 300 bytes are there while the loss is computed and while b3 reads it, which
// takes 10 and 1 more.
OpGraph three_layers() {
  return test::make_graph(
      {{.name = "f1", .cost_us = 10, .output_bytes = 100, .persistent_bytes = 20},
       {.name = "f2", .cost_us = 10, .output_bytes = 100, .producers = {0}, .persistent_bytes = 20},
       {.name = "f3", .cost_us = 10, .output_bytes = 100, .producers = {1}, .persistent_bytes = 20},
       {.name = "loss", .cost_us = 10, .output_bytes = 10, .producers = {2}},
       {.name = "b3", .cost_us = 10, .output_bytes = 1, .producers = {3, 2}},
       {.name = "b2", .cost_us = 10, .output_bytes = 1, .producers = {4, 1}},
       {.name = "b1", .cost_us = 10, .output_bytes = 1, .producers = {5, 0}}});
}

TEST(MemoryShortage, CountsWhatIsThereAtTheLossOnAllDevicesTogether) {
  const Problem enough =
      test::make_problem(three_layers(), {.num_devices = 2, .memory_bytes = 190});
  EXPECT_FALSE(find_memory_shortage(enough));
  // 60 of weights, 300 of activations, 10 of the loss and 1 of b3.
  const Problem less = test::make_problem(three_layers(), {.num_devices = 2, .memory_bytes = 185});
  const auto shortage = find_memory_shortage(less);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->kind, Kind::kAllDevices);
  EXPECT_EQ(shortage->needed_bytes, 371);
  EXPECT_EQ(shortage->memory_bytes, 370);
  EXPECT_EQ(describe(less, *shortage),
            "weights, optimizer slots and tensors take 0.000 GB while b3 runs; all placeable "
            "devices have 0.000 GB");
}

TEST(MemoryShortage, KnowsThatWeightsAloneAreTooMuch) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "a", .persistent_bytes = 60},
                                           {.name = "b", .persistent_bytes = 60}}),
                         {.num_devices = 1, .memory_bytes = 100});
  const auto shortage = find_memory_shortage(problem);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->needed_bytes, 60);  // packing: one of two such groups fits
  EXPECT_EQ(shortage->kind, Kind::kPacking);
}

TEST(MemoryShortage, FindsTheOpThatFitsOnNoDevice) {
  const Problem problem =
      test::make_problem(test::make_graph({{.name = "small", .cost_us = 5, .output_bytes = 10},
                                           {.name = "large",
                                            .cost_us = 5,
                                            .output_bytes = 70,
                                            .producers = {0},
                                            .persistent_bytes = 40}}),
                         {.num_devices = 4, .memory_bytes = 100});
  const auto shortage = find_memory_shortage(problem);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->kind, Kind::kOneDevice);
  EXPECT_EQ(shortage->group, 1);
  EXPECT_EQ(shortage->op, 1);
  EXPECT_EQ(shortage->needed_bytes, 110);
  EXPECT_EQ(shortage->memory_bytes, 100);
}

TEST(MemoryShortage, CountsGroupsThatCannotShareADevice) {
  std::vector<test::OpSketch> ops;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    ops.push_back({.name = name, .persistent_bytes = 40});
  }
  // 200 bytes in all and 240 of memory, but a device has room for one of them.
  const Problem problem =
      test::make_problem(test::make_graph(ops), {.num_devices = 4, .memory_bytes = 60});
  const auto shortage = find_memory_shortage(problem);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->kind, Kind::kPacking);
  EXPECT_EQ(shortage->num_groups, 5);
  EXPECT_EQ(shortage->max_groups, 4);
}

TEST(MemoryShortage, DoesNotCountDevicesThatAreNotPlaceable) {
  const Problem problem =
      test::make_problem(three_layers(), {.num_devices = 1, .memory_bytes = 200, .with_cpu = true});
  EXPECT_TRUE(find_memory_shortage(problem));
}

// The same layers as one group, on two devices: 60 + 300 + 10 + 1 bytes must be on one of them.
TEST(MemoryShortage, CountsWhatIsThereInAGroup) {
  auto graph = std::make_shared<const OpGraph>(three_layers());
  const auto in_one_group = [&](std::int64_t memory_bytes) {
    return Problem(graph, group_ops(*graph, 1),
                   test::make_cluster({.num_devices = 2, .memory_bytes = memory_bytes}));
  };
  EXPECT_FALSE(find_memory_shortage(in_one_group(371)));
  const auto shortage = find_memory_shortage(in_one_group(370));
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->kind, Kind::kOneDevice);
  EXPECT_EQ(shortage->needed_bytes, 371);
}

// Brute force: where some placement fits, nothing is proven; and much is where none does.
TEST(MemoryShortage, IsNeverFoundWhereAPlacementFits) {
  RandomStream random(1);
  for (const TransferModel model :
       {TransferModel::kPlaceto, TransferModel::kPhysical, TransferModel::kGrappler}) {
    for (const GroupId num_groups : {0, 3}) {
      int proven = 0;
      for (int trial = 0; trial < 300; ++trial) {
        test::RandomStep step = test::draw_small_step(random);
        if (trial >= 200) {
          test::reuse_memory(step.graph, [&](std::uint64_t bound) { return random.below(bound); });
        }
        const auto with_memory = [&](std::int64_t memory_bytes) {
          return test::with_memory(step, model, memory_bytes, num_groups);
        };
        const std::int64_t least = test::least_memory_bytes(with_memory(test::kGigabyte));
        ASSERT_FALSE(find_memory_shortage(with_memory(least)));
        proven += least > 0 && find_memory_shortage(with_memory(least - 1));
      }
      EXPECT_GT(proven, 135) << num_groups;
    }
  }
}

}  // namespace
}  // namespace emplace::memory_shortage_test
