#include "support/machines.hpp"
#include "support/problems.hpp"
#include "support/walks.hpp"

#include <emplace/base/check.hpp>
#include <emplace/base/random.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

std::atomic<long> allocations{0};

}  // namespace

// Counts the allocations of this test program. Not inlined, because gcc then takes the pair for a
// mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc();
}
// std::stable_sort allocates this way.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace emplace {
namespace {

using test::make_problem;

Problem inception(TransferModel model, LinkSharing sharing = LinkSharing::kFair) {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  Grouping grouping = group_ops(*graph);
  Cluster cluster = load_cluster("p2-8xlarge-4");
  const Link link{.bytes_per_us = 7600, .latency_us = 5, .sharing = sharing};
  cluster.transfer_model = model;
  cluster.topology = test::two_switches(static_cast<DeviceId>(cluster.devices.size()), link, link);
  cluster.grappler = {.latency_us = 5, .bytes_per_us = 7600};
  return Problem(std::move(graph), std::move(grouping), std::make_shared<const Cluster>(cluster));
}

// Inception-V3 in each model, and with each policy of links.
std::vector<Problem> all_inceptions() {
  std::vector<Problem> problems;
  problems.push_back(inception(TransferModel::kPlaceto));
  problems.push_back(inception(TransferModel::kGrappler));
  for (const LinkSharing sharing :
       {LinkSharing::kFair, LinkSharing::kFifo, LinkSharing::kFatpipe}) {
    problems.push_back(inception(TransferModel::kPhysical, sharing));
  }
  return problems;
}

TEST(Simulator, OverfullMemoryIsAStatusAndTheTimeIsStillComputed) {
  // a's 60 bytes are alive while b makes its own 60; the device has 100.
  const Problem problem = make_problem(
      test::make_graph({{.name = "a", .cost_us = 10, .output_bytes = 60},
                        {.name = "b", .cost_us = 10, .output_bytes = 60, .producers = {0}}}),
      {.num_devices = 2, .memory_bytes = 100});
  Simulator simulator(problem);
  const SimResult& result = simulator.run(Placement(std::vector<DeviceId>{1, 1}));
  EXPECT_EQ(result.status, StepStatus::kOutOfMemory);
  EXPECT_EQ(result.worst_device, 1);
  EXPECT_EQ(result.bytes_over, 20);
  EXPECT_DOUBLE_EQ(result.makespan_us, 20);
}

TEST(Simulator, WeightsTakeMemoryForTheWholeStep) {
  const Problem problem = make_problem(
      test::make_graph({{.name = "a", .output_bytes = 60}, {.name = "b", .persistent_bytes = 50}}),
      {.num_devices = 2, .memory_bytes = 100});
  Simulator simulator(problem);
  EXPECT_EQ(simulator.run(Placement(std::vector<DeviceId>{0, 1})).status, StepStatus::kOk);
  const SimResult& together = simulator.run(Placement(std::vector<DeviceId>{0, 0}));
  EXPECT_EQ(together.peak_bytes[0], 110);
  EXPECT_EQ(together.status, StepStatus::kOutOfMemory);
}

TEST(Simulator, TellsWhichOutputsWereSentAndWhen) {
  const Problem problem = make_problem(test::diamond_graph(10), {.num_devices = 2});
  Simulator simulator(problem);
  // a(100) on 0 sends 10 bytes at 1 byte/us to c on 1; c sends 10 back to d on 0.
  const StepRecord record = simulator.record(Placement(std::vector<DeviceId>{0, 0, 1, 0}));
  ASSERT_EQ(record.transfers.size(), 2u);
  EXPECT_EQ(record.transfers[0].producer, 0);
  EXPECT_DOUBLE_EQ(record.transfers[0].start_us, 100);
  EXPECT_DOUBLE_EQ(record.transfers[0].end_us, 110);
  EXPECT_EQ(record.transfers[1].producer, 2);
  EXPECT_DOUBLE_EQ(record.transfers[1].start_us, 310);
  // Nothing of that run is left in the next.
  EXPECT_TRUE(simulator.record(Placement(4)).transfers.empty());
}

TEST(Simulator, RunsDoNotInfluenceEachOther) {
  for (const Problem& problem : all_inceptions()) {
    Simulator used(problem);
    RandomStream random(3);
    for (int round = 0; round < 20; ++round) {
      const Placement placement = test::random_placement(problem, random);
      const SimResult& again = used.run(placement);
      Simulator fresh(problem);
      const SimResult& first = fresh.run(placement);
      ASSERT_EQ(again.makespan_us, first.makespan_us);
      ASSERT_TRUE(std::equal(again.start_us.begin(), again.start_us.end(), first.start_us.begin()));
      ASSERT_TRUE(
          std::equal(again.peak_bytes.begin(), again.peak_bytes.end(), first.peak_bytes.begin()));
    }
  }
}

TEST(Simulator, CutsOffStepsThatTakeTheCutoffOrLonger) {
  for (const Problem& problem : all_inceptions()) {
    Simulator simulator(problem);
    Simulator whole(problem);
    RandomStream random(6);
    Placement placement = test::random_placement(problem, random);
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      const double before_us = whole.run(placement).makespan_us;
      placement[group] = (placement[group] + 1) % problem.num_devices();
      const SimResult& step = whole.run(placement);
      const SimResult& cut = simulator.run(placement, before_us);
      ASSERT_EQ(cut.is_cut_off, step.makespan_us >= before_us);
      ASSERT_EQ(cut.makespan_us, std::min(step.makespan_us, before_us));
      if (!cut.is_cut_off) {
        ASSERT_TRUE(std::equal(cut.end_us.begin(), cut.end_us.end(), step.end_us.begin()));
        ASSERT_TRUE(
            std::equal(cut.peak_bytes.begin(), cut.peak_bytes.end(), step.peak_bytes.begin()));
      }
      ASSERT_TRUE(simulator.run(placement, step.makespan_us).is_cut_off);
      ASSERT_FALSE(simulator.run(placement).is_cut_off);
    }
  }
}

TEST(Simulator, AllocatesNothingAfterItsFirstRun) {
  for (const Problem& problem : all_inceptions()) {
    Simulator simulator(problem);
    RandomStream random(4);
    std::vector<Placement> placements;
    for (int round = 0; round < 20; ++round) {
      placements.push_back(test::random_placement(problem, random));
    }
    simulator.run(Placement(problem.num_groups()));  // sends nothing
    const long before = allocations;
    for (const Placement& placement : placements) {
      simulator.run(placement);
    }
    EXPECT_EQ(allocations - before, 0);
  }
}

TEST(Simulator, AllocatesNothingWhenASearchTriesNeighbours) {
  for (const Problem& problem : all_inceptions()) {
    Simulator simulator(problem);
    RandomStream random(5);
    Placement placement = test::random_placement(problem, random);
    simulator.run(placement);
    placement[0] = (placement[0] + 1) % problem.num_devices();
    simulator.run(placement);
    const long before = allocations;
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      placement[group] = (placement[group] + 1) % problem.num_devices();
      simulator.run(placement);
    }
    EXPECT_EQ(allocations - before, 0);
  }
}

TEST(Simulator, TakesAHundredThousandOpsOnSixtyFourDevices) {
  // Each op of 10 us reads two of the fifty before it, and sends 100 bytes at 100 bytes/us.
  RandomStream random(5);
  std::vector<test::OpSketch> ops;
  for (std::uint64_t op = 0; op < 100'000; ++op) {
    ops.push_back({.name = "op_" + std::to_string(op), .cost_us = 10, .output_bytes = 100});
    for (std::uint64_t left = std::min<std::uint64_t>(op, 2); left > 0; --left) {
      const std::uint64_t back = 1 + random.below(std::min<std::uint64_t>(op, 50));
      ops.back().producers.push_back(static_cast<OpId>(op - back));
    }
  }
  const Link link{.bytes_per_us = 100, .latency_us = 1};
  const Problem problem = make_problem(test::make_graph(ops),
                                       test::make_machine(64, test::two_switches(64, link, link)));
  const StepRecord record = Simulator(problem).record(test::random_placement(problem, random));
  EXPECT_GE(record.makespan_us, 100'000 * 10.0 / 64);
  for (std::size_t op = 0; op < ops.size(); ++op) {
    ASSERT_DOUBLE_EQ(record.end_us[op], record.start_us[op] + 10);
    for (const OpId producer : ops[op].producers) {
      ASSERT_GE(record.start_us[op], record.end_us[producer]);
    }
  }
}

TEST(Simulator, TakesFiftyThousandTransfersAtOnce) {
  // One op feeds 50,000, and these feed one, over a link of 100 bytes/us for all: first the 100
  // bytes of the source once, then 100 bytes of each, together.
  const Problem problem =
      make_problem(test::fork_join_graph(50'000, 100),
                   test::make_machine(2, test::bus(2, {.bytes_per_us = 100}), {.slots = 50'000}));
  Placement placement(problem.num_groups(), 1);
  placement[0] = placement[problem.num_groups() - 1] = 0;
  const StepRecord record = Simulator(problem).record(placement);
  EXPECT_EQ(record.transfers.size(), 50'001u);
  EXPECT_NEAR(record.makespan_us, 10 + 1 + 100 + 50'000 + 10, 1e-6);
}

TEST(Simulator, APlacementOfAnotherProblemIsOurMistake) {
  const Problem problem = make_problem(test::diamond_graph(1));
  Simulator simulator(problem);
  EXPECT_THROW(simulator.run(Placement(3)), InternalError);
  EXPECT_THROW(simulator.run(Placement(4, 2)), InternalError);
}

}  // namespace
}  // namespace emplace
