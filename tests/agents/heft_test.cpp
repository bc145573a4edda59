#include "agents/placing.hpp"
#include "support/problems.hpp"

#include <emplace/sim/list_schedule.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

namespace emplace::agents {
namespace {

using testing::ElementsAre;

// The example of Topcuoglu, Hariri, Wu 2002 (figure 2): ten tasks with their costs on three
// processors, and edges with communication costs. Tasks count from 1 there, from 0 here.
constexpr std::array<std::array<double, 3>, 10> kCosts{{{14, 16, 9},
                                                        {13, 19, 18},
                                                        {11, 13, 19},
                                                        {13, 8, 17},
                                                        {12, 13, 10},
                                                        {13, 16, 9},
                                                        {7, 15, 11},
                                                        {5, 11, 14},
                                                        {18, 12, 20},
                                                        {21, 7, 16}}};
struct Edge {
  OpId from, to;
  std::int64_t cost;
};
constexpr std::array<Edge, 15> kEdges{{{1, 2, 18},
                                       {1, 3, 12},
                                       {1, 4, 9},
                                       {1, 5, 11},
                                       {1, 6, 14},
                                       {2, 8, 19},
                                       {2, 9, 16},
                                       {3, 7, 23},
                                       {4, 8, 27},
                                       {4, 9, 23},
                                       {5, 9, 13},
                                       {6, 8, 15},
                                       {7, 10, 17},
                                       {8, 10, 11},
                                       {9, 10, 13}}};

Problem example_of_2002() {
  auto graph = std::make_shared<OpGraph>();
  for (std::size_t task = 0; task < kCosts.size(); ++task) {
    Op op;
    op.name = "n" + std::to_string(task + 1);
    op.kind = "test";
    for (std::size_t processor = 0; processor < 3; ++processor) {
      op.measured.push_back({"p" + std::to_string(processor + 1), kCosts[task][processor]});
    }
    boost::add_vertex(op, *graph);
  }
  for (const Edge& edge : kEdges) {
    // An output for each consumer, since the costs on the edges out of a task differ.
    std::vector<Output>& outputs = (*graph)[static_cast<std::size_t>(edge.from - 1)].outputs;
    outputs.push_back({.bytes = edge.cost});
    add_dependency(*graph, edge.from - 1, static_cast<std::int32_t>(outputs.size() - 1),
                   edge.to - 1);
  }
  auto cluster = std::make_shared<Cluster>(*test::make_cluster({.num_devices = 3}));
  for (std::size_t processor = 0; processor < 3; ++processor) {
    DeviceProfile profile = cluster->profiles.front();
    profile.device_class = "p" + std::to_string(processor + 1);
    cluster->devices[processor].profile = cluster->profiles.size();
    cluster->profiles.push_back(profile);
  }
  Grouping grouping = ungrouped(*graph);
  return Problem(graph, std::move(grouping), cluster);
}

// Figure 3(a) of the paper: P1 runs n2 and n8, P2 n4, n6, n9 and n10, P3 the rest.
TEST(Heft, PlacesTheExampleOfItsPaper) {
  EXPECT_THAT(place("heft", example_of_2002()), ElementsAre(2, 0, 2, 1, 2, 1, 2, 0, 1, 1));
}

// Assigned in the order of the paper's upward ranks (108, 80, 80, 77,
// 69, 63.3, 44.3, 42.7, 35.7, 14.7) that placement ends after 80.
TEST(Heft, ItsScheduleOfTheExampleEndsAfter80) {
  const Problem problem = example_of_2002();
  const std::vector<DeviceId> devices = place("heft", problem);
  ListSchedule schedule(problem, IdleSlots::kFill);
  for (const GroupId task : {1, 3, 4, 2, 5, 6, 9, 7, 8, 10}) {
    schedule.assign(task - 1, devices[static_cast<std::size_t>(task - 1)]);
  }
  EXPECT_DOUBLE_EQ(schedule.finish_us(9), 80);
}

TEST(Heft, KeepsAChainTogether) {
  EXPECT_THAT(place("heft", test::make_problem(test::chain_graph({5, 5, 5}, 1))),
              ElementsAre(0, 0, 0));
}

TEST(Heft, PrefersADeviceThatEndsSooner) {
  // Two ops of 10 us that need nothing: the fast device takes both (10, 20), the slow one would end
  // at 20 too and comes later in the cluster.
  const Problem problem = test::make_problem(
      test::make_graph({{.name = "a", .cost_us = 10}, {.name = "b", .cost_us = 10}}),
      {.num_devices = 1, .with_slow_gpu = true});
  EXPECT_THAT(place("heft", problem), ElementsAre(0, 0));
}

}  // namespace
}  // namespace emplace::agents
