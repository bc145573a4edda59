#pragma once

// A problem's groups as input of partitioning libraries.

#include <emplace/graphs/partition_graph.hpp>
#include <emplace/sim/problem.hpp>

#include <vector>

namespace emplace::agents {

/// Makes the graph of a problem's groups: a vertex weighs the mean cost over the placeable devices,
/// an edge its bytes.
PartitionGraph partition_graph(const Problem& problem);

/// Returns the share of the work that each placeable device would do in an even split: its speed on
/// the whole problem over the sum of all speeds.
std::vector<double> speed_shares(const Problem& problem);

}  // namespace emplace::agents
