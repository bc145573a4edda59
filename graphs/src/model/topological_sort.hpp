#pragma once

// Orders the nodes 0 to n-1 of a plain edge list, and finds a cycle where there is no order. Ops of
// a graph and groups of ops are both sorted by it.

#include <emplace/base/ids.hpp>

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace emplace {

/// The edges of a graph: from and to.
template <typename Node>
using EdgeList = std::span<const std::pair<Node, Node>>;

/// Holds either an order of all nodes or a cycle.
template <typename Node>
struct TopologicalSort {
  std::vector<Node> order;  ///< every node after its predecessors; the least ready id first
  std::vector<Node> cycle;  ///< empty, or a cycle along its edges from its least id on
};

/// Sorts `num_nodes` nodes with `edges`. O(nodes log nodes + edges).
template <typename Node>
TopologicalSort<Node> sort_topologically(Node num_nodes,
                                         std::type_identity_t<EdgeList<Node>> edges);

extern template TopologicalSort<OpId> sort_topologically(OpId, EdgeList<OpId>);
extern template TopologicalSort<GroupId> sort_topologically(GroupId, EdgeList<GroupId>);

}  // namespace emplace
