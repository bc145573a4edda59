#pragma once

// Places the nodes of a directed graph in layers, so that edges run down (Sugiyama, Tagawa and Toda
// 1981). It works for any graph, but is made for grouped graphs.
//   1. Edges that close a cycle are turned around, found by a depth-first search.
//   2. Each node is in the layer after its last predecessor, then moves down or up where that
//      shortens at least as many edges as it lengthens.
//   3. An edge that crosses layers passes a waypoint in each. Edges from one node share their
//      waypoints, as cables share a duct.
//   4. Layers are sorted by the mean position of neighbours in the layer above, then below, and so
//      on; of all sweeps the order with the fewest crossings is kept.
//   5. Layers start centered, then nodes move to where their neighbours pull them, as far as order
//      and gaps allow: least squares under constraints, by isotonic regression. Waypoints pull
//      hardest, so that long edges are straight.
//
// Ties are broken by the ids of nodes: the same graph has the same layout everywhere. Complexity:
// O((nodes + edges + waypoints) log) for a fixed number of sweeps; routes have at most
// kMaxWaypoints together, and the longest edges run straight from end to end where there would be
// more.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace emplace {

/// Describes an edge by the indices of its nodes.
struct LayeredEdge {
  std::int32_t from = 0;
  std::int32_t to = 0;
  double weight = 1;  ///< how hard it pulls its ends onto one vertical line; positive
};

/// How large nodes are and how much room is between them, in pixels.
struct LayeredSizes {
  double node_width = 144;
  double node_height = 34;
  double waypoint_width = 4;
  double gap = 14;        ///< between neighbours in a layer
  double layer_gap = 34;  ///< between layers
};

/// Where everything is; the upper left corner is (0, 0).
struct LayeredLayout {
  /// Most waypoints of all routes together.
  static constexpr std::size_t kMaxWaypoints = 100'000;

  /// A place in pixels.
  struct Point {
    double x = 0;
    double y = 0;
  };

  std::vector<std::int32_t> layer{};  ///< by node, from the top
  std::vector<Point> center{};        ///< by node
  std::vector<std::vector<Point>>
      route{};  ///< by edge: the waypoints between its ends, from `from`
  double width = 0;
  double height = 0;
};

/// Lays out a graph of `num_nodes` nodes. Edges may close cycles and be parallel, but not lead from
/// a node to itself.
LayeredLayout layered_layout(std::int32_t num_nodes, std::span<const LayeredEdge> edges,
                             const LayeredSizes& sizes = {});

}  // namespace emplace
