#pragma once

// A directed acyclic graph in which two neighbours can be merged if that makes no cycle.
//
// Contracting u -> v makes a cycle exactly if there is a second path from u to v. The nodes are in
// a list in topological order, so such a path lies between u and v in the list; it is searched from
// both ends at once, and the end that first runs out of nodes shows that there is none. The nodes
// that it found are then moved out of the way: the descendants of u behind v, or the ancestors of v
// before u, which keeps the order topological (compare Pearce, Kelly 2007; Bender, Fineman,
// Gilbert, Tarjan 2016). Labels with gaps show which of two nodes comes first.

#include <emplace/base/id_vector.hpp>
#include <emplace/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace emplace {

/// A DAG whose edges can be contracted. A contracted node can be referred to by any of its members'
/// ids.
class ContractibleDag {
 public:
  using Node = GroupId;
  using Edge = std::pair<Node, Node>;  ///< from and to

  /// Takes the edges between the nodes 0 to n-1 with the weight of each, and a topological order of
  /// all nodes; parallel edges are one edge with the sum of their weights. A search for a second
  /// path gives up after `max_search` edges.
  ContractibleDag(std::span<const Edge> edges, std::span<const std::int64_t> weights,
                  std::span<const Node> order, std::size_t max_search);

  /// Returns the node that `member` is now part of.
  Node find(Node member);

  /// Returns the successors of a current node, with the weights of the edges to them.
  const std::map<Node, std::int64_t>& successors(Node node) const { return successors_[node]; }

  /// Merges `from` and its successor `to` and returns the node (one of the two ids), or nothing if
  /// that would make a cycle or the search gave up. Requires: current nodes and an edge between
  /// them. A node with one successor, or a successor with one predecessor, needs no search.
  std::optional<Node> contract(Node from, Node to);

  /// Returns the nodes that the last contraction left with one successor, except the contracted
  /// one.
  const std::vector<Node>& narrowed() const { return narrowed_; }

  /// Returns the current nodes in topological order.
  std::vector<Node> order() const;

  /// Returns the edges that gained weight in the last contraction, by becoming one with another
  /// edge.
  const std::vector<Edge>& thickened() const { return thickened_; }

 private:
  using Adjacency = IdVector<Node, std::map<Node, std::int64_t>>;
  class Search;

  bool make_room(Node from, Node to, Node& place);
  Node join(Node from, Node to);
  void add_weight(Node from, Node to, std::int64_t weight);
  void unlink(Node node);
  void replace(Node old, Node node);
  void link_run(Node before, std::span<const Node> run);
  void relabel();

  Node head_;  // of the list, before all nodes
  Node tail_;  // behind all nodes
  std::size_t max_search_;
  std::size_t num_present_;
  Adjacency successors_;
  Adjacency predecessors_;
  IdVector<Node, Node> parent_;  // union-find
  IdVector<Node, Node> next_;
  IdVector<Node, Node> previous_;
  IdVector<Node, std::uint64_t> label_;  // ascending along the list
  IdVector<Node, std::uint64_t> mark_;   // the search that saw a node last
  std::uint64_t last_mark_ = 0;
  std::vector<Node> narrowed_;
  std::vector<Edge> thickened_;
};

}  // namespace emplace
