#include "partition_graph.hpp"

#include <emplace/base/id_vector.hpp>

#include <cstddef>
#include <numeric>
#include <vector>

namespace emplace::agents {

PartitionGraph partition_graph(const Problem& problem) {
  const auto num_groups = static_cast<std::size_t>(problem.num_groups());
  IdVector<GroupId, double> costs(num_groups, 0.0);
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    for (const DeviceId device : problem.placeable_devices()) {
      costs[group] += problem.group_cost_us(group, device);
    }
  }
  // Groups form a DAG, so two of them share at most one edge.
  std::vector<PartitionEdge> edges;
  for (const GroupEdge& edge : problem.group_edges()) {
    edges.push_back({edge.producer, edge.consumer, static_cast<double>(edge.bytes)});
  }
  return emplace::partition_graph(costs, edges);
}

std::vector<double> speed_shares(const Problem& problem) {
  std::vector<double> shares;
  for (const DeviceId device : problem.placeable_devices()) {
    double cost = 0;
    for (GroupId group = 0; group < problem.num_groups(); ++group) {
      cost += problem.group_cost_us(group, device);
    }
    shares.push_back(cost > 0 ? 1 / cost : 1);
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) {
    share /= sum;
  }
  return shares;
}

}  // namespace emplace::agents
