#include <emplace/graphs/random.hpp>
#include <emplace/sim/bounds.hpp>
#include <emplace/sim/case_file.hpp>
#include <emplace/sim/simulator.hpp>

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

TEST(LowerBounds, NoPlacementOfARandomProblemIsFaster) {
  RandomStream random(5);
  for (int round = 0; round < 60; ++round) {
    std::string nodes;
    std::string edges;
    const auto num_ops = 1 + static_cast<int>(random.below(7));
    for (int op = 0; op < num_ops; ++op) {
      nodes += (op > 0 ? ",{\"id\":" : "{\"id\":") + std::to_string(op) +
               ",\"cost_us\":" + std::to_string(random.below(50)) + ",\"outputs\":[" +
               std::to_string(random.below(500'000)) + "]}";
      if (op > 0 && random.below(4) > 0) {
        edges += (edges.empty() ? "[" : ",[") +
                 std::to_string(random.below(static_cast<std::uint64_t>(op))) + ",0," +
                 std::to_string(op) + "]";
      }
    }
    const SimulationCase tiny = case_of(nodes, edges, 1);
    const Problem problem = on_devices(tiny, {1, 1, 4});
    const double bound_us = lower_bounds(problem).best_us();
    Simulator simulator(problem);
    Placement placement(problem.num_groups());
    double best_us = std::numeric_limits<double>::infinity();
    for (;;) {  // every placement, counting in base 3
      best_us = std::min(best_us, simulator.run(placement).makespan_us);
      GroupId group = 0;
      while (group < placement.size() && ++placement[group] == problem.num_devices()) {
        placement[group++] = 0;
      }
      if (group == placement.size()) {
        break;
      }
    }
    EXPECT_LE(bound_us, best_us * (1 + 1e-9)) << nodes << " " << edges;
  }
}

TEST(LowerBounds, GapIsAFractionOfTheBound) {
  EXPECT_DOUBLE_EQ(gap_to_bound(125, 100), 0.25);
  EXPECT_DOUBLE_EQ(gap_to_bound(5, 0), 0);
}

}  // namespace
}  // namespace emplace
