#include "bounds/earliest_starts.hpp"
#include "bounds/precedence.hpp"
#include "support/machines.hpp"
#include "support/small_problems.hpp"

#include <emplace/graphs/catalog.hpp>
#include <emplace/graphs/random.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/case_file.hpp>
#include <emplace/sim/simulator.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace {
namespace {

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

// Returns the least step time of all placements.
double least_us(const Problem& problem) {
  Simulator simulator(problem);
  double best_us = std::numeric_limits<double>::infinity();
  test::for_each_placement(problem, [&](const Placement& placement) {
    best_us = std::min(best_us, simulator.run(placement).makespan_us);
  });
  return best_us;
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
    const LowerBounds bounds = lower_bounds(problem);
    const double best_us = least_us(problem);
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
        const double best_us = least_us(problem);
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
      test::make_problem(test::fork_join_graph(4, 0), {.with_cpu = true, .with_slow_gpu = true});
  EXPECT_LT(lower_bounds(problem, problem.devices_by_name()).best_us(),
            lower_bounds(problem).best_us());
  const DeviceId one[] = {0};
  EXPECT_NEAR(lower_bounds(problem, one).best_us(), 420, 1e-9);
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
}  // namespace emplace
