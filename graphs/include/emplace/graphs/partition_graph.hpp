#pragma once

// Graphs as partitioning libraries read them: undirected, and with integer weights. A partitioner
// balances work and cuts few bytes, and ignores the order in time.

#include <emplace/base/id_vector.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// A graph in CSR form; each edge is in the lists of both of its ends. No sum of weights exceeds 31
/// bits.
struct PartitionGraph {
  using Vertex = std::int32_t;

  IdVector<Vertex, std::int32_t> begin{};  ///< where its neighbours begin; one more than vertices
  std::vector<Vertex> neighbours{};
  std::vector<std::int32_t> edge_weights{};  ///< scaled; at least 1
  IdVector<Vertex, std::int32_t> weights{};  ///< scaled; at least 1
};

/// Joins two vertices.
struct PartitionEdge {
  PartitionGraph::Vertex a = 0;
  PartitionGraph::Vertex b = 0;
  double weight = 0;  ///< at least 0
};

/// Makes the graph of vertices with these weights, each at least 0. Requires: at most one edge
/// between two vertices.
PartitionGraph partition_graph(std::span<const double> weights,
                               std::span<const PartitionEdge> edges);

/// Partitions the vertices by recursive bisection with METIS: part i has about the share
/// `shares[i]` of the weight, and edges between parts have little weight. Returns the part of each
/// vertex; some parts may be empty. Any thread may call it; one is served at a time. Only in a
/// build with METIS.
std::vector<std::int32_t> metis_parts(const PartitionGraph& graph, std::span<const double> shares);

}  // namespace emplace
