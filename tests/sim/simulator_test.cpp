#include "support/problems.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/check.hpp>
#include <emplace/graphs/random.hpp>
#include <emplace/sim/simulator.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
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

Problem inception() {
  auto graph = std::make_shared<const OpGraph>(load_graph("inception-v3"));
  Grouping grouping = group_ops(*graph);
  return Problem(std::move(graph), std::move(grouping),
                 std::make_shared<const Cluster>(load_cluster("p2-8xlarge-4")));
}

Placement random_placement(const Problem& problem, RandomStream& random) {
  Placement placement(problem.num_groups());
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    placement[group] =
        static_cast<DeviceId>(random.below(static_cast<std::uint64_t>(problem.num_devices())));
  }
  return placement;
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
  const Problem problem = inception();
  Simulator used(problem);
  RandomStream random(3);
  for (int round = 0; round < 20; ++round) {
    const Placement placement = random_placement(problem, random);
    const SimResult& again = used.run(placement);
    Simulator fresh(problem);
    const SimResult& first = fresh.run(placement);
    ASSERT_EQ(again.makespan_us, first.makespan_us);
    ASSERT_TRUE(std::equal(again.start_us.begin(), again.start_us.end(), first.start_us.begin()));
    ASSERT_TRUE(
        std::equal(again.peak_bytes.begin(), again.peak_bytes.end(), first.peak_bytes.begin()));
  }
}

TEST(Simulator, AllocatesNothingAfterItsFirstRun) {
  const Problem problem = inception();
  Simulator simulator(problem);
  RandomStream random(4);
  std::vector<Placement> placements;
  for (int round = 0; round < 20; ++round) {
    placements.push_back(random_placement(problem, random));
  }
  simulator.run(placements.front());
  const long before = allocations;
  for (const Placement& placement : placements) {
    simulator.run(placement);
  }
  EXPECT_EQ(allocations - before, 0);
}

TEST(Simulator, APlacementOfAnotherProblemIsOurMistake) {
  const Problem problem = make_problem(test::diamond_graph(1));
  Simulator simulator(problem);
  EXPECT_THROW(simulator.run(Placement(3)), InternalError);
  EXPECT_THROW(simulator.run(Placement(4, 2)), InternalError);
}

}  // namespace
}  // namespace emplace
