#include <emplace/base/id_vector.hpp>
#include <emplace/graphs/partition_graph.hpp>

#include <cstddef>
#include <numeric>
#include <utility>

namespace emplace {
namespace {

// All weights of one kind add up to about this: fine enough for 10^5 vertices, and far from 2^31
// also when an edge is counted from both ends.
constexpr double kWeightSum = 1 << 26;

// Returns integers in proportion to `values`, at least 1, because METIS refuses edges without
// weight and cannot balance vertices without any.
std::vector<std::int32_t> scaled(std::span<const double> values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<std::int32_t> result;
  for (const double value : values) {
    result.push_back(sum > 0 ? 1 + static_cast<std::int32_t>(value / sum * kWeightSum) : 1);
  }
  return result;
}

}  // namespace

PartitionGraph partition_graph(std::span<const double> weights,
                               std::span<const PartitionEdge> edges) {
  std::vector<double> values;
  for (const PartitionEdge& edge : edges) {
    values.push_back(edge.weight);
  }
  const std::vector<std::int32_t> edge_weights = scaled(values);
  using Vertex = PartitionGraph::Vertex;
  IdVector<Vertex, std::vector<std::pair<Vertex, std::int32_t>>> adjacent(weights.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    adjacent[edges[i].a].emplace_back(edges[i].b, edge_weights[i]);
    adjacent[edges[i].b].emplace_back(edges[i].a, edge_weights[i]);
  }
  PartitionGraph graph;
  const std::vector<std::int32_t> vertex_weights = scaled(weights);
  graph.weights.assign(vertex_weights.begin(), vertex_weights.end());
  graph.begin.push_back(0);
  for (const auto& list : adjacent) {
    for (const auto& [neighbour, weight] : list) {
      graph.neighbours.push_back(neighbour);
      graph.edge_weights.push_back(weight);
    }
    graph.begin.push_back(static_cast<std::int32_t>(graph.neighbours.size()));
  }
  return graph;
}

}  // namespace emplace
