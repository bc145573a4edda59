#pragma once

// Task graphs as the papers on list scheduling print them: a cost of each task on each processor,
// and a communication cost on each edge, paid between two processors. Tasks count from 1 in edges,
// as in the papers.

#include "support/problems.hpp"

#include <emplace/agents/list_schedule.hpp>
#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emplace::agents {

/// Holds one task graph.
struct TaskGraph {
  struct Edge {
    OpId from, to;
    std::int64_t cost;
  };
  std::vector<std::vector<double>> costs;  ///< by task, then by processor
  std::vector<Edge> edges;
};

/// Returns the example of Topcuoglu, Hariri, Wu 2002 (figure 2).
inline TaskGraph example_of_2002() {
  return {.costs = {{14, 16, 9},
                    {13, 19, 18},
                    {11, 13, 19},
                    {13, 8, 17},
                    {12, 13, 10},
                    {13, 16, 9},
                    {7, 15, 11},
                    {5, 11, 14},
                    {18, 12, 20},
                    {21, 7, 16}},
          .edges = {{1, 2, 18},
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
}

/// Returns the example of Arabnejad, Barbosa 2014 (figure 1).
inline TaskGraph example_of_2014() {
  return {.costs = {{22, 21, 36},
                    {22, 18, 18},
                    {32, 27, 43},
                    {7, 10, 4},
                    {29, 27, 35},
                    {26, 17, 24},
                    {14, 25, 30},
                    {29, 23, 36},
                    {15, 21, 8},
                    {13, 16, 33}},
          .edges = {{1, 2, 17},
                    {1, 3, 31},
                    {1, 4, 29},
                    {1, 5, 13},
                    {1, 6, 7},
                    {2, 8, 3},
                    {2, 9, 30},
                    {3, 7, 16},
                    {4, 8, 11},
                    {4, 9, 7},
                    {5, 9, 57},
                    {6, 8, 5},
                    {7, 10, 9},
                    {8, 10, 42},
                    {9, 10, 7}}};
}

/// Returns the problem of placing a task graph: task i is group i - 1, and a processor is a device.
inline Problem make_problem(const TaskGraph& tasks) {
  const auto num_processors = static_cast<DeviceId>(tasks.costs.front().size());
  auto graph = std::make_shared<OpGraph>();
  for (const std::vector<double>& costs : tasks.costs) {
    Op op;
    op.name = "n" + std::to_string(num_vertices(*graph) + 1);
    op.kind = "test";
    for (std::size_t processor = 0; processor < costs.size(); ++processor) {
      op.measured.push_back({"p" + std::to_string(processor + 1), costs[processor]});
    }
    boost::add_vertex(op, *graph);
  }
  for (const TaskGraph::Edge& edge : tasks.edges) {
    // An output for each consumer, since the costs on the edges out of a task differ.
    std::vector<Output>& outputs = (*graph)[static_cast<std::size_t>(edge.from - 1)].outputs;
    outputs.push_back({.bytes = edge.cost});
    add_dependency(*graph, edge.from - 1, static_cast<std::int32_t>(outputs.size() - 1),
                   edge.to - 1);
  }
  auto cluster = std::make_shared<Cluster>(*test::make_cluster({.num_devices = num_processors}));
  for (std::size_t processor = 0; processor < cluster->devices.size(); ++processor) {
    DeviceProfile profile = cluster->profiles.front();
    profile.device_class = "p" + std::to_string(processor + 1);
    cluster->devices[processor].profile = cluster->profiles.size();
    cluster->profiles.push_back(profile);
  }
  Grouping grouping = ungrouped(*graph);
  return Problem(std::move(graph), std::move(grouping), std::move(cluster));
}

/// Returns when the last of ten tasks ends if they are assigned to these devices in this order,
/// each in the first idle slot that it fits.
inline double finish_us(const Problem& problem, const std::vector<DeviceId>& devices,
                        const std::vector<GroupId>& order) {
  ListSchedule schedule(problem, IdleSlots::kFill);
  for (const GroupId task : order) {
    schedule.assign(task - 1, devices[static_cast<std::size_t>(task - 1)]);
  }
  return schedule.finish_us(9);
}

}  // namespace emplace::agents
