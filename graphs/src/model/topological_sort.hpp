#pragma once

// Orders the nodes 0 to n-1 of a plain edge list, and finds a cycle where there is no order. Ops of
// a graph and groups of ops are both sorted by it.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// Holds either an order of all nodes or a cycle.
struct TopologicalSort {
  std::vector<std::int32_t> order;  ///< every node after its predecessors; the least ready id first
  std::vector<std::int32_t> cycle;  ///< empty, or a cycle along its edges from its least id on
};

/// Sorts `num_nodes` nodes with `edges` (from, to). O(nodes log nodes + edges).
TopologicalSort sort_topologically(std::int32_t num_nodes,
                                   std::span<const std::pair<std::int32_t, std::int32_t>> edges);

}  // namespace emplace
