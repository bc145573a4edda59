#include "bounds/earliest_starts.hpp"
#include "bounds/precedence.hpp"
#include "support/machines.hpp"
#include "support/small_problems.hpp"

#include <emplace/base/random.hpp>
#include <emplace/bench/case_file.hpp>
#include <emplace/graphs/catalog.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::bounds_test {
namespace {

using bench::read_case;
using bench::SimulationCase;

// Returns a problem of the case's graph on devices that take `factors` times as long as written.
Problem on_devices(const SimulationCase& simulation_case, const std::vector<double>& factors) {
  auto graph = std::make_shared<OpGraph>(simulation_case.problem.graph());
  auto cluster = std::make_shared<Cluster>(simulation_case.problem.cluster());
  const DeviceProfile profile = cluster->profiles.front();
  cluster->profiles.clear();
  cluster->devices.clear();
  for (std::size_t device = 0; device < factors.size(); ++device) {
    cluster->profiles.push_back(profile);
    cluster->profiles.back().device_class = "class-" + std::to_string(device);
    cluster->devices.push_back({.name = "gpu:" + std::to_string(device), .profile = device});
  }
  for (std::size_t op = 0; op < boost::num_vertices(*graph); ++op) {
    const double cost_us = (*graph)[op].measured.front().cost_us;
    (*graph)[op].measured.clear();
    for (std::size_t device = 0; device < factors.size(); ++device) {
      (*graph)[op].measured.push_back(
          {"class-" + std::to_string(device), cost_us * factors[device]});
    }
  }
  Grouping grouping = ungrouped(*graph);
  return Problem(std::move(graph), std::move(grouping), std::move(cluster));
}

SimulationCase case_of(const std::string& nodes, const std::string& edges, int devices) {
  return read_case(R"({"name":"bounds","devices":)" + std::to_string(devices) + R"(,"nodes":[)" +
                       nodes + R"(],"edges":[)" + edges + R"(],"placements":[]})",
                   "bounds");
}

TEST(LowerBounds, ChainIsAsLongAsItsCostsAndTheCheaperWayFromOpToOp) {
  // 100 + min(5.7, 7600 / 7600) + 200 + min(5.7, 76000 / 7600) + 300 + 5.7
  const SimulationCase chain = case_of(
      R"({"id":0,"cost_us":100,"outputs":[7600]},{"id":1,"cost_us":200,"outputs":[76000]},
         {"id":2,"cost_us":300,"outputs":[760]})",
      "[0,0,1],[1,0,2]", 2);
  EXPECT_NEAR(lower_bounds(chain.problem).critical_path_us, 100 + 1 + 200 + 5.7 + 300 + 5.7, 1e-9);
  // The best placement, {0, 1, 1}, takes exactly that: the bound is tight.
  Simulator simulator(chain.problem);
  EXPECT_NEAR(simulator.run(Placement(std::vector<DeviceId>{0, 1, 1})).makespan_us,
              lower_bounds(chain.problem).best_us(), 1e-9);
}

TEST(LowerBounds, IndependentOpsShareTheDevices) {
  const SimulationCase four = case_of(
      R"({"id":0,"cost_us":10,"outputs":[]},{"id":1,"cost_us":10,"outputs":[]},
         {"id":2,"cost_us":10,"outputs":[]},{"id":3,"cost_us":10,"outputs":[]})",
      "", 2);
  EXPECT_NEAR(lower_bounds(four.problem).total_work_us, 4 * 15.7 / 2, 1e-9);
}

TEST(LowerBounds, FasterDevicesTakeMoreOfTheWork) {
  const SimulationCase four = case_of(
      R"({"id":0,"cost_us":1000,"outputs":[]},{"id":1,"cost_us":1000,"outputs":[]},
         {"id":2,"cost_us":1000,"outputs":[]},{"id":3,"cost_us":1000,"outputs":[]})",
      "", 1);
  // Speeds 1 and 1/3: together 4/3 of the fast device, up to the rests of 5.7 us.
  const double work_us = lower_bounds(on_devices(four, {1, 3})).total_work_us;
  EXPECT_NEAR(work_us, 4000 / (4.0 / 3.0), 30);
  EXPECT_LE(work_us, 3 * 1005.7);  // three on the fast device and one on the slow one
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What a placement takes.
struct Trial {
  double makespan_us;
  std::vector<std::int64_t> peak_bytes;  // of each device
};

std::vector<Trial> try_all(const Problem& problem) {
  Simulator simulator(problem);
  std::vector<Trial> trials;
  test::for_each_placement(problem, [&](const Placement& placement) {
    const SimResult& result = simulator.run(placement);
    trials.push_back({result.makespan_us, {result.peak_bytes.begin(), result.peak_bytes.end()}});
  });
  return trials;
}

// Returns the least step time of all placements.
double least_us(const std::vector<Trial>& trials) {
  return std::ranges::min_element(trials, {}, &Trial::makespan_us)->makespan_us;
}

// Returns the least step time of the placements that fit; infinity if none does.
double least_us_that_fits(const Problem& problem, const std::vector<Trial>& trials) {
  double best_us = kInfinity;
  for (const Trial& trial : trials) {
    bool fits = true;
    for (DeviceId device = 0; device < problem.num_devices(); ++device) {
      fits &= trial.peak_bytes[index_of(device)] <= problem.memory_bytes(device);
    }
    best_us = fits ? std::min(best_us, trial.makespan_us) : best_us;
  }
  return best_us;
}

// Returns the bounds that hold for placements that do not fit, too.
LowerBounds without_memory(LowerBounds bounds) {
  bounds.memory_us = 0;
  return bounds;
}

// Returns the same problem with devices of other memory, by their profile.
Problem with_memory(const Problem& problem, const std::vector<std::int64_t>& bytes_of_profile) {
  auto cluster = std::make_shared<Cluster>(problem.cluster());
  for (std::size_t profile = 0; profile < bytes_of_profile.size(); ++profile) {
    cluster->profiles[profile].memory_bytes = bytes_of_profile[profile];
  }
  return Problem(std::make_shared<const OpGraph>(problem.graph()), problem.grouping(),
                 std::move(cluster));
}

TEST(LowerBounds, CostsMayBeTooSmallToInvert) {
  const Problem problem = test::make_problem(test::chain_graph({1e-310}, 0));
  EXPECT_LE(lower_bounds(problem).best_us(), 1e-310);
}

// Returns devices of the speed and links for which the costs of task graphs are meant.
std::shared_ptr<const Cluster> cluster_of(TransferModel model, DeviceId num_devices) {
  auto cluster = std::make_shared<Cluster>(load_cluster("p2-8xlarge-4"));
  cluster->devices.resize(index_of(num_devices));
  cluster->transfer_model = model;
  cluster->grappler = {.latency_us = 10, .bytes_per_us = 7600};
  cluster->topology = test::mesh(num_devices, {.bytes_per_us = 7600, .latency_us = 10});
  return cluster;
}

// Returns the longest head and tail of an op, found within a window.
double longest_us(const Problem& problem, std::size_t window) {
  const bounds::Precedence ops(problem, problem.placeable_devices());
  bounds::Machines machines{.count = problem.num_devices()};
  for (DeviceId device = 0; device < problem.num_devices(); ++device) {
    machines.slots = std::max(machines.slots, static_cast<double>(problem.slots(device)));
  }
  const IdVector<OpId, double> starts_us = bounds::earliest_starts(ops, machines, window);
  const IdVector<OpId, double> tails_us = bounds::earliest_starts(ops.reversed(), machines, window);
  double longest_us = 0;
  for (OpId op = 0; op < problem.num_ops(); ++op) {
    longest_us = std::max(longest_us, starts_us[op] + ops.busy_us(op) + tails_us[op]);
  }
  return longest_us;
}

class LowerBoundsOfModel : public testing::TestWithParam<TransferModel> {};

TEST_P(LowerBoundsOfModel, NoPlacementOfARandomProblemIsFaster) {
  constexpr int kRounds = 1500;
  RandomStream random(5);
  int num_exact = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Problem problem = test::draw_small_problem(
        [&](std::uint64_t bound) { return random.below(bound); }, GetParam(), 1024);
    const std::vector<Trial> trials = try_all(problem);
    ASSERT_LE(lower_bounds(problem).memory_us, least_us_that_fits(problem, trials))
        << "problem " << round;
    const LowerBounds bounds = without_memory(lower_bounds(problem));
    const double best_us = least_us(trials);
    ASSERT_LE(bounds.best_us(), best_us)
        << "problem " << round << ", by " << to_string(bounds.binding_part());
    num_exact += bounds.best_us() * (1 + 1e-12) >= best_us;
    for (const std::size_t window : {1, 2, 4}) {  // smaller than most of these problems
      ASSERT_LE(longest_us(problem, window) * (1 - 1e-12), best_us)
          << "problem " << round << ", window " << window;
    }
  }
  EXPECT_GT(num_exact, kRounds * 7 / 10);
}

TEST_P(LowerBoundsOfModel, NoPlacementThatFitsIntoTightMemoryIsFaster) {
  constexpr int kRounds = 600;
  RandomStream random(7);
  int num_problems = 0;
  int num_by_memory = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Problem problem = test::draw_small_problem(
        [&](std::uint64_t bound) { return random.below(bound); }, GetParam(), 1024);
    const std::vector<Trial> trials = try_all(problem);
    for (int trial = 0; trial < 5; ++trial) {
      // Just what some placement needs.
      const Trial& fitting = trials[random.below(trials.size())];
      std::vector<std::int64_t> bytes(problem.cluster().profiles.size(), 0);
      for (DeviceId device = 0; device < problem.num_devices(); ++device) {
        std::int64_t& most = bytes[problem.device(device).profile];
        most = std::max(most, fitting.peak_bytes[index_of(device)]);
      }
      const Problem tight = with_memory(problem, bytes);
      const LowerBounds bounds = lower_bounds(tight);
      ASSERT_LE(bounds.best_us(), least_us_that_fits(tight, trials))
          << "problem " << round << ", by " << to_string(bounds.binding_part());
      ++num_problems;
      num_by_memory += bounds.binding_part() == LowerBounds::Part::kMemory;
    }
  }
  EXPECT_GT(num_by_memory, num_problems / 20);
}

TEST_P(LowerBoundsOfModel, NoPlacementOfATaskGraphIsFaster) {
  std::vector<std::string> graphs = {"fork-join:width=3,stages=1", "fork-join:width=2,stages=2",
                                     "gaussian-elimination:columns=3", "in-tree:levels=3",
                                     "out-tree:levels=3"};
  for (int seed = 0; seed < 15; ++seed) {
    graphs.push_back(fmt::format("series-parallel:tasks=8,seed={}", seed));
    graphs.push_back(fmt::format("layered:tasks=8,seed={}", seed));
  }
  double sum_gaps = 0;
  int num_problems = 0;
  for (const std::string& graph : graphs) {
    for (const char* const ccr : {"0.1", "0.4", "1.6"}) {
      for (const DeviceId devices : {2, 3}) {
        const std::string name = fmt::format("{},ccr={}", graph, ccr);
        const Problem problem =
            test::make_problem(load_graph(name), cluster_of(GetParam(), devices));
        const double bound_us = lower_bounds(problem).best_us();
        const double best_us = least_us(try_all(problem));
        ASSERT_LE(bound_us, best_us) << name << " on " << devices;
        sum_gaps += gap_to_bound(best_us, bound_us);
        ++num_problems;
      }
    }
  }
  EXPECT_LT(sum_gaps / num_problems, 0.03);  // half the gap of the bare path and the total work
}

INSTANTIATE_TEST_SUITE_P(Models, LowerBoundsOfModel,
                         testing::Values(TransferModel::kPlaceto, TransferModel::kPhysical,
                                         TransferModel::kGrappler),
                         [](const testing::TestParamInfo<TransferModel>& model) {
                           return std::string(to_string(model.param));
                         });

TEST(LowerBounds, AJoinWaitsForABranchOrForATransfer) {
  // Two branches of 100 us: one after the other, or apart, with the ends apart as well, so that
  // each branch has one transfer.
  const Problem apart = test::make_problem(test::fork_join_graph(2, 30));
  EXPECT_NEAR(lower_bounds(apart).stay_or_leave_us, 10 + 30 + 100 + 10, 1e-9);
  EXPECT_EQ(lower_bounds(apart).binding_part(), LowerBounds::Part::kStayOrLeave);
  const Problem together = test::make_problem(test::fork_join_graph(2, 120));
  EXPECT_NEAR(lower_bounds(together).stay_or_leave_us, 10 + 200 + 10, 1e-9);
  EXPECT_NEAR(lower_bounds(together).critical_path_us, 10 + 100 + 10, 1e-9);
}

TEST(LowerBounds, WorkBetweenAForkAndAJoinSharesTheDevices) {
  // Five branches of 100 us on two devices, without bytes: 250 us between 10 and 10.
  const Problem problem = test::make_problem(test::fork_join_graph(5, 0));
  EXPECT_NEAR(lower_bounds(problem).best_us(), 10 + 250 + 10, 1e-9);
}

TEST(LowerBounds, AGroupRunsOnOneDevice) {
  auto graph = std::make_shared<const OpGraph>(test::fork_join_graph(3, 0));
  const Problem problem(graph, Grouping({0, 1, 1, 2, 3}), test::make_cluster({}));
  EXPECT_NEAR(lower_bounds(problem).best_us(), 10 + 200 + 10, 1e-9);
  Simulator simulator(problem);
  EXPECT_DOUBLE_EQ(simulator.run(Placement(std::vector<DeviceId>{0, 0, 1, 0})).makespan_us, 220);
}

TEST(LowerBounds, HoldsForTheDevicesThatItIsTold) {
  const Problem problem =
      test::make_problem(test::fork_join_graph(8, 0), {.with_cpu = true, .with_slow_gpu = true});
  EXPECT_LT(lower_bounds(problem, problem.devices_by_name()).best_us(),
            lower_bounds(problem).best_us());
  const DeviceId one[] = {0};
  EXPECT_NEAR(lower_bounds(problem, one).best_us(), 820, 1e-9);
}

// 23 us of work on two devices take 12 us if all times are whole microseconds; not if a transfer, a
// launch or one op takes a part of one.
TEST(LowerBounds, AreMultiplesOfTheTimeUnit) {
  const auto bound_us = [](double last_us, const test::ClusterSketch& sketch = {},
                           std::int64_t bytes = 0) {
    return lower_bounds(test::make_problem(
                            test::make_graph({{.name = "a", .cost_us = 4},
                                              {.name = "b", .cost_us = 10},
                                              {.name = "c", .cost_us = 2, .output_bytes = bytes},
                                              {.name = "d", .cost_us = last_us, .producers = {2}}}),
                            sketch))
        .best_us();
  };
  EXPECT_EQ(bound_us(7), 12);
  EXPECT_EQ(bound_us(6), 12);  // two times 11, but all costs are even
  EXPECT_NEAR(bound_us(6.5), 11.25, 1e-9);
  EXPECT_NEAR(bound_us(7, {}, 1), 11.5, 1e-9);
  EXPECT_NEAR(bound_us(7, {.gap_after_transfer_us = 0.1}), 11.5, 1e-9);
}

// Four ops of 30 bytes each, of 10 us on the fast device and 20 us on the slow one.
Problem four_ops(bool in_a_chain, std::int64_t fast_bytes, std::int64_t slow_bytes) {
  std::vector<test::OpSketch> ops;
  for (const char* const name : {"a", "b", "c", "d"}) {
    ops.push_back({.name = name, .cost_us = 10, .persistent_bytes = 30});
    if (in_a_chain && ops.size() > 1) {
      ops.back().producers = {static_cast<OpId>(ops.size()) - 2};
    }
  }
  const Problem problem =
      test::make_problem(test::make_graph(ops), {.num_devices = 1, .with_slow_gpu = true});
  return with_memory(problem, {fast_bytes, slow_bytes});
}

TEST(LowerBounds, WhatDoesNotFitOnAFastDeviceRunsOnASlowOne) {
  // Side by side: one op on the fast device, the others on the slow one. In a chain, the ops wait
  // for one another, too.
  for (const auto& [in_a_chain, optimum_us] : {std::pair(false, 60.0), std::pair(true, 70.0)}) {
    const Problem problem = four_ops(in_a_chain, 30, 120);
    EXPECT_DOUBLE_EQ(least_us_that_fits(problem, try_all(problem)), optimum_us);
    const LowerBounds bounds = lower_bounds(problem);
    EXPECT_EQ(bounds.binding_part(), LowerBounds::Part::kMemory);
    EXPECT_LE(bounds.memory_us, optimum_us);
    EXPECT_GT(bounds.memory_us, 0.95 * optimum_us);
    EXPECT_LT(without_memory(bounds).best_us(), 41);
  }
}

TEST(LowerBounds, MemoryTellsNothingWhereAllFitsOrNothingOrDevicesAreAlike) {
  EXPECT_EQ(lower_bounds(four_ops(true, 120, 120)).memory_us, 0);
  EXPECT_EQ(lower_bounds(four_ops(true, 30, 60)).memory_us, 0);
  const Problem alike =
      test::make_problem(test::make_graph({{.name = "a", .persistent_bytes = 60},
                                           {.name = "b", .persistent_bytes = 60}}),
                         {.num_devices = 2, .memory_bytes = 100});
  EXPECT_EQ(lower_bounds(alike).memory_us, 0);
}

TEST(LowerBounds, OneMachineTakesTheLargestOfAllSetsOfJobs) {
  std::vector<Job> jobs = {{0, 3, 10}, {4, 2, 0}, {1, 5, 6}};
  EXPECT_DOUBLE_EQ(one_machine_us(jobs), 0 + 3 + 5 + 6);  // of the first and the last
}

TEST(LowerBounds, GapIsAFractionOfTheBound) {
  EXPECT_DOUBLE_EQ(gap_to_bound(125, 100), 0.25);
  EXPECT_DOUBLE_EQ(gap_to_bound(5, 0), 0);
}

}  // namespace
}  // namespace emplace::bounds_test
