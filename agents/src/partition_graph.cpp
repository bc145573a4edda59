#include "partition_graph.hpp"

#include <cstddef>
#include <numeric>
#include <utility>

namespace emplace::agents {
namespace {

// All weights of one kind add up to about this: fine enough for 10^5 groups, and far from 2^31 also
// when an edge is counted from both ends.
constexpr double kWeightSum = 1 << 26;

// Returns integers in proportion to `values`, at least 1, because METIS refuses edges without
// weight and cannot balance vertices without any.
std::vector<std::int32_t> scaled(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<std::int32_t> result;
  for (const double value : values) {
    result.push_back(sum > 0 ? 1 + static_cast<std::int32_t>(value / sum * kWeightSum) : 1);
  }
  return result;
}

}  // namespace

PartitionGraph partition_graph(const Problem& problem) {
  const auto num_groups = static_cast<std::size_t>(problem.num_groups());
  std::vector<double> costs(num_groups, 0.0);
  for (GroupId group = 0; group < problem.num_groups(); ++group) {
    for (const DeviceId device : problem.placeable_devices()) {
      costs[static_cast<std::size_t>(group)] += problem.group_cost_us(group, device);
    }
  }
  std::vector<double> bytes;
  for (const GroupEdge& edge : problem.group_edges()) {
    bytes.push_back(static_cast<double>(edge.bytes));
  }
  const std::vector<std::int32_t> edge_weights = scaled(bytes);

  // Groups form a DAG, so two of them share at most one edge and nothing needs merging.
  std::vector<std::vector<std::pair<GroupId, std::int32_t>>> adjacent(num_groups);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const GroupEdge& edge = problem.group_edges()[i];
    adjacent[static_cast<std::size_t>(edge.producer)].emplace_back(edge.consumer, edge_weights[i]);
    adjacent[static_cast<std::size_t>(edge.consumer)].emplace_back(edge.producer, edge_weights[i]);
  }
  PartitionGraph graph;
  graph.weights = scaled(costs);
  graph.begin.push_back(0);
  for (const auto& edges : adjacent) {
    for (const auto& [neighbour, weight] : edges) {
      graph.neighbours.push_back(neighbour);
      graph.edge_weights.push_back(weight);
    }
    graph.begin.push_back(static_cast<std::int32_t>(graph.neighbours.size()));
  }
  return graph;
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
