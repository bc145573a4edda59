#pragma once

// Groups as the undirected graph with integer weights that partitioning libraries read. Edges lose
// their direction: a partitioner balances work and cuts few bytes, and knows nothing of order in
// time.

#include <emplace/sim/problem.hpp>

#include <cstdint>
#include <vector>

namespace emplace::agents {

/// Holds a graph in CSR form; each edge stands in the lists of both of its ends.
struct PartitionGraph {
  std::vector<std::int32_t> begin{};  ///< by vertex, and one more: where its neighbours begin
  std::vector<std::int32_t> neighbours{};
  std::vector<std::int32_t> edge_weights{};  ///< bytes, scaled; at least 1
  std::vector<std::int32_t> weights{};  ///< mean cost over placeable devices, scaled; at least 1
};

/// Makes the graph of a problem's groups. Weights are scaled so that no sum of them leaves 31 bits.
PartitionGraph partition_graph(const Problem& problem);

/// Returns the share of the work that each placeable device would do in an even split: its speed on
/// the whole problem over the sum of all speeds.
std::vector<double> speed_shares(const Problem& problem);

}  // namespace emplace::agents
